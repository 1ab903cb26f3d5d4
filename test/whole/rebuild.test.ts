import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import Sqlite from 'better-sqlite3'
import { expect, test } from 'vitest'
import { openAverba } from '../../src/index.ts'

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

test('averba rebuild puts right what differs, says so once, and then finds all as it was', async () => {
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

test('a command that is none is refused with where the commands stand, and averba says its version', async () => {
  expect(await averba('rebuidl')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /unknown command 'rebuidl'\n.*rebuild.*\n+averba --help shows every command/,
    ),
  })
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  expect(await averba('--version')).toMatchObject({ code: 0, stdout: `${version}\n` })
})

test('averba rebuild names what is wrong with its arguments', async () => {
  expect(await averba('rebuild', join(tmpdir(), 'nowhere.sqlite'))).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^NOT_FOUND/),
  })
  expect(await averba('rebuild', await givenLog(), '--view', 'nothing')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^INVALID_INPUT: .*no such view\nThere are .*\bconsents\b/),
  })
})

test('averba migrations prints the statements of every table, and none for today’s version', async () => {
  const all = await averba('migrations')
  expect(all.stdout).toContain('create table event (')
  expect(all.stdout).toMatch(/update head set schema = \d+;\n$/)
  const [version = ''] = /\d+(?=;\n$)/.exec(all.stdout) ?? []
  expect(await averba('migrations', '--from', version)).toMatchObject({ code: 0, stdout: '' })
  expect((await averba('migrations', '--dialect', 'postgres')).stdout).toContain('bytea')
  expect(await averba('migrations', '--from', '99')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^INVALID_INPUT/),
  })
})
