import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RFC3161Timestamp } from '@sigstore/core'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { exportBundle, verifyLog } from '../../src/index.ts'
import { anchorBytesMax, isStampOf, readTimeStamp } from '../../src/proof/verify-checkpoints.ts'
import { temporaryFolder, temporaryStore } from '../support/temporary-folder.ts'
import { openEngine } from '../support/world.ts'

const folder = temporaryFolder()
const inFolder = (name: string) => join(folder, name)
const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })

/** Creates a time-stamp authority with openssl. */
beforeAll(() => {
  const config = `[tsa]\ndefault_tsa=c\n[c]\nserial=./serial\ncrypto_device=builtin\nsigner_cert=./cert.pem
signer_key=./key.pem\nsigner_digest=sha256\ndefault_policy=1.2.3.4\ndigests=sha1,sha256,sha384,sha512\n`
  writeFileSync(inFolder('tsa.cnf'), config)
  writeFileSync(inFolder('serial'), '01\n')
  const usage = ['-addext', 'extendedKeyUsage=critical,timeStamping']
  const subject = ['-subj', '/CN=Autoridade de carimbo', '-days', '2', ...usage]
  openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'key.pem', '-out', 'cert.pem', ...subject)
})

/** The answer of the authority for a text: the token alone, or with its status. */
function stamp(text: string, digest = 'sha256', isToken = true): Uint8Array {
  writeFileSync(inFolder('text'), text)
  openssl('ts', '-query', '-data', 'text', `-${digest}`, '-cert', '-out', 'query')
  const kind = isToken ? ['-token_out'] : []
  openssl('ts', '-reply', '-config', 'tsa.cnf', '-queryfile', 'query', '-out', 'reply', ...kind)
  return Uint8Array.from(readFileSync(inFolder('reply')))
}

test.each(['sha256', 'sha384', 'sha512'])('a time stamp with %s is read as Sigstore reads it', async digest => {
  const [token, answer] = [stamp('log\n3\nAAA\n', digest), stamp('log\n3\nAAA\n', digest, false)]
  const theirs = RFC3161Timestamp.parse(Buffer.from(answer)).tstInfo
  for (const read of [readTimeStamp(token), readTimeStamp(answer)]) {
    expect(read?.imprint).toBe(theirs.messageImprintHashedMessage.toString('hex'))
    expect(read?.algorithm.replace('-', '').toLowerCase()).toBe(digest)
    expect(Math.abs(Date.parse(read?.at ?? '') - theirs.genTime.getTime())).toBeLessThan(60_000)
    expect(read && (await isStampOf(read, 'log\n3\nAAA\n'))).toBe(true)
    expect(read && (await isStampOf(read, 'log\n4\nAAA\n'))).toBe(false)
  }
})

test('bytes that are not a time stamp, or a stamp with SHA-1, are rejected', () => {
  const token = stamp('text')
  expect(readTimeStamp(stamp('text', 'sha1'))).toBeUndefined()
  for (let length = 0; length < token.length; length++) expect(readTimeStamp(token.subarray(0, length))).toBeUndefined()
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), bytes => readTimeStamp(bytes) === undefined))
  // With any byte changed, reading returns a hash of some length or undefined.
  fc.assert(
    fc.property(fc.nat(token.length - 1), fc.nat(255), (at, byte) => {
      expect(readTimeStamp(token.with(at, byte))?.imprint ?? '').toMatch(/^([0-9a-f]{2})*$/)
    }),
    { numRuns: 2_000 },
  )
})

test('a time that does not exist is rejected', () => {
  const text = Buffer.from(stamp('text')).toString('latin1')
  // The signature becomes wrong, but is not verified.
  const atOf = (time: string) =>
    readTimeStamp(Uint8Array.from(Buffer.from(text.replace(/\d{14}(?=Z)/g, time), 'latin1')))?.at
  expect(atOf('20280229235959')).toBe('2028-02-29T23:59:59Z')
  const noDays = ['20270229000000', '20260431000000', '20261321161321', '20260021161321', '20261100161321']
  const noTimes = ['20261132161321', '20261121240000', '20261121166000', '20261121161361', '9'.repeat(14)]
  for (const time of [...noDays, ...noTimes]) expect(atOf(time), time).toBeUndefined()
})

/** A log with a person, and a bundle of it. Its checkpoints have what the anchor answers to their notes, if any. */
async function givenLog(anchor?: (note: string) => Uint8Array) {
  const store = temporaryStore()
  const logged: unknown[] = []
  const averba = await openEngine({
    ...{ store, logger: line => void logged.push(line) },
    ...(anchor && { anchor: async note => anchor(Buffer.from(note).toString()) }),
  })
  await averba.consents.enrol({ cpf: '25774435016' })
  await averba.audit.checkpoint()
  await averba.close()
  const bundle = join(store, '..', 'bundle')
  await exportBundle({ store, dir: bundle })
  return { store, bundle, logged }
}

test('a time stamp is compared with its checkpoint, and the verdict says what it does not prove', async () => {
  const { store, bundle } = await givenLog(stamp)
  for (const each of [store, bundle]) {
    const { faults, level, anchored, events, stamped, unproven } = await verifyLog({ store: each })
    expect([faults, anchored]).toEqual([[], 0])
    expect(level).not.toBe('anchored')
    expect(stamped).toEqual({ size: events, at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+Z$/) })
    const gap = /That an authority gave its time stamps: .* Verify its signature with "openssl ts -verify"/
    expect(unproven.join()).toMatch(gap)
  }
  const path = join(bundle, 'checkpoints.ndjson')
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  const last: { note: string; anchor: string } = JSON.parse(lines.at(-1) ?? '')
  // openssl verifies the token against the note in the bundle.
  writeFileSync(inFolder('note'), last.note)
  writeFileSync(inFolder('token'), Buffer.from(last.anchor, 'base64'))
  const verify = ['ts', '-verify', '-data', 'note', '-in', 'token', '-token_in', '-CAfile', 'cert.pem']
  expect(openssl(...verify).toString()).toContain('Verification: OK')

  const other = { ...last, anchor: Buffer.from(stamp('another text')).toString('base64') }
  writeFileSync(path, [...lines.slice(0, -1), JSON.stringify(other), ''].join('\n'))
  const verdict = await verifyLog({ store: bundle })
  expect(verdict).toMatchObject({ level: 'self-consistent', faults: [], uncounted: [{ check: 'anchors', count: 1 }] })
  expect(verdict.uncounted[0]?.examples.join()).toContain('is not over the whole signed note')
  expect(verdict.stamped?.size ?? 0).toBeLessThan(verdict.events)
})

test('a token with too many DER elements is rejected', () => {
  const token = stamp('text')
  const [first = 0, second = 0] = token.subarray(2, 4)
  expect([token[0], token[1]]).toEqual([0x30, 0x82])
  const row = (count: number) => {
    // The outer sequence of the token, with empty elements after its own two.
    const length = first * 256 + second + 2 * count
    return Uint8Array.from([0x30, 0x82, length >> 8, length & 255, ...token.subarray(4), ...new Uint8Array(2 * count)])
  }
  expect(readTimeStamp(row(30))).toEqual(readTimeStamp(token))
  expect(readTimeStamp(row(31))).toBeUndefined()
})

test("an anchor's answer that is too long or not base64 is ignored, and is no fault of the log", async () => {
  const { bundle } = await givenLog()
  const path = join(bundle, 'checkpoints.ndjson')
  const [first = '', ...rest] = readFileSync(path, 'utf8').split('\n')
  const bytesOf = (count: number) => Buffer.alloc(count, 4).toString('base64')
  for (const [anchor, reason] of [
    [bytesOf(anchorBytesMax), undefined],
    [bytesOf(anchorBytesMax + 1), 'is longer than 64 kB'],
    [bytesOf(anchorBytesMax + 3), 'is longer than 64 kB'],
    // Too long to be decoded: it is not checked for base64.
    ['*'.repeat(100_000), 'is longer than 64 kB'],
    ['*', 'is not base64'],
    [1, 'is not base64'],
  ] as const) {
    writeFileSync(path, [JSON.stringify({ ...JSON.parse(first), anchor }), ...rest].join('\n'))
    const { faults, uncounted } = await verifyLog({ store: bundle })
    expect(faults).toEqual([])
    const examples = [`the answer of the anchor for checkpoint 1 ${reason}`]
    expect(uncounted).toEqual(reason === undefined ? [] : [{ check: 'anchors', count: 1, examples }])
  }
})

test.each<[string, (note: string) => string]>([
  ['its root', note => note.split('\n')[2] ?? ''],
  ['its text alone', note => note.slice(0, note.indexOf('\n\n') + 1)],
  ['the note without its last newline', note => note.trimEnd()],
])('a stamp of %s is reported and ignored, and does not lower the level', async (_, partOf) => {
  const { store, bundle, logged } = await givenLog(note => stamp(partOf(note)))
  const message = 'a checkpoint could not be anchored'
  expect(logged).toContainEqual({ level: 'error', message, error: 'MISCONFIGURED' })
  for (const [each, expected] of [
    [store, 'held'],
    [bundle, 'self-consistent'],
  ] as const) {
    const { level, faults, uncounted, stamped } = await verifyLog({ store: each })
    expect([level, faults, stamped]).toEqual([expected, [], undefined])
    const examples = expect.arrayContaining([expect.stringContaining('is not over the whole signed note')])
    expect(uncounted).toEqual([{ check: 'anchors', count: expect.any(Number), examples }])
  }
})
