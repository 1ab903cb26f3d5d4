import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import Sqlite from 'better-sqlite3'
import { expect, test } from 'vitest'
import { openAverba } from '../../src/index.ts'
import { append, open } from '../store/counting.ts'

const root = resolve(import.meta.dirname, '../..')
const averba = (...args: string[]) =>
  promisify(execFile)(process.execPath, ['src/cli/main.ts', ...args], { cwd: root }).then(
    ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  )

async function givenLog(): Promise<string> {
  const store = join(mkdtempSync(join(tmpdir(), 'averba-rebuild-')), 'log.sqlite')
  const engine = await openAverba({ store })
  for (const cpf of ['25774435016', '11144477735']) await engine.consents.enrol({ cpf })
  await engine.close()
  return store
}

test('averba rebuild corrects and reports a different row, and the next run finds none', async () => {
  const store = await givenLog()
  const database = new Sqlite(store)
  database.exec("update subjects set origin = 'validation' where rowid = 1")
  database.close()
  const first = await averba('rebuild', store)
  expect([first.code, first.stdout]).toEqual([1, expect.stringMatching(/^subjects: 2 rows, 1 differed$/m)])
  const second = await averba('rebuild', store, '--view', 'subjects', '--json')
  expect(second.code).toBe(0)
  expect(JSON.parse(second.stdout)).toEqual({
    isWhole: true,
    views: [{ view: 'subjects', rows: 2, differences: 0, examples: [] }],
  })
})

test('Ctrl-C interrupts averba rebuild between two pages, and the next run continues', async () => {
  const store = await givenLog()
  const filling = await open(store, [])
  await append(filling, 60_000)
  await filling.close()
  const opened = await openAverba({ store })
  await opened.close()
  const database = new Sqlite(store)
  const begun = database.prepare('select count(*) from rebuild where run > 1').pluck()
  const before = begun.get()
  const child = spawn(process.execPath, ['src/cli/main.ts', 'rebuild', store, '--json'], { cwd: root })
  const ended = once(child, 'close')
  let printed = ''
  child.stdout.on('data', chunk => {
    printed += chunk
  })
  await expect.poll(() => begun.get(), { timeout: 20_000, interval: 2 }).not.toBe(before)
  child.kill('SIGINT')
  expect(await ended).toEqual([1, null])
  const { isWhole, views } = JSON.parse(printed)
  expect([isWhole, views.length < 9]).toEqual([false, true])
  database.close()
  const again = await averba('rebuild', store, '--json')
  expect(JSON.parse(again.stdout)).toMatchObject({ isWhole: true, views: { length: 9 } })
  expect(again.code).toBe(0)
}, 60_000)

test('an unknown command is refused with a suggestion, and averba --version prints the version', async () => {
  expect(await averba('rebuidl')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/unknown command 'rebuidl'\n.*rebuild.*\n+averba --help shows every command/),
  })
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  expect(await averba('--version')).toMatchObject({ code: 0, stdout: `${version}\n` })
})

test('averba rebuild refuses a missing file and an unknown view', async () => {
  expect(await averba('rebuild', join(tmpdir(), 'nowhere.sqlite'))).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^NOT_FOUND/),
  })
  expect(await averba('rebuild', await givenLog(), '--view', 'nothing')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^INVALID_INPUT: .*no such view\nThe views are .*\bconsents\b/),
  })
})

test('averba migrations prints all statements from version 0, and none from the present version', async () => {
  const all = await averba('migrations')
  expect(all.stdout).toContain('create table event (')
  expect(all.stdout).toMatch(/update head set schema = \d+;\n$/)
  const [version = ''] = /\d+(?=;\n$)/.exec(all.stdout) ?? []
  expect(await averba('migrations', '--from', version)).toMatchObject({ code: 0, stdout: '' })
  const { statements } = JSON.parse((await averba('migrations', '--json')).stdout)
  expect(statements.map((sql: string) => `${sql};\n`).join('')).toBe(all.stdout)
  expect((await averba('migrations', '--dialect', 'postgres')).stdout).toContain('bytea')
  expect(await averba('migrations', '--from', '99')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^INVALID_INPUT/),
  })
})
