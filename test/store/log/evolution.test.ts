import { CompiledQuery } from 'kysely'
import { expect, test } from 'vitest'
import { migrate, migrations } from '../../../src/store/database/migrations.ts'
import { openSqlite } from '../../../src/store/database/sqlite.ts'
import { type Schemas, untaggedHeaders } from '../../../src/store/log/header.ts'
import type { Store } from '../../../src/store/store.ts'
import type { RecordedEvent } from '../../../src/vocabulary/message.ts'
import { defineView, text } from '../../../src/vocabulary/view.ts'
import { closeAtEnd } from '../../support/close-at-end.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { appendOf, at } from '../append-of.ts'

/** A view that shows the data of events, and so their schema version. */
const colours = defineView<{ stream: string; colour: string }, RecordedEvent>({
  name: 'colours',
  version: 1,
  kinds: ['paint'],
  columns: { stream: text(), colour: text() },
  key: ({ stream }) => stream,
  fold: (_, { stream, type, data }) => ({ stream, colour: `${type} ${JSON.stringify(data)}` }),
})

const open = (path: string, schemas: Schemas = {}) => openStore({ path, schemas, views: [colours] })

const append = (store: Store, stream: string, type: string, data: object) =>
  store.append(appendOf(stream, 'any', [{ type, data }]))

const readColours = (store: Store) =>
  store.database.readOnly(CompiledQuery.raw('select * from colours order by stream'))

/** `mixed` has three schema versions, `dipped` two. */
const schemas: Schemas = {
  'paint.mixed': [
    data => ({ colour: (data as { color: string }).color }),
    data => ({ colours: [(data as { colour: string }).colour] }),
  ],
  'paint.dipped': [(data, { at: dippedAt }) => ({ ...(data as { ml: number }), dippedAt })],
}

test('an event of any older schema is upcast wherever it is read', async () => {
  const path = temporaryStore()
  const first = await open(path)
  await append(first, 'paint-a', 'paint.mixed', { color: 'red' })
  await append(first, 'paint-b', 'paint.dipped', { ml: 5 })
  await first.close()
  const second = await open(path, { 'paint.mixed': schemas['paint.mixed']?.slice(0, 1) ?? [] })
  await append(second, 'paint-c', 'paint.mixed', { colour: 'green' })
  await second.close()
  const store = await open(path, schemas)
  await append(store, 'paint-d', 'paint.mixed', { colours: ['blue'] })
  const mixed = (stream: string, colour: string) => ({ stream, type: 'paint.mixed', data: { colours: [colour] } })
  const expected = [
    mixed('paint-a', 'red'),
    { stream: 'paint-b', type: 'paint.dipped', data: { ml: 5, dippedAt: at } },
    mixed('paint-c', 'green'),
    mixed('paint-d', 'blue'),
  ]
  const read = await store.read({ kind: 'paint' })
  expect(read.map(({ stream, type, data }) => ({ stream, type, data }))).toEqual(expected)
  expect((await store.readAt(2))?.data).toEqual({ colours: ['red'] })
  await store.rebuild()
  expect(await readColours(store)).toEqual(
    expected.map(({ stream, type, data }) => ({ stream, colour: `${type} ${JSON.stringify(data)}` })),
  )
})

test('an event of a newer schema is NOT_OURS, and one of an unknown type is kept unchanged', async () => {
  const path = temporaryStore()
  const store = await open(path, schemas)
  await append(store, 'paint-a', 'paint.mixed', { colours: ['red'] })
  await append(store, 'paint-b', 'paint.varnished', { coats: 2 })
  await store.close()
  const older = await open(path)
  await expect(older.readAt(2)).rejects.toMatchObject({ code: 'NOT_OURS', hint: 'Update averba' })
  expect(await older.readAt(3)).toMatchObject({ type: 'paint.varnished', data: { coats: 2 } })
})

test('an event of a newer format is NOT_OURS', () => {
  const stored = { position: 1, header: '{"format":2,"position":1}', tag: '' }
  expect(() => untaggedHeaders.read(stored)).toThrow(expect.objectContaining({ code: 'NOT_OURS' }))
})

test('tables of an older version are migrated once with their rows, and never backward', async () => {
  const path = temporaryStore()
  const store = await open(path)
  await append(store, 'paint-a', 'paint.mixed', { color: 'red' })
  await store.close()
  const next = [...migrations, () => ['create table brush (width integer) strict']]
  const connection = closeAtEnd(await openSqlite(path))
  for (let time = 0; time < 2; time++) await connection.transact(() => migrate(connection, path, next))
  const sql = "select (select count(*) from event) as events, schema from head, sqlite_schema where name = 'brush'"
  expect(await connection.readOnly(CompiledQuery.raw(sql))).toEqual([{ events: 2, schema: next.length }])
  await expect(open(path)).rejects.toMatchObject({ code: 'NOT_OURS', hint: 'Update averba' })
})
