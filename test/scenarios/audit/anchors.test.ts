import { generateKeyPairSync, sign } from 'node:crypto'
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Averba, type AverbaOptions, openAverba, verifyLog } from '../../../src/index.ts'
import { yieldToEventLoop } from '../../../src/runtime/event-loop.ts'
import { createVerifierKey, parseVerifierKey, writeVerifierKey } from '../../../src/verify.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine } from '../../support/world.ts'

/** A C2SP witness: signs the text of a checkpoint with the time, and returns the note with its own signature line. */
function createWitness(name: string, seconds = 1_800_000_000) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const key = createVerifierKey(name, publicKey.export({ format: 'der', type: 'spki' }).subarray(-32), 4)
  const seen: string[] = []
  return {
    key: writeVerifierKey(key),
    seen,
    async sign(checkpoint: Uint8Array): Promise<Uint8Array> {
      const note = Buffer.from(checkpoint).toString()
      seen.push(note)
      const text = note.slice(0, note.lastIndexOf('\n\n') + 1)
      const time = Buffer.alloc(8)
      time.writeBigUInt64BE(BigInt(seconds))
      const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`), privateKey)
      const line = Buffer.concat([Buffer.from(key.id, 'hex'), time, signature]).toString('base64')
      return Buffer.from(`${note}— ${name} ${line}\n`)
    },
  }
}

async function openEnrolled(options: AverbaOptions) {
  const averba = await openEngine(options)
  const subject = await averba.consents.enrol({ cpf: '25774435016' })
  return { ...averba, averba, subject }
}

async function exportBeside(store: string, { audit }: Averba): Promise<string> {
  const bundle = join(store, '..', 'bundle')
  await audit.export(bundle)
  return bundle
}

test('a checkpoint signed by a witness anchors the log, as a store and as a bundle', async () => {
  const store = temporaryStore()
  const witness = createWitness('testemunha.exemplo.br')
  await (await openEnrolled({ store, anchor: witness.sign })).close()
  expect(witness.seen.length).toBeGreaterThan(0)

  const witnesses = [witness.key]
  const held = await verifyLog({ store })
  const anchored = await verifyLog({ store, witnesses })
  expect(held).toMatchObject({ level: 'held', anchored: 0 })
  expect(anchored).toMatchObject({ level: 'anchored', next: '', faults: [], anchored: anchored.events })
  // The owner cannot have rewritten it after the witness signed, so `unproven` does not list that.
  expect(anchored.unproven.join()).not.toContain('write it anew')

  const again = await openEngine({ store, anchor: witness.sign })
  const bundle = await exportBeside(store, again)
  await again.close()
  expect(await verifyLog({ store: bundle })).toMatchObject({ level: 'self-consistent' })
  expect(await verifyLog({ store: bundle, witnesses })).toMatchObject({ level: 'anchored', faults: [] })
  const stranger = createWitness('testemunha.exemplo.br')
  expect(await verifyLog({ store: bundle, witnesses: [stranger.key] })).toMatchObject({ level: 'self-consistent' })

  // A changed signature of the witness breaks the log.
  const path = join(bundle, 'checkpoints.ndjson')
  const lines = readFileSync(path, 'utf8')
  const [first = ''] = lines.split('\n')
  const { note, anchor } = JSON.parse(first) as { note: string; anchor: string }
  const text = Buffer.from(anchor, 'base64').toString()
  const end = text.trimEnd().length
  const flipped = `${text.slice(0, end - 6)}${text[end - 6] === 'A' ? 'B' : 'A'}${text.slice(end - 5)}`
  const forged = JSON.stringify({ note, anchor: Buffer.from(flipped).toString('base64') })
  writeFileSync(path, lines.replace(first, forged))
  const broken = await verifyLog({ store: bundle, witnesses })
  expect(broken).toMatchObject({ level: 'broken', faults: [{ check: 'signatures' }] })
})

test.each([
  ['returns nothing', async () => undefined, false],
  ['fails', () => Promise.reject(new Error('the witness is away')), true],
])('an anchor that %s leaves the log held', async (_, anchor, isTold) => {
  const store = temporaryStore()
  const lines: unknown[] = []
  await (await openEnrolled({ store, anchor, logger: line => void lines.push(line) })).close()
  expect(await verifyLog({ store, witnesses: [createWitness('w').key] })).toMatchObject({ level: 'held', faults: [] })
  expect(JSON.stringify(lines).includes('a checkpoint could not be anchored')).toBe(isTold)
})

test('an anchor of up to 64 kB is stored, a longer one is refused', async () => {
  const store = temporaryStore()
  const lines: unknown[] = []
  let size = 65_537
  const anchor = async () => new Uint8Array(size)
  const averba = await openEnrolled({ store, anchor, logger: line => void lines.push(line) })
  await averba.audit.checkpoint()
  expect(await verifyLog({ store, witnesses: [createWitness('w').key] })).toMatchObject({ level: 'held', faults: [] })
  size = 65_536
  await averba.consents.enrol({ cpf: '52998224725' })
  await averba.close()
  const message = 'a checkpoint could not be anchored'
  expect(lines).toContainEqual({ level: 'error', message, error: 'MISCONFIGURED' })
  const bundle = await exportBeside(store, await openEngine({ store }))
  const kept = readFileSync(join(bundle, 'checkpoints.ndjson'), 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => Buffer.from(String(JSON.parse(line).anchor ?? ''), 'base64').length)
  expect(kept).toEqual([0, 65_536])
})

test('a failed anchor is requested again with the next checkpoint and by the next process', async () => {
  const store = temporaryStore()
  const witness = createWitness('testemunha.exemplo.br')
  let asked = 0
  const away = async () => {
    asked += 1
    throw new Error('the witness is away')
  }
  const first = await openEnrolled({ store, anchor: away, logger: () => undefined })
  await first.audit.checkpoint()
  await first.audit.checkpoint()
  await first.close()
  expect(asked).toBeGreaterThan(1)
  expect(await verifyLog({ store, witnesses: [witness.key] })).toMatchObject({ level: 'held' })
  // An existing anchor is not requested again.
  for (let times = 0; times < 2; times++) {
    await (await openAverba({ store, anchor: witness.sign })).close()
    expect(witness.seen).toHaveLength(1)
    expect(await verifyLog({ store, witnesses: [witness.key] })).toMatchObject({ level: 'anchored' })
  }
})

test('an export contains the anchor of its last checkpoint', async () => {
  const store = temporaryStore()
  const witness = createWitness('testemunha.exemplo.br')
  const anchor = async (checkpoint: Uint8Array) => {
    // Other work runs before it answers.
    for (let turn = 0; turn < 100; turn++) await yieldToEventLoop()
    return witness.sign(checkpoint)
  }
  const { averba } = await openEnrolled({ store, anchor })
  const verdict = await verifyLog({ store: await exportBeside(store, averba), witnesses: [witness.key] })
  expect(verdict).toMatchObject({ level: 'anchored', anchored: verdict.events })
})

test('the own key of a log does not count as a witness under any name', async () => {
  const store = temporaryStore()
  const { averba, close } = await openEnrolled({ store })
  const bundle = await exportBeside(store, averba)
  await close()
  const own = readFileSync(join(bundle, 'key'), 'utf8').trim()
  const { publicKey } = parseVerifierKey(own) ?? { publicKey: new Uint8Array() }
  const renamed = writeVerifierKey(createVerifierKey('testemunha.exemplo.br', publicKey))
  const verdict = await verifyLog({ store: bundle, witnesses: [own, renamed] })
  expect(verdict).toMatchObject({ level: 'self-consistent', anchored: 0, faults: [] })
})

test('an older copy keeps its level, and every verdict says that newer events may be missing', async () => {
  const [store, older] = [temporaryStore(), temporaryStore()]
  const witness = createWitness('testemunha.exemplo.br')
  const { audit, close, subject } = await openEnrolled({ store, anchor: witness.sign })
  const mark = await audit.checkpoint()
  await close()
  for (const end of ['', '.keys']) copyFileSync(`${store}${end}`, `${older}${end}`)
  const second = await openEngine({ store, anchor: witness.sign })
  await second.subjects.erase({ subject }, { requester: 'p-1', legalBasis: 'LGPD art. 18, VI' })
  await second.close()
  for (const [level, given] of [
    ['held', { mark }],
    ['anchored', { witnesses: [witness.key] }],
  ] as const) {
    const { unproven, events, ...verdict } = await verifyLog({ store: older, ...given })
    expect(verdict).toMatchObject({ level, faults: [] })
    expect(unproven.join()).toContain(`That it is the newest copy: events after ${events} may be missing`)
  }
})

test('a log is held only by something that was not read from it', async () => {
  const store = temporaryStore()
  const averba = await openEnrolled({ store })
  const mark = await averba.audit.checkpoint()
  const [began] = await Array.fromAsync(averba.log.read({ types: ['log.began'] }))
  await averba.close()
  const levelOf = async (given: object) => (await verifyLog({ store, ...given })).level
  expect(await levelOf({})).toBe('held')
  rmSync(`${store}.keys`)
  const { level, next, held } = await verifyLog({ store })
  expect(held).toBeGreaterThan(0)
  const advice = expect.stringContaining('read from the log itself: give a key, a mark or the keyring')
  expect([level, next]).toEqual(['self-consistent', advice])
  expect(await levelOf({ mark })).toBe('held')
  expect(await levelOf({ keys: [began?.data.key] })).toBe('held')
})
