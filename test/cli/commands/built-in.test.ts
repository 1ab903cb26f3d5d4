import { expect, test } from 'vitest'
import { machines } from '../../../src/machines/machines.ts'
import { averba, averbaJson, expectFailure, expectOutput } from '../../support/command-line.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'

test('averba migrations prints all statements from version 0, and none from the present version', async () => {
  const all = await averba('migrations')
  expect(all.out).toContain('create table event (')
  expect(all.out).toMatch(/^begin immediate;\n[\s\S]*update head set schema = \d+;\n[\s\S]*commit;\n$/)
  const [, version = ''] = /set schema = (\d+);/.exec(all.out) ?? []
  expect(await averba('migrations', '--from', version)).toMatchObject({ code: 0, out: '' })
  const { statements } = await averbaJson('migrations')
  expect(statements.map((sql: string) => `${sql};\n`).join('')).toBe(all.out)
  expect((await averba('migrations', '--dialect', 'postgres')).out).toContain('bytea')
  await expectFailure(averba('migrations', '--from', '99'), /^INVALID_INPUT/)
  // A file that they made opens as a new log.
  const path = temporaryStore()
  useDatabase(path, database => database.exec(all.out))
  await (await openStore({ path })).close()
})

test('averba charts prints one machine on each line, and --format mermaid the named one as a diagram', async () => {
  const all = await averba('charts')
  expect(all.code).toBe(0)
  const lines = all.out.trimEnd().split('\n')
  expect(lines.map(line => JSON.parse(line).id)).toEqual(machines.map(({ name }) => name))
  const diagram = /^stateDiagram-v2\n {2}state "absent" as token_absent\n/
  const { out } = await expectOutput(averba('charts', 'token', '--format', 'mermaid'), diagram)
  expect(await averbaJson('charts', 'token', '--format', 'mermaid')).toEqual({ charts: [out.slice(0, -1)] })
  expect(await averbaJson('charts')).toEqual({ charts: lines.map(line => JSON.parse(line)) })
})
