import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openAverba } from '../../../src/index.ts'
import { averba, averbaJson, expectFailure, expectOutput, startCommand } from '../../support/command-line.ts'
import { append } from '../../support/counting.ts'
import { openStore } from '../../support/store.ts'
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
  await expectOutput(averba('rebuild', '--store', store), /^subjects: 2 rows, 1 differed$/m, 1)
  const views = [{ view: 'subjects', rows: 2, differences: 0, examples: [] }]
  expect(await averbaJson('rebuild', '--store', store, '--view', 'subjects')).toEqual({ isWhole: true, views })
  await expectFailure(averba('rebuild', '--store', join(tmpdir(), 'nowhere.sqlite')), /^NOT_FOUND/)
  const noView = /^INVALID_INPUT: .*no such view\nThe views are .*\bconsents\b/
  await expectFailure(averba('rebuild', '--store', store, '--view', 'nothing'), noView)
})

test('Ctrl-C interrupts averba rebuild between two pages, and the next run continues', async () => {
  const store = await givenLog()
  const filling = await openStore({ path: store })
  await append(filling, 3_000)
  await filling.close()
  const rebuilding = startCommand(['rebuild', '--store', store, '--json'], { isTTY: true })
  await rebuilding.progress
  const { out } = await expectOutput(rebuilding.stop('SIGINT'), '', 1)
  const { isWhole, views } = JSON.parse(out)
  expect([isWhole, views.length < 9]).toEqual([false, true])
  expect(await averbaJson('rebuild', '--store', store)).toMatchObject({ isWhole: true, views: { length: 9 } })
})
