import { CompiledQuery } from 'kysely'
import { expect, test } from 'vitest'
import { migrate, migrationStatements, migrations } from '../../../src/store/database/migrations.ts'
import { openSqlite } from '../../../src/store/database/sqlite.ts'
import type { Schemas } from '../../../src/store/log/header.ts'
import type { Store } from '../../../src/store/store.ts'
import type { RecordedEvent } from '../../../src/vocabulary/message.ts'
import { defineView, text } from '../../../src/vocabulary/view.ts'
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

const readPaints = async (store: Store) =>
  (await store.read({ kind: 'paint' })).map(({ type, data, stream }) => ({ type, data, stream }))
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
  const half: Schemas = { 'paint.mixed': schemas['paint.mixed']?.slice(0, 1) ?? [] }
  const second = await open(path, half)
  await append(second, 'paint-c', 'paint.mixed', { colour: 'green' })
  await second.close()
  const store = await open(path, schemas)
  await append(store, 'paint-d', 'paint.mixed', { colours: ['blue'] })
  expect(await readPaints(store)).toEqual([
    { type: 'paint.mixed', data: { colours: ['red'] }, stream: 'paint-a' },
    { type: 'paint.dipped', data: { ml: 5, dippedAt: at }, stream: 'paint-b' },
    { type: 'paint.mixed', data: { colours: ['green'] }, stream: 'paint-c' },
    { type: 'paint.mixed', data: { colours: ['blue'] }, stream: 'paint-d' },
  ])
  expect((await store.readAt(2))?.data).toEqual({ colours: ['red'] })
  await store.rebuild()
  expect(await readColours(store)).toEqual([
    { stream: 'paint-a', colour: 'paint.mixed {"colours":["red"]}' },
    { stream: 'paint-b', colour: `paint.dipped {"ml":5,"dippedAt":"${at}"}` },
    { stream: 'paint-c', colour: 'paint.mixed {"colours":["green"]}' },
    { stream: 'paint-d', colour: 'paint.mixed {"colours":["blue"]}' },
  ])
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

test('a view is built as of a position or an instant', async () => {
  const store = await open(':memory:')
  const times = ['2030-01-01T00:00:00.000Z', '2030-01-02T00:00:00.000Z', '2030-01-03T00:00:00.000Z']
  for (const [i, time] of times.entries()) {
    await store.append(appendOf('paint-a', 'any', [{ type: 'paint.mixed', data: { i } }], { at: time }))
  }
  const colourAt = async (asOf: { position?: number; at?: string }) =>
    (await store.viewReader.asOf('colours', asOf)).map(row => (row as { colour: string }).colour)
  expect(await colourAt({ position: 1 })).toEqual([])
  expect(await colourAt({ position: 3 })).toEqual(['paint.mixed {"i":1}'])
  expect(await colourAt({ at: '2030-01-02T23:59:59.999Z' })).toEqual(['paint.mixed {"i":1}'])
  expect(await colourAt({ at: '2030-01-03T00:00:00.000Z' })).toEqual(['paint.mixed {"i":2}'])
  expect(await colourAt({})).toEqual(['paint.mixed {"i":2}'])
  await expect(store.viewReader.asOf('nothing', {})).rejects.toMatchObject({ code: 'INVALID_INPUT' })
})

test('tables of an older version are migrated once with their rows, and never backward', async () => {
  const path = temporaryStore()
  const store = await open(path)
  await append(store, 'paint-a', 'paint.mixed', { color: 'red' })
  await store.close()
  const next = [...migrations, () => ['create table brush (width integer) strict']]
  const version = next.length
  const connection = await openSqlite(path)
  await connection.transact(() => migrate(connection, path, next))
  await connection.transact(() => migrate(connection, path, next))
  const sql = "select (select count(*) from event) as events, schema from head, sqlite_schema where name = 'brush'"
  const tables = await connection.readOnly(CompiledQuery.raw(sql))
  expect(tables).toEqual([{ events: 2, schema: version }])
  await connection.close()
  await expect(open(path)).rejects.toMatchObject({ code: 'NOT_OURS', hint: 'Update averba' })
})

test('migrationStatements lists the statements that a migration runs', () => {
  expect(migrationStatements(migrations.length, 'sqlite')).toEqual([])
  expect(migrationStatements(0, 'sqlite').filter(sql => sql.startsWith('create table')).length).toBeGreaterThan(8)
  const next = [...migrations, () => ['create table brush (width integer)']]
  expect(migrationStatements(migrations.length, 'postgres', next)).toEqual([
    'create table brush (width integer)',
    `update head set schema = ${next.length}`,
  ])
})
