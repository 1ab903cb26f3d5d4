import { execFile } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { openAverba, type Verdict, verifyLog } from '../../src/index.ts'
import { simulate } from '../../src/simulation/index.ts'
import type { Steps } from '../../src/store/database/connection.ts'
import { Snapshot } from '../../src/store/database/snapshot.ts'
import { exportLog } from '../../src/store/files/export-log.ts'
import { copyStore, makeSampleStore } from '../store/sample-store.ts'

const root = resolve(import.meta.dirname, '../..')

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program, and returns its output and exit code. */
async function run(file: string, args: string[], cwd = root): Promise<Ended> {
  try {
    return { code: 0, ...(await promisify(execFile)(file, args, { cwd })) }
  } catch (error) {
    return error as Ended // What execFile rejects with.
  }
}

const averba = (...args: string[]) => run(process.execPath, ['src/cli/main.ts', ...args])
const newFolder = () => mkdtempSync(join(tmpdir(), 'averba-audit-'))

let store = ''
let bundle = ''
let key = ''
beforeAll(async () => {
  store = await makeSampleStore(300)
  bundle = join(newFolder(), 'bundle')
  const exported = await averba('export', store, '--dir', bundle, '--json')
  expect(JSON.parse(exported.stdout)).toMatchObject({ dir: bundle, events: expect.any(Number) })
  key = readFileSync(join(bundle, 'key'), 'utf8').trim()
})

/** A bundle of another log, with a key of its own. */
async function exportOther(): Promise<string> {
  const dir = join(newFolder(), 'bundle')
  const other = await openAverba({ store: `${dir}.sqlite` })
  await other.audit.export(dir)
  await other.close()
  return dir
}

/** A bundle with a changed file. */
function changed(file: string, change: (text: string) => string): string {
  const dir = join(newFolder(), 'bundle')
  cpSync(bundle, dir, { recursive: true })
  const text = readFileSync(join(dir, file), 'utf8')
  expect(change(text)).not.toBe(text)
  writeFileSync(join(dir, file), change(text))
  return dir
}

const lines = (text: string, change: (all: string[]) => string[]) =>
  change(text.split('\n').slice(0, -1))
    .map(line => `${line}\n`)
    .join('')

/** The program of a bundle's README, in a file. */
function programOf(dir: string): string {
  const [, program = ''] = /```python\n([\s\S]*?)```/.exec(readFileSync(join(dir, 'README'), 'utf8')) ?? []
  const file = join(newFolder(), 'verify.py')
  writeFileSync(file, program)
  return file
}

/** Changes that an owner without the keyring can make to a bundle: both verifiers have to find them. */
const wrongs: [string, string, (text: string) => string][] = [
  ['an event edited', 'leaves.ndjson', text => text.replace('"bodyBytes":', '"bodyBytes":1')],
  ['an event dropped', 'leaves.ndjson', text => lines(text, all => all.toSpliced(100, 1))],
  ['an event doubled', 'leaves.ndjson', text => lines(text, all => all.toSpliced(100, 0, all[100] ?? ''))],
  ['two events swapped', 'leaves.ndjson', text => lines(text, ([a = '', b = '', ...rest]) => [b, a, ...rest])],
  ['the last event dropped', 'leaves.ndjson', text => lines(text, all => all.slice(0, -1))],
  ['a part edited', 'parts.ndjson', text => text.replace(/"sealed":"..../, '"sealed":"AAAA')],
  ['a part dropped', 'parts.ndjson', text => lines(text, all => all.toSpliced(10, 1))],
  ["another's part", 'parts.ndjson', text => text.replace(/"owner":"[^"]*"/, '"owner":"subject-x"')],
  ['another root', 'checkpoint', text => text.replace(/\n(.)/, '\n1$1')],
  ['another signature', 'checkpoint', text => text.replace(/(— \S+ .{20})./, (_, to) => `${to}_`.replace('_', 'A'))],
  ['another key', 'key', text => text.replace(/\+A/, '+B')],
]

describe('a bundle', () => {
  test('is verified by averba: self-consistent alone, held with a kept checkpoint', async () => {
    const alone = await averba('verify', bundle)
    expect(alone.code).toBe(3)
    expect(alone.stdout).toContain('level        self-consistent')
    expect(alone.stdout).toContain('That its key belongs to its owner')
    const held = await averba('verify', bundle, '--key', key, '--mark', `${store}.mark`, '--json')
    expect(held.code).toBe(0)
    const verdict: Verdict = JSON.parse(held.stdout)
    expect(verdict).toMatchObject({ level: 'held', faults: [], erasedParts: 0 })
    expect(verdict.unproven.join(' ')).not.toContain('That its key is')
    expect((await verifyLog({ store })).root).toBe(verdict.root)
  })

  test('is verified with only Python and openssl, by the steps of its README', async () => {
    const file = programOf(bundle)
    const good = await run('python3', [file], bundle)
    expect(good.stdout, good.stderr).toMatch(/^self-consistent: \d+ events, \d+ parts, 0 erased/)
    for (const [name, of, change] of wrongs) {
      const bad = await run('python3', [file], changed(of, change))
      expect(bad.code, `${name}: ${bad.stdout}`).not.toBe(0)
    }
  })

  test('with erased parts, and parts destroyed by retention, is verified by the same steps', async () => {
    const path = join(newFolder(), 'erased.sqlite')
    const retention = { 'validation.claims': 'until-settled' } as const
    const world = await simulate({ averba: { store: path, retention, schedules: true } })
    const { cpf } = world.samples
    const [subject, stays] = [
      await world.averba.consents.enrol({ cpf }),
      await world.averba.consents.enrol({ cpf: '11144477735' }),
    ]
    for (const who of [subject, stays]) await world.averba.consents.sync({ subject: who })
    await world.averba.validations.validate({ id: 'p1', cpf, claims: { nome: 'X' } })
    await world.clock.advance(2 * 86_400_000)
    await world.averba.settle()
    await world.averba.consents.sync({ subject })
    await world.averba.subjects.erase({ subject }, { requester: 'r', legalBasis: 'LGPD art. 18, VI' })
    const dir = join(newFolder(), 'bundle')
    await world.averba.audit.export(dir)
    await world.close()
    const { erasedParts, faults, parts } = await verifyLog({ store: dir })
    expect(faults).toEqual([])
    expect(erasedParts).toBeGreaterThan(0)
    const good = await run('python3', [programOf(dir)], dir)
    expect(good.stdout).toContain(`${parts} parts, ${erasedParts} erased`)
    const said = (await averba('verify', dir)).stdout
    expect(said).toContain(`${parts} present, ${erasedParts} erased`)
    // A missing part that was not erased is still reported.
    const file = join(dir, 'parts.ndjson')
    writeFileSync(
      file,
      lines(readFileSync(file, 'utf8'), all => all.filter(each => !each.includes(stays))),
    )
    expect((await run('python3', [programOf(dir)], dir)).stdout).toMatch(/^BROKEN: the part \S+ at \d+ is missing/)
    expect((await verifyLog({ store: dir })).level).toBe('broken')
  })

  test.each(wrongs)('is broken with %s', async (_, file, change) => {
    const { level, faults } = await verifyLog({ store: changed(file, change) })
    expect(level).toBe('broken')
    expect(faults.length).toBeGreaterThan(0)
  })

  test('with an unusable answer of an anchor reports it, and is not broken', async () => {
    const dir = changed('checkpoints.ndjson', text => text.replace(/\}\n/, ',"anchor":"*"}\n'))
    const { code, stdout } = await averba('verify', dir)
    expect(code).toBe(3)
    expect(stdout).toMatch(/^ignored {6}anchors: 1\n +the answer of the anchor for checkpoint 1 is not base64\n/m)
  })

  test('is broken when it does not belong to the log of the given key', async () => {
    const dir = await exportOther()
    const verdict = await verifyLog({ store: dir, keys: [key] })
    expect(verdict.level).toBe('broken')
    expect(await verifyLog({ store: dir, mark: `${store}.mark` })).toMatchObject({ level: 'broken' })
  })

  test('is not left incomplete when the disk is full', async () => {
    const largest = Math.max(...readdirSync(bundle).map(name => statSync(join(bundle, name)).size))
    const limitKb = Math.floor((largest - 1) / 1024)
    const script = `
      import { exportUpTo } from './src/operations/export.ts'
      await exportUpTo({ store: process.argv[1], dir: process.argv[2] }, async () => 'signed before')
        .then(() => console.log('exported'), error => console.log(error.code))`
    const command = `trap '' XFSZ; ulimit -S -f ${limitKb}; exec "$0" --input-type=module -e "$@"`
    const dir = join(newFolder(), 'bundle')
    const { stdout } = await run('bash', ['-c', command, process.execPath, script, store, dir])
    expect(stdout.trim()).toBe('STORE_UNSAFE')
    // A failed export leaves nothing that prevents the next one.
    expect(readdirSync(dir)).toEqual([])
    expect((await averba('export', store, '--dir', dir)).code).toBe(0)
  })

  test.each(['parts.ndjson', 'key'])('whose %s cannot be read gives an error, and no verdict', async file => {
    const dir = join(newFolder(), 'bundle')
    cpSync(bundle, dir, { recursive: true })
    rmSync(join(dir, file))
    mkdirSync(join(dir, file))
    const error = { code: 'STORE_UNSAFE', message: expect.stringContaining(`${file}": EISDIR`) }
    await expect(verifyLog({ store: dir })).rejects.toMatchObject(error)
    expect(await averba('verify', dir)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^STORE_UNSAFE: /),
    })
  })

  test('of another export that began in the meantime is left unchanged', async () => {
    const dir = join(newFolder(), 'bundle')
    const snapshot = await Snapshot.open(store)
    const late = {
      path: store,
      run<T>(steps: () => Steps<T>): T {
        mkdirSync(dir, { recursive: true })
        writeFileSync(join(dir, 'key'), 'of the other')
        return snapshot.run(steps)
      },
    }
    const exporting = exportLog(late as unknown as Snapshot, dir) // The export reads nothing else of a snapshot.
    await expect(exporting).rejects.toMatchObject({
      code: 'STORE_UNSAFE',
      message: expect.stringContaining('EEXIST'),
    })
    snapshot.close()
    expect(readdirSync(dir)).toEqual(['key'])
    expect(readFileSync(join(dir, 'key'), 'utf8')).toBe('of the other')
  })

  test('is reported as missing in another folder', async () => {
    const notOurs = expect.stringMatching(/^NOT_OURS: .* holds no export of a log\n/)
    expect(await averba('verify', newFolder())).toMatchObject({ code: 1, stderr: notOurs })
  })

  test('does not overwrite another one', async () => {
    const again = await averba('export', store, '--dir', bundle)
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('INVALID_INPUT') })
  })
})

test('averba verify reports the level of a store, with its exit code', async () => {
  const held = await averba('verify', store)
  expect(held.code).toBe(0)
  expect(held.stdout).toContain('level        held')
  expect(held.stdout).toContain('This does not prove:')
  const unmarked = copyStore(store)
  expect((await averba('verify', unmarked)).code).toBe(3)
  copyFileSync(`${store}.mark`, `${unmarked}.mark`)
  const cut = await averba('verify', unmarked, '--mark', `${store}.keys`)
  expect(cut.code).toBe(2)
  expect(cut.stdout).toContain('FAULT        mark')
  expect((await averba('verify', `${store}.nowhere`)).code).toBe(1)
  expect(await averba('verify', unmarked, '--mark', `${store}.nowhere`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('NOT_FOUND: Cannot compare the log with'),
  })
  expect((await averba('verify', store, '--key', 'x')).code).toBe(1)
})

test('averba verify fails without a verdict when it cannot read the keyring', async () => {
  const copy = copyStore(store)
  rmSync(`${copy}.keys`)
  mkdirSync(`${copy}.keys`)
  const unread = expect.stringMatching(/^STORE_UNSAFE: Cannot read ".*\.keys": EISDIR\n/)
  expect(await averba('verify', copy)).toMatchObject({ code: 1, stderr: unread })
})

test('the proof of one event verifies with its key only, and not when it is changed', async () => {
  const file = join(newFolder(), 'event.tlog-proof')
  expect((await averba('prove', store, '100', '--out', file)).code).toBe(0)
  const good = await averba('verify', file, '--key', key, '--json')
  expect(good.code).toBe(0)
  const { isProven, header } = JSON.parse(good.stdout)
  expect(isProven).toBe(true)
  expect(JSON.parse(header).position).toBe(100)
  const { stream, version } = JSON.parse(header)
  const byId = await averba('prove', store, `${stream}/${version}`)
  expect(byId.stdout).toBe(readFileSync(file, 'utf8'))

  const text = readFileSync(file, 'utf8')
  for (const change of [
    (from: string) => from.replace('index 99', 'index 98'),
    (from: string) =>
      from.replace(/^extra \S+/m, `extra ${Buffer.from(header.replace('"at":"2', '"at":"3')).toString('base64')}`),
    (from: string) => from.replace(/\n\w/, '\nA'),
    (from: string) => from.replace(/^index 99\n.*\n/m, 'index 99\n'),
  ]) {
    expect(change(text)).not.toBe(text)
    writeFileSync(file, change(text))
    expect((await averba('verify', file, '--key', key)).code).not.toBe(0)
  }
  writeFileSync(file, text)
  const other = await exportOther()
  const foreign = readFileSync(join(other, 'key'), 'utf8').trim()
  expect((await averba('verify', file, '--key', foreign)).code).toBe(2)
  expect((await averba('prove', store, '1000000')).code).toBe(1)
})

test('one record is disclosed with its file and the key of the log, and only its parts', async () => {
  const file = join(newFolder(), 'record.json')
  const { header } = JSON.parse((await averba('verify', await proofOf('validation'), '--key', key, '--json')).stdout)
  const { stream, version } = JSON.parse(header)
  const disclose = (...args: string[]) =>
    averba('prove', store, `${stream}/${version}`, '--disclose', '--out', file, ...args)
  for (const few of [[], ['--actor', 'auditoria-3'], ['--purpose', 'auditoria 2026-17']])
    expect(await disclose(...few)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('INVALID_INPUT'),
    })
  const given = ['--actor', 'auditoria-3', '--purpose', 'auditoria 2026-17']
  const events = async () => JSON.parse((await averba('doctor', store, '--json')).stdout).position
  const before = await events()
  // A disclosure that cannot be written is not recorded.
  const nowhere = await averba('prove', store, `${stream}/${version}`, '--disclose', '--out', newFolder(), ...given)
  expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining('INVALID_INPUT') })
  expect(await events()).toBe(before)
  const done = await disclose(...given)
  expect(done, done.stderr).toMatchObject({ code: 0 })
  expect(statSync(file).mode & 0o777).toBe(0o600)

  const good = await averba('verify', file, '--key', key)
  expect(good.code).toBe(0)
  expect(good.stdout).toContain('Its sealed part "claims", of subject-')
  const { isProven, opened } = JSON.parse((await averba('verify', file, '--key', key, '--json')).stdout)
  expect(isProven).toBe(true)
  expect(opened).toMatchObject([{ name: 'claims', value: { nome: 'X' } }])
  // Options that would have no effect are refused.
  const held = await averba('verify', file, '--key', key, '--mark', 'nosuch')
  expect(held).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Cannot verify a proof with --mark'),
  })
  const lines = join(newFolder(), 'key')
  writeFileSync(lines, `${key}\r\n`)
  expect((await averba('verify', file, '--key', lines)).code).toBe(0)
  expect((await averba('verify', file, '--key', newFolder())).code).toBe(1)
  // Without the key of the log, its owner is unknown.
  expect((await averba('verify', file)).code).toBe(1)

  const disclosed = JSON.parse(readFileSync(file, 'utf8'))
  disclosed.keys[0].key = Buffer.alloc(32).toString('base64')
  writeFileSync(file, JSON.stringify(disclosed))
  const bad = await averba('verify', file, '--key', key)
  expect(bad.code).toBe(2)
  expect(bad.stdout).toContain('NOT PROVEN: the key for the part "claims" is not the one that the event names')
})

/** A proof of the first event of a kind that has parts. */
async function proofOf(kind: string): Promise<string> {
  const leaves = readFileSync(join(bundle, 'leaves.ndjson'), 'utf8').split('\n')
  const position = leaves.findIndex(line => line.includes(`"stream":"${kind}-`) && line.includes('"recordKey"')) + 1
  const file = join(newFolder(), 'event.tlog-proof')
  expect((await averba('prove', store, `${position}`, '--out', file)).code).toBe(0)
  return file
}
