import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const script = join(import.meta.dirname, 'print-log.ts')
const bin = (name: string) => join(root, 'node_modules/.bin', name)
const onDeno = ['run', '--allow-all', '--no-check', '--no-lock', '--node-modules-dir=manual']

interface Printed {
  readonly digest: string
  readonly crashes: number
  readonly types: readonly string[]
  readonly events: readonly string[]
}

/** Runs the script in a process of its own. */
async function walk(command: string, args: readonly string[], seed: number, env = {}): Promise<Printed> {
  const { stdout } = await promisify(execFile)(
    bin(command),
    [...args, '--conditions=averba-source', script, String(seed)],
    { cwd: root, env: { ...process.env, ...env }, maxBuffer: 2 ** 26 },
  )
  return JSON.parse(stdout)
}

let first: Printed
let others: Printed[]
let ofAnotherSeed: Printed

beforeAll(async () => {
  const abroad = { TZ: 'Asia/Tokyo', LANG: 'pt_BR.UTF-8', LC_ALL: 'pt_BR.UTF-8' }
  const [one, two, three, four] = await Promise.all([
    walk('node', [], 1),
    walk('node', [], 1, abroad),
    walk('deno', onDeno, 1),
    walk('node', [], 2),
  ])
  first = one
  others = [two, three]
  ofAnotherSeed = four
}, 120_000)

test('the same seed gives the same log byte for byte, on Node and on Deno', () => {
  for (const other of others) {
    // The first line that differs shows where the runs diverge.
    expect(other.events).toEqual(first.events)
    expect(other).toEqual(first)
  }
})

test('the log has many events, types and failures', () => {
  expect(first.digest).toMatch(/^[0-9a-f]{64}$/)
  expect(first.events.length).toBeGreaterThan(500)
  expect(first.types.length).toBeGreaterThan(40)
  expect(first.crashes).toBeGreaterThan(1)
  const troubles = /(lost|inconclusive|rejected|failed|failing)$/i
  expect(first.types.filter(type => troubles.test(type)).length).toBeGreaterThan(3)
})

test('another seed gives another log', () => {
  expect(ofAnotherSeed.digest).not.toBe(first.digest)
  // Random decisions differ too, not only names.
  const typesOf = ({ events }: Printed) => events.map(event => event.split(' ')[1])
  expect(typesOf(ofAnotherSeed)).not.toEqual(typesOf(first))
})
