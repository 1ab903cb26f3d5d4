import { EventEmitter } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { CompiledQuery } from 'kysely'
import pg from 'pg'
import { afterAll, expect, test, vi } from 'vitest'
import type { Steps } from '../../../src/store/database/connection.ts'
import { locatePostgres, openPostgres } from '../../../src/store/database/postgres.ts'
import { PostgresConnection } from '../../../src/store/database/postgres-connection.ts'
import { insertFromArrays } from '../../../src/store/database/postgres-inserts.ts'
import type { PostgresClient } from '../../../src/store/database/postgres-pool.ts'
import { openPostgresReading } from '../../../src/store/database/postgres-reading.ts'
import { PostgresSession } from '../../../src/store/database/postgres-session.ts'
import { closeAtEnd } from '../../support/close-at-end.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { PostgresSchemas } from '../../support/postgres-schemas.ts'
import { openSession } from '../postgres-places.ts'

const postgres = await PostgresSchemas.start()
afterAll(() => postgres.close())

/** A connection to a log through a pool, which the test closes. */
const connectionOf = (connect: () => Promise<PostgresClient>) =>
  new PostgresConnection({ connect }, 'averba', async () => undefined)

test('a schema that a statement outside of its transaction would find is refused', async () => {
  const { query } = await openSession(postgres.url)
  await query('create role fleet_user superuser login; create schema fleet_user')
  const own = `${postgres.url.replace('user=postgres', 'user=fleet_user')}&schema=fleet_user`
  const refused = { code: 'MISCONFIGURED', message: expect.stringContaining('is in the search path of this user') }
  for (const address of [own, `${postgres.url}&schema=public`])
    await expect(openPostgres(await locatePostgres(address))).rejects.toMatchObject(refused)
})

test('a pool whose connections take one request at a time is refused', async () => {
  for (const wrong of [{}, { pipeline: true, binary: true }]) {
    const pool = new pg.Pool({ connectionString: postgres.url, ...wrong })
    await expect(locatePostgres('postgres:?schema=s', pool)).rejects.toMatchObject({ code: 'MISCONFIGURED' })
    await pool.end()
  }
})

test('a host reads with one statement, which cannot leave its transaction', async () => {
  const connection = closeAtEnd(await postgres.newSchema()())
  const read = (sql: string) => connection.readOnly(CompiledQuery.raw(sql))
  expect(await read('select 1 = 1 as yes, 2 as two')).toEqual([{ yes: 1, two: 2 }])
  const mistakes = {
    'select 1; commit; create table stolen (a int)': 'the database cannot run it',
    'create table stolen (a int)': 'views can only be read',
    'select no_function(1)': 'the database cannot run it',
    'select 1 / 0': 'the database cannot run it',
    'select * from no_table': 'it names a view or column that does not exist',
    'select no_column from head': 'it names a view or column that does not exist',
    'select $1::text as a': 'its parameters and their values differ in number',
  }
  for (const [sql, message] of Object.entries(mistakes)) {
    const refused = { code: 'INVALID_INPUT', message: expect.stringContaining(message), cause: expect.anything() }
    await expect(read(sql), sql).rejects.toMatchObject(refused)
  }
  expect(await read(`select json_build_array(1, 'a') as list`)).toEqual([{ list: [1, 'a'] }])
  expect(await read(`select array['a', 'b'] as list, current_setting('statement_timeout') as limit`)).toEqual([
    { list: '{a,b}', limit: '30s' },
  ])
})

test('a connection that is lost while a log opens fails the opening, and not the process', async () => {
  const server = createServer(socket => {
    socket.once('data', () => {
      socket.write(Buffer.from('52000000080000000053000000160000000000000000000000000000000000005a0000000549', 'hex'))
      socket.once('data', () => socket.destroy())
    })
    socket.on('error', () => undefined)
  })
  const place = await locatePostgres(`postgres://user@127.0.0.1:${await listenUntilEnd(server)}/db`)
  await expect(openPostgres(place)).rejects.toMatchObject({ code: 'STORE_BUSY' })
})

test('an error of a connection that nobody has yet does not end the process', async () => {
  const pool = Object.assign(new EventEmitter(), {
    connect: () => new Promise<never>(() => undefined),
    options: { pipeline: true },
  })
  await locatePostgres(postgres.newAddress(), pool)
  const client = new EventEmitter()
  pool.emit('connect', client)
  for (const each of [client, pool]) expect(each.emit('error', new Error('terminating connection'))).toBe(true)
})

test('a pool that gives no connection is given up, and one that comes late is given back', async () => {
  const late = Promise.withResolvers<PostgresClient>()
  const pool = { connect: () => late.promise, options: { pipeline: true } }
  const place = await locatePostgres('postgres:?schema=waiting', pool)
  vi.useFakeTimers()
  const reading = connectionOf(pool.connect).readOnly(CompiledQuery.raw('select 1'))
  const asking = [reading, openPostgres(place), openPostgresReading(place)]
  const failed = Promise.all(asking.map(each => expect(each).rejects.toMatchObject({ code: 'STORE_BUSY' })))
  await vi.advanceTimersByTimeAsync(10_000)
  vi.useRealTimers()
  await failed
  const release = vi.fn()
  late.resolve({ query: vi.fn(), on: vi.fn(), off: vi.fn(), release })
  await expect.poll(() => release.mock.calls.length).toBe(3)
})

test('rows of many megabytes leave as several statements, and what the driver could not send fails the commit', async () => {
  const texts: string[] = []
  const answer = async ({ text }: { text: string }) => {
    texts.push(text)
    if (text.startsWith('fail')) throw new RangeError('Invalid string length')
    return { rows: [{ ms: Date.now() }], command: text.toUpperCase() }
  }
  const client = { query: vi.fn(answer), on: vi.fn(), off: vi.fn(), release: vi.fn() }
  const large = Buffer.alloc(20 * 1024 ** 2)
  const steps = function* (): Steps<void> {
    yield { sql: 'insert into part (position, sealed) values (?, ?)', forEach: [1, 2, 3].map(n => [n, large]) }
  }
  await new PostgresSession(client).run(steps())
  expect(texts).toHaveLength(2)
  const failing = function* (): Steps<void> {
    yield { sql: 'fail (?)', forEach: [[1]] }
    yield { sql: 'insert into other (n) values (?)', parameters: [1] }
  }
  await expect(connectionOf(async () => client).transact(failing)).rejects.toThrow()
  expect(texts).not.toContain('commit')
})

test('what leaves as arrays arrives as it was', async () => {
  const { client, query } = await openSession(postgres.newAddress())
  const texts = ['', 'a "quoted" \\ text', '{a,b}', 'NULL', null, '\u{1F600}ção']
  const numbers = [0, -1, null, Number.MAX_SAFE_INTEGER]
  const bytes = [Buffer.of(0, 92, 255), Buffer.alloc(0), null]
  const rows = texts.map((text, i) => [text, numbers[i] ?? null, bytes[i] ?? null, null])
  await query('create temporary table arrived (n serial, a text, b bigint, c bytea, d text)')
  const insert = 'insert into arrived (a, b, c, d) values (?, ?, ?, ?)'
  const session = new PostgresSession(client)
  await session.send(insertFromArrays(insert, rows) ?? { text: '' })
  const arrived = await session.send({ text: 'select a, b, c, d from arrived order by n' })
  expect(arrived.rows.map(row => Object.values(row as object))).toEqual(rows)
  // A column of several types has none.
  for (const odd of ['x', 0.5, true, 1n])
    expect(insertFromArrays(insert, [...rows, [null, odd, null, null]])).toBeUndefined()
})

test('a connection that goes silent is given up, and what waits on it fails', async () => {
  const { client } = await openSession(postgres.newAddress())
  const session = new PostgresSession(client, 300)
  // As when the server's machine is gone: nothing ends the connection.
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection // Of node-postgres.
  stream.removeAllListeners('data')
  const sent = await Promise.allSettled([1, 2].map(n => session.send({ text: `select ${n}` })))
  expect(sent.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(session.failure).toBeDefined()
})
