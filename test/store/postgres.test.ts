import { afterAll, describe, expect, test } from 'vitest'
import { openViews } from '../../src/store/views/views-handle.ts'
import { type Views, views } from '../../src/views/views.ts'
import { appendOf, at } from './append-of.ts'
import { storeConformance } from './conformance/index.ts'
import { Place } from './conformance/place.ts'
import { checkAgainstModel } from './model-log.ts'
import { InProcessPostgres } from './pglite-connection.ts'

const postgres = new InProcessPostgres()
afterAll(() => postgres.close())

describe('PostgreSQL', () => storeConformance({ describe, test, expect }, () => postgres.newSchema()))

test('appends on PostgreSQL match a trivial model of a log', () =>
  checkAgainstModel(() => {
    const place = new Place(postgres.newSchema())
    return () => place.open()
  }, 12))

test('every built-in view has its table, indexes, rows and queries on PostgreSQL', async () => {
  const store = await new Place(postgres.newSchema()).open({ views })
  const parts = { cpf: { owner: 'subject-a', value: '25774435016' } }
  const enrolled = { type: 'subject.enrolled', data: { subject: 'a', origin: 'host' }, parts }
  const indexEntries = [{ kind: 'cpf', digest: store.digest('cpf', '25774435016'), value: 'a' }]
  await store.append(appendOf('subject-a', 'none', [enrolled], { indexEntries }))
  expect(await store.lookUp('cpf', '25774435016')).toBe('a')
  expect(await store.open('subject-a/1/cpf')).toBe('25774435016')
  expect(await store.rebuild()).toEqual(
    views.map(({ name }) => ({
      view: name,
      rows: name === 'subjects' ? 1 : 0,
      differences: 0,
      examples: [],
    })),
  )
  const handle = openViews<Views>(store.reader)
  expect(await handle.selectFrom('subjects').select(['subject', 'enrolled_at']).execute()).toEqual([
    { subject: 'a', enrolled_at: at },
  ])
  const newest = handle.selectFrom('subjects').select(eb => eb.fn.max('synced_at').as('at'))
  expect(await newest.execute()).toEqual([{ at: null }])
})
