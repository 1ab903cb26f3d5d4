import { expect, test } from 'vitest'
import type { Averba } from '../../../src/index.ts'
import { notify } from '../../support/notify.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine } from '../../support/world.ts'

const receiver = { publicUrl: 'https://receptor.exemplo.br/averba' }

test('two engines on one file both record their facts, and agree on which are copies', async () => {
  const store = temporaryStore()
  const engines = [await openEngine({ store, receiver }), await openEngine({ store, receiver })]
  const ofEach = <T>(count: number, act: (engine: Averba) => Promise<T>) =>
    Promise.all(Array.from({ length: count / 2 }, () => engines.map(act)).flat())
  const statuses = (await ofEach(40, engine => notify(engine, {}))).map(({ status }) => status)
  expect(new Set(statuses)).toEqual(new Set([200]))
  for (const engine of engines) {
    const rows = await engine.views.selectFrom('notifications').selectAll().execute()
    expect(rows).toMatchObject([{ copies: 40 }])
    expect((await engine.rebuild()).every(view => view.differences === 0)).toBe(true)
  }
  const refs = await ofEach(20, engine => engine.consents.enrol({ cpf: '25774435016' }))
  expect(new Set(refs).size).toBe(1)
})
