import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openAverba } from '../../../src/index.ts'
import { averba, failedWith, printed, startCommand } from '../../support/command-line.ts'
import { append, open } from '../../support/counting.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'

async function givenLog(): Promise<string> {
  const store = temporaryStore()
  const engine = await openAverba({ store })
  for (const cpf of ['25774435016', '11144477735']) await engine.consents.enrol({ cpf })
  await engine.close()
  return store
}

test('averba rebuild corrects and reports a different row, and the next run finds none', async () => {
  const store = await givenLog()
  useDatabase(store, database => database.exec("update subjects set origin = 'validation' where rowid = 1"))
  expect(await averba('rebuild', '--store', store)).toMatchObject(printed(/^subjects: 2 rows, 1 differed$/m, 1))
  const { code, out } = await averba('rebuild', '--store', store, '--view', 'subjects', '--json')
  const views = [{ view: 'subjects', rows: 2, differences: 0, examples: [] }]
  expect([code, JSON.parse(out)]).toEqual([0, { isWhole: true, views }])
})

test('Ctrl-C interrupts averba rebuild between two pages, and the next run continues', async () => {
  const store = await givenLog()
  const filling = await open(store, [])
  await append(filling, 3_000)
  await filling.close()
  const rebuilding = startCommand(['rebuild', '--store', store, '--json'], { isTTY: true })
  await rebuilding.progress
  rebuilding.stop('SIGINT')
  const { code, out } = await rebuilding.ended
  expect(code).toBe(1)
  const { isWhole, views } = JSON.parse(out)
  expect([isWhole, views.length < 9]).toEqual([false, true])
  const again = await averba('rebuild', '--store', store, '--json')
  expect([again.code, JSON.parse(again.out)]).toMatchObject([0, { isWhole: true, views: { length: 9 } }])
})

test('averba rebuild refuses a missing file and an unknown view', async () => {
  expect(await averba('rebuild', '--store', join(tmpdir(), 'nowhere.sqlite'))).toMatchObject(failedWith(/^NOT_FOUND/))
  const refused = failedWith(/^INVALID_INPUT: .*no such view\nThe views are .*\bconsents\b/)
  expect(await averba('rebuild', '--store', await givenLog(), '--view', 'nothing')).toMatchObject(refused)
})
