import fs, { copyFileSync, existsSync, readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import Sqlite from 'better-sqlite3'
import { expect, test } from 'vitest'
import { diagnoseStore, valueOf } from '../../src/index.ts'
import { checkErasureReceipt } from '../../src/proof/erasure.ts'
import { simulate } from '../../src/simulation/index.ts'
import { newPath } from '../store/sample-store.ts'

const asked = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }
const other = '52998224725'
const day = 86_400_000

/** What a process that dies at this moment leaves behind. */
interface Image {
  readonly when: string
  readonly store: string
}

/**
 * Copies the files of a store right before and right after each commit, each emptying of the journal and each step of the
 * keyring: all that a killed process can leave between two of its writes.
 */
async function imagesOf(store: string, work: () => Promise<void>): Promise<Image[]> {
  const images: Image[] = []
  let last = ''
  const take = (when: string) => {
    const ends = ['', '-wal', '.keys', '.keys.new'].filter(end => existsSync(`${store}${end}`))
    const bytes = ends.map(end => readFileSync(`${store}${end}`, 'latin1')).join(ends.join())
    if (bytes === last) return
    last = bytes
    const copy = newPath()
    for (const end of ends) copyFileSync(`${store}${end}`, `${copy}${end}`)
    images.push({ when: `${images.length}: ${when}`, store: copy })
  }
  const undo = [
    wrap(Sqlite.prototype, 'pragma', take, source => String(source).startsWith('wal_checkpoint(truncate')),
    ...(['writeSync', 'fsyncSync', 'renameSync'] as const).map(name => wrap(fs, name, take)),
  ]
  const prepare = Sqlite.prototype.prepare
  Sqlite.prototype.prepare = function (this: Sqlite.Database, source: string) {
    const statement = prepare.call(this, source)
    if (source === 'commit') wrap(statement, 'run', take)
    return statement
  } as typeof prepare // Its type is generic in what it is never told here.
  syncBuiltinESMExports()
  try {
    await work()
  } finally {
    Sqlite.prototype.prepare = prepare
    for (const each of undo) each()
    syncBuiltinESMExports()
  }
  return images
}

/** Takes an image before and after each call, and says how to undo that. */
function wrap<N extends string>(
  target: Record<N, (...given: never[]) => unknown> | object,
  name: N,
  take: (when: string) => void,
  isMeant: (first: unknown) => boolean = () => true,
): () => void {
  const methods = target as Record<N, (...given: unknown[]) => unknown> // As its type says.
  const original = methods[name]
  methods[name] = function (this: unknown, ...given: unknown[]) {
    if (!isMeant(given[0])) return original.apply(this, given)
    take(`before ${name}`)
    const result = original.apply(this, given)
    take(`after ${name}`)
    return result
  }
  return () => {
    methods[name] = original
  }
}

test('an erasure that is cut off anywhere was not begun, or goes on by itself to its end', async () => {
  const store = newPath()
  const first = await simulate({ averba: { store } })
  const { samples } = first
  first.consentService.addConsent({ cpf: other })
  const subjects = []
  for (const cpf of [samples.cpf, other]) {
    const subject = await first.averba.consents.enrol({ cpf })
    valueOf(await first.averba.consents.sync({ subject }))
    subjects.push(subject)
  }
  await first.averba.close()
  const [gone, stays] = subjects
  if (!gone || !stays) throw new Error('There are two')

  // Opened inside, so that its statements are watched.
  const images = await imagesOf(store, async () => {
    const { averba, clock } = await simulate({ averba: { store, backupRetentionDays: 1 } })
    await averba.subjects.erase({ subject: gone }, asked)
    await clock.advance(day)
    await averba.settle()
    expect(await averba.subjects.receipt(gone)).toMatchObject({ epochsDestroyedAt: expect.any(String) })
    await averba.close()
  })
  const seen = { untouched: 0, 'carried on': 0, complete: 0 }
  for (const { when, store: image } of images) {
    const { averba, clock } = await simulate({ averba: { store: image, backupRetentionDays: 1 } })
    const before = await averba.subjects.receipt(gone)
    if (!before) {
      seen.untouched += 1
      expect((await averba.consents.list({ subject: gone })).length, when).toBeGreaterThan(0)
      await averba.subjects.erase({ subject: gone }, asked)
    } else if (before.completed) seen.complete += 1
    else seen['carried on'] += 1
    // A clock that went on with the log: what a crash left under way is taken over when its lease has run out.
    await clock.advance(day + 60_000)
    await averba.settle()
    const receipt = await averba.subjects.receipt(gone)
    expect(receipt, when).toMatchObject({ completed: { found: 0 }, destroyed: { keys: 1 } })
    expect(receipt && checkErasureReceipt(receipt), when).toEqual([])
    await clock.advance(day)
    await averba.settle()
    expect(await averba.subjects.receipt(gone), when).toMatchObject({ epochsDestroyedAt: expect.any(String) })
    await expect(averba.consents.list({ subject: gone }), when).rejects.toMatchObject({
      code: 'SUBJECT_ERASED',
    })
    await expect(averba.consents.list({ cpf: samples.cpf }), when).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    expect((await averba.consents.list({ cpf: other })).length, when).toBeGreaterThan(0)
    expect(await averba.effects.list({ state: 'owed' }), when).toEqual([])
    await averba.close()
    const { problems, epochs } = await diagnoseStore({ store: image, isDeep: true })
    expect(problems, when).toEqual([])
    expect(epochs, when).toHaveLength(1)
    expect(existsSync(`${image}.keys.new`), when).toBe(false)
  }
  expect(seen.untouched).toBeGreaterThan(0)
  expect(seen['carried on']).toBeGreaterThan(5)
  expect(seen.complete).toBeGreaterThan(2)
}, 120_000)
