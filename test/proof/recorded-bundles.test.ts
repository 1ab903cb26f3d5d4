import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compileMachine } from '../../src/proof/decision-checker.ts'
import { createVerifierKey, parseCheckpoint, writeVerifierKey } from '../../src/proof/note.ts'
import { type BundleFile, verifyBundle } from '../../src/verify.ts'
import { root, run, toolPath } from '../support/run-script.ts'

const logs = join(root, 'test/recordings/logs')
const bundles = readdirSync(logs).filter(name => name.endsWith('.bundle'))

const readerOf = (dir: string) => (name: BundleFile) => {
  const path = join(dir, name)
  return existsSync(path) ? bytesOf(path) : undefined
}

async function* bytesOf(path: string): AsyncGenerator<Uint8Array> {
  const bytes = readFileSync(path)
  // In small chunks, so that lines end in the middle of a chunk.
  for (let at = 0; at < bytes.length; at += 1_000) yield bytes.subarray(at, at + 1_000)
}

test('every recorded version has a bundle', () => {
  expect(bundles.length).toBe(readdirSync(logs).filter(name => name.endsWith('.log')).length)
})

test.each(bundles)('%s still verifies, and is held with its own checkpoint as the mark', async name => {
  const dir = join(logs, name)
  const checkpoint = readFileSync(join(dir, 'checkpoint'), 'utf8')
  const verdict = await verifyBundle(readerOf(dir))
  expect(verdict).toMatchObject({ level: 'self-consistent', faults: [] })
  expect(verdict.root).toBe(parseCheckpoint(checkpoint)?.root)
  const keys = [readFileSync(join(dir, 'key'), 'utf8').trim()]
  expect(await verifyBundle(readerOf(dir), { keys, mark: checkpoint })).toMatchObject({ level: 'held', faults: [] })
})

test.each(bundles)('%s verifies on Deno with read access to its folder only', async name => {
  const dir = join(logs, name)
  const args = ['run', '--no-prompt', `--allow-read=${dir}`, 'test/proof/verify-on-deno.ts', dir]
  const { stdout } = await run(toolPath('deno'), args, { cwd: root })
  const { level, root: found } = JSON.parse(stdout)
  expect({ level, found }).toEqual({ level: 'self-consistent', found: (await verifyBundle(readerOf(dir))).root })
})

/** A bundle whose file has the same line twenty thousand times, in chunks. */
const repeating = (dir: string, file: BundleFile, line: string) => (name: BundleFile) => {
  async function* lines() {
    yield* Array<Buffer>(10).fill(Buffer.from(`${line}\n`.repeat(2_000)))
  }
  return name === file ? lines() : readerOf(dir)(name)
}

test.each([
  ['leaves.ndjson', 'x', 'headers'],
  ['parts.ndjson', 'x', 'bundle'],
  ['parts.ndjson', '{"position":0,"name":"a","owner":"b","sealed":""}', 'bundle'],
  ['parts.ndjson', '{"position":9,"name":"a","owner":"b","sealed":""}', 'parts'],
  ['checkpoints.ndjson', 'x', 'bundle'],
  ['checkpoints.ndjson', '{"note":"x"}', 'signatures'],
  ['key', 'x', 'bundle'],
  ['key', writeVerifierKey(createVerifierKey('a', new Uint8Array(32))), 'bundle'],
] as const)('twenty thousand bad lines of %s are counted, and exhaust nothing: %s', async (file, line, check) => {
  const verdict = await verifyBundle(repeating(join(logs, bundles[0] ?? ''), file, line))
  expect(verdict.level).toBe('broken')
  const fault = verdict.faults.find(each => each.check === check)
  expect(fault?.count).toBeGreaterThanOrEqual(19_000)
  expect(fault?.examples).toHaveLength(10)
})

test('a table whose states are nested without end is not read', () => {
  const table = (start: string, to = 'b') =>
    compileMachine({ name: 'a', version: 1, start: [start], moves: { b: { c: [{ to }] } }, makes: {}, effects: {} })
  expect(table('b')).toBeDefined()
  expect(table('b.'.repeat(500_000))).toBeUndefined()
  expect(table('b', 'b.'.repeat(500_000))).toBeUndefined()
})
