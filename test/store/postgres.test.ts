import { join } from 'node:path'
import { CompiledQuery, sql } from 'kysely'
import pg from 'pg'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { seededEntropy, VirtualClock } from '../../src/simulation/index.ts'
import { type DatabaseRequest, first, withChanges } from '../../src/store/database/connection.ts'
import { locatePostgres, openPostgres } from '../../src/store/database/postgres.ts'
import { openPostgresReading } from '../../src/store/database/postgres-reading.ts'
import { PostgresSession } from '../../src/store/database/postgres-session.ts'
import { checkIdle } from '../../src/store/files/copy-log.ts'
import { markDone } from '../../src/store/ledger/done-items.ts'
import { endOfLog } from '../../src/store/log/read.ts'
import { keyringPlace } from '../../src/store/opening.ts'
import type { Store } from '../../src/store/store.ts'
import { openViews } from '../../src/store/views/views-handle.ts'
import { type Views, views } from '../../src/views/views.ts'
import { closeAtEnd } from '../support/close-at-end.ts'
import { PostgresSchemas } from '../support/postgres-schemas.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { appendOf, at } from './append-of.ts'
import { append, counting, rowsOf } from './conformance/counting.ts'
import { storeConformance } from './conformance/index.ts'
import { Place, requesting, toStream } from './conformance/place.ts'
import { checkAgainstModel } from './model-log.ts'
import { aheadBy, openSession, placeAt, poolWith, withQuery } from './postgres-places.ts'
import { changeRequests } from './watched.ts'

const postgres = await PostgresSchemas.start()
afterAll(() => postgres.close())

/** A place of stores on the server, and a session of somebody else there. */
async function given() {
  const address = postgres.newAddress()
  return { address, place: placeAt(address), ...(await openSession(address)) }
}

const streamsOf = async (store: Store) => (await store.read({ after: 1 })).map(({ stream }) => stream)

describe('PostgreSQL', () => storeConformance({ describe, test, expect }, () => postgres.newSchema()))

test('appends on PostgreSQL match a trivial model of a log', () =>
  checkAgainstModel(() => {
    const place = new Place(postgres.newSchema())
    return () => place.open()
  }, 6))

test('every built-in view has its table, indexes, rows and queries on PostgreSQL', async () => {
  const store = await new Place(postgres.newSchema()).open({ views })
  const parts = { cpf: { owner: 'subject-a', value: '25774435016' } }
  const enrolled = { type: 'subject.enrolled', data: { subject: 'a', origin: 'host' }, parts }
  const indexEntries = [{ kind: 'cpf', digest: store.digest('cpf', '25774435016'), value: 'a' }]
  await store.append(appendOf('subject-a', 'none', [enrolled], { indexEntries }))
  expect(await store.lookUp('cpf', '25774435016')).toBe('a')
  expect(await store.open('subject-a/1/cpf')).toBe('25774435016')
  expect(await store.rebuild()).toEqual(
    views.map(({ name }) => ({ view: name, rows: name === 'subjects' ? 1 : 0, differences: 0, examples: [] })),
  )
  const subjects = openViews<Views>(store.database).selectFrom('subjects')
  expect(await subjects.select(['subject', 'enrolled_at']).execute()).toEqual([{ subject: 'a', enrolled_at: at }])
  expect(await subjects.select(eb => eb.fn.max('synced_at').as('at')).execute()).toEqual([{ at: null }])
})

test('leases follow the time of the server: a machine whose clock is minutes ahead takes nothing over', async () => {
  const { address, place } = await given()
  const [one, other] = [await place.open(), await place.open()]
  await one.append(appendOf('token-a', 'none', [{ effects: requesting }], { at: new Date().toISOString() }))
  const id = 'token-a/1/0'
  const takeAll = async (store: Store) => [
    await store.claimEffect(id, Date.now()),
    await store.followers.take('mail'),
    await store.secrets.leases.take('login'),
  ]
  expect(await takeAll(one)).not.toContain(undefined)
  await aheadBy(300_000, async () => {
    expect(await other.dueEffects(Date.now())).toEqual([])
    expect(await takeAll(other)).toEqual([undefined, undefined, undefined])
    // When it becomes free, by the clock that waits for it.
    const free = (await other.nextDueAt(['tokenService.requestToken'], Date.now() + 60_000)) - Date.now()
    expect(free).toBeGreaterThan(0)
    expect(free).toBeLessThanOrEqual(10_000)
    expect(await one.extendLease({ id, attempts: 1 })).toBeGreaterThan(0)
    await using reading = await openPostgresReading(await locatePostgres(address))
    const checking = reading.read(() => checkIdle(reading.dialect, new Date().toISOString()))
    await expect(checking).rejects.toMatchObject({ code: 'STORE_BUSY' })
  })
})

test('a process hears of what others commit, and again after it lost the connection for that', async () => {
  const { address, query } = await given()
  const located = await locatePostgres(address)
  // Only what is heard wakes it: its looks at the heads fail.
  const ask: Parameters<typeof poolWith>[1] = async (client, asked) => {
    if (asked.text.includes(' as mark from ')) throw new Error('it may not look')
    return client.query(asked)
  }
  const hearing = await locatePostgres(address, await poolWith(address, ask))
  const opened = [located, hearing].values()
  const place = new Place(() => openPostgres(opened.next().value ?? located))
  const [one, other] = [await place.open(), await place.open()]
  await other.watch()
  let appended = 0
  /** Appends until the other one is woken. */
  const expectWake = async () => {
    const { count: before } = other.changes
    const append = async () => {
      await one.append(toStream(`token-${++appended}`, 'none'))
      return other.changes.count
    }
    await expect.poll(append).toBeGreaterThan(before)
  }
  await expectWake()
  const listening = "from pg_stat_activity where query like 'listen averba_%'"
  const { count: heard } = other.changes
  expect(await query(`select pg_terminate_backend(pid)::int as done ${listening}`)).toContainEqual({ done: 1 })
  // The loss itself is one wake: what was missed meanwhile.
  await expect.poll(() => other.changes.count).toBeGreaterThan(heard)
  await expectWake()
})

test('many logs share a small pool: one connection listens, and one look a second reads all heads', async () => {
  const pool = new pg.Pool({ connectionString: postgres.url, pipeline: true, max: 4 })
  closeAtEnd({ close: () => pool.end() })
  const looks: string[] = []
  const connect = async () => {
    const client = await pool.connect()
    return withQuery(client, query => {
      if (!/\.head\b.* union all /s.test(query.text)) return client.query(query)
      looks.push(query.text)
      expect(query.query_timeout).toBe(2_000)
      return client.query(query)
    })
  }
  const shared = { connect, options: { max: 4, pipeline: true } }
  const logs = await Promise.all(Array.from({ length: 8 }, () => locatePostgres(postgres.newAddress(), shared)))
  const stores = await Promise.all(logs.map(log => new Place(() => openPostgres(log)).open()))
  await Promise.all(stores.map(store => store.watch()))
  // Nobody tells of what is written by hand.
  const touch = (log = logs[0]) => pool.query(`update ${log?.schema}.head set fence = fence + 1`)
  const counts = () => stores.map(store => store.changes.count)
  await expect.poll(() => looks.length).toBe(2)
  expect(looks[0]?.split(' union all ')).toHaveLength(8)
  const before = counts()
  await touch(logs[7])
  await expect.poll(counts).not.toEqual(before)
  expect(counts().slice(0, 7)).toEqual(before.slice(0, 7))
  expect(pool.totalCount).toBeLessThanOrEqual(4)
  // One that is gone does not hide the others.
  await pool.query(`drop schema ${logs[7]?.schema} cascade`)
  await touch(logs[0])
  await expect.poll(() => counts()[0]).toBe((before[0] ?? 0) + 1)
  expect(counts().slice(1, 7)).toEqual(before.slice(1, 7))
})

test('a report that reads a table for long holds up no append, and a rebuild waits for it', async () => {
  const { place, query } = await given()
  const store = await place.open({ views: [counting('counted')] })
  await append(store, 3)
  await query('begin; select * from counted')
  let isRebuilt = false
  const rebuilding = store.rebuild().finally(() => {
    isRebuilt = true
  })
  const waiting = `select count(*)::int as n from pg_locks where not granted and relation = 'counted'::regclass`
  await expect.poll(() => query(waiting), { interval: 10 }).toEqual([{ n: 1 }])
  await store.append(toStream('other-1', 'none'))
  expect(isRebuilt).toBe(false)
  await query('rollback')
  expect(await rebuilding).toMatchObject([{ differences: 0 }])
})

test('a reading that began before a rebuild put its table in place finds the rows of the new one', async () => {
  const { place, query } = await given()
  const store = await place.open({ views: [counting('counted')] })
  const { viewReader } = store
  await append(store, 3)
  const all = CompiledQuery.raw('select count(*) as rows from counted')
  // As a rebuild does: what it wrote with the swap is in no older snapshot.
  const swap = `create table counted_next (like counted including all); insert into counted_next select * from counted;
    drop table counted; alter table counted_next rename to counted`
  const waiting = `select count(*)::int as n from pg_locks where not granted and mode = 'AccessShareLock'`
  /** Begins to read while a swap is under way, which is committed when the reading waits for it. */
  const readDuring = async <T>(swap: string, read: () => Promise<T>) => {
    await query(`begin; ${swap}`)
    const reading = Promise.allSettled([read()])
    await expect.poll(() => query(waiting)).toEqual([{ n: 1 }])
    await query('commit')
    return (await reading)[0]
  }
  expect(await readDuring(swap, () => viewReader.find('counted', 'bench-0', 'bench-0'))).toMatchObject({
    value: { n: 1 },
  })
  expect(await readDuring(swap, () => viewReader.readOnly(all))).toMatchObject({ value: [{ rows: 3 }] })
  // The repetition finds the view stopped, and says so.
  const stopped = { reason: { code: 'VIEW_STOPPED' } }
  expect(await readDuring(`${swap}; update head set views = ''`, () => viewReader.readOnly(all))).toMatchObject(stopped)
})

test('a process forgets the rows that it knows of a view when another one rebuilds it', async () => {
  const { place, query } = await given()
  const one = await place.open({ views: [counting('counted')] })
  await append(one, 1)
  await query('update counted set n = 90')
  const other = await place.open({ views: [counting('counted')] })
  // It reads the wrong row, and keeps it.
  await append(other, 1)
  expect(await one.rebuild()).toMatchObject([{ differences: 1 }])
  await append(other, 1)
  expect(await rowsOf(other)).toEqual([{ stream: 'bench-0', n: 3 }])
})

test('a schema may have a word of SQL as its name', async () => {
  const address = `${postgres.url}&schema=order`
  const store = await placeAt(address).open()
  await store.append(appendOf('bench-a', 'none'))
  await store.database.rewrite()
  await using reading = await openPostgresReading(await locatePostgres(address))
  expect(await reading.read(endOfLog)).toBe(2)
  const { client, query } = await openSession(address)
  await query('begin')
  expect(await markDone(client, 'order', { name: 'mail', item: 'one', at })).toBe(true)
  await query('commit')
  await store.watch()
  await expect.poll(() => store.changes.count).toBe(2)
  // Nobody tells of it: a look finds it.
  await query('update head set fence = fence + 1')
  await expect.poll(() => store.changes.count).toBe(3)
})

test('an append whose transaction did not begin is not acknowledged', async () => {
  const store = await new Place(postgres.newSchema()).open()
  await store.append(appendOf('bench-a', 'none'))
  const real = PostgresSession.prototype.send
  const send = vi.spyOn(PostgresSession.prototype, 'send')
  send.mockImplementation(function (this: PostgresSession, query) {
    const isBegin = query.text.startsWith('begin isolation level read committed')
    return real.call(this, isBegin ? { text: 'select refused by the server' } : query)
  })
  await expect(store.append(appendOf('bench-b', 'none'))).rejects.toThrow()
  send.mockRestore()
  await store.append(appendOf('bench-c', 'none'))
  expect(await streamsOf(store)).toEqual(['bench-a', 'bench-c'])
})

test('followers and leases do not wait for the lock of the log, and a renewal does not leave as a whole', async () => {
  const { address, query } = await given()
  const clock = new VirtualClock()
  const requests: DatabaseRequest[] = []
  const noted = (asked: DatabaseRequest) => {
    requests.push(asked)
    return asked
  }
  const store = await placeAt(address, connection =>
    withChanges(connection, {
      transact: (steps, locks) => connection.transact(() => changeRequests(steps, noted), locks),
    }),
  ).open({ clock })
  const { followers, secrets } = store
  await query('begin; select 1 from head for update')
  const appending = store.append(appendOf('bench-a', 'none'))
  const follower = await followers.take('mail')
  expect(follower && (await followers.move(follower, 1))).toBe(true)
  await followers.release('mail')
  await secrets.leases.take('login')
  await secrets.leases.release('login')
  for (const take of [secrets.leases.take('login'), followers.take('crm')]) expect(await take).toBeDefined()
  const { promise: working, resolve: end } = Promise.withResolvers<void>()
  const readEnds = () => query("select until from lease union all select lease_until from follower where name = 'crm'")
  requests.length = 0
  // A call waits for the lock, and holds up no other.
  for (const held of [{ lease: 'login' }, { follower: 'crm' }, { effect: { id: 'token-a/1/0', attempts: 1 } }]) {
    const before = await readEnds()
    void store.leaseKeeper.keep(held, () => working)
    await clock.advance(20_000)
    await expect.poll(readEnds).not.toEqual(before)
    // A renewal that awaits nothing could reach the server whole, long after its connection was lost.
    if ('lease' in held) expect(requests.map(request => 'forEach' in request)).toEqual([false, true])
  }
  end()
  // It waited meanwhile.
  expect(await store.lastVersion('bench-a')).toBe(0)
  await query('commit')
  expect(await appending).toMatchObject({ status: 'appended' })
})

test('a process records nothing more once the server was replaced by one that lacks an event', async () => {
  const { place, query } = await given()
  const marks: string[] = []
  const highWaterMark = { read: async () => marks.at(-1), write: async (mark: string) => void marks.push(mark) }
  const [one, other] = [await place.open({ highWaterMark }), await place.open()]
  await one.append(appendOf('s', 'none'))
  await other.append(appendOf('x', 'none'))
  // It was late once, and so reads the head first.
  await one.append(appendOf('s', 1))
  await query('create table before_head as select * from head; create table before_stream as select * from stream')
  await one.append(appendOf('s', 2))
  await one.checkpoint()
  const kept = marks.at(-1)
  await query(`delete from event where position > (select position from before_head); delete from head;
    insert into head select * from before_head; delete from stream; insert into stream select * from before_stream`)
  const rolledBack = { code: 'ROLLED_BACK', message: expect.stringContaining('lacks event 5') }
  await expect(one.checkKnown()).rejects.toMatchObject(rolledBack)
  // Nothing is signed over the evidence.
  await expect(one.checkpoint()).rejects.toMatchObject(rolledBack)
  // Also what has nothing to do with the lost event, and when others have gone on from the replica.
  await expect(one.append(appendOf('z', 'none'))).rejects.toMatchObject(rolledBack)
  await other.append(appendOf('y', 'none'))
  await expect(one.append(appendOf('s', 3))).rejects.toMatchObject(rolledBack)
  await expect(one.secrets.leases.tryWriting()).rejects.toMatchObject(rolledBack)
  await Promise.all([one.close(), other.close()])
  expect(marks.at(-1)).toBe(kept)
})

test('a host reads no table of another schema, also one with the name of a view', async () => {
  const { place, query, schema } = await given()
  const { viewReader } = await place.open({ views })
  await query('create table public.subjects (secret text)')
  const subjectsOf = (schema: string) =>
    openViews<Views>(viewReader)
      .selectFrom(sql<{ secret: string }>`${sql.table(`${schema}.subjects`)}`.as('other'))
      .selectAll()
      .execute()
  expect(await subjectsOf(schema)).toEqual([])
  await expect(subjectsOf('public')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await query('drop table public.subjects')
})

test('what another user of a session has set changes nothing: how bytes are read, whether commits last, what is found', async () => {
  const pool = new pg.Pool({ connectionString: postgres.url, pipeline: true, max: 1 })
  closeAtEnd({ close: () => pool.end() })
  const place = await locatePostgres(postgres.newAddress(), pool)
  const store = await new Place(() => openPostgres(place)).open()
  const connection = await openPostgres(place)
  await store.append(appendOf('bench-1', 'none'))
  await pool.query(`set bytea_output to escape; set synchronous_commit to off; set lock_timeout to '1ms';
    create temp table event (position int); create temp table effect (position int)`)
  await store.append(appendOf('bench-2', 'none'))
  expect(await streamsOf(store)).toEqual(['bench-1', 'bench-2'])
  const sql = `select current_setting('synchronous_commit') as kept, '\\x00ff'::bytea as bytes`
  const asked = () => first({ sql, parameters: [] })
  expect(await connection.transact(asked)).toEqual({ kept: 'on', bytes: Buffer.from([0, 255]) })
})

test('a keyring file is written without the lock of the log, and a process that closes leaves no mark', async () => {
  const { address, place, query } = await given()
  const store = await place.open()
  await query('begin; select 1 from head for update')
  const connection = closeAtEnd(await openPostgres(await locatePostgres(address)))
  const [keyring, entropy] = [join(temporaryFolder(), 'averba.keys'), seededEntropy(1)]
  const options = { path: address, keyring, entropy, views: [], clock: systemClock, createId: () => '' }
  expect(await keyringPlace(connection, options)?.replace('{}', undefined)).toBe(true)
  await query('rollback')
  await store.append(appendOf('bench-a', 'none'))
  await store.append(appendOf('bench-b', 'none'))
  expect(await query('select mark from writer')).toHaveLength(1)
  await store.close()
  expect(await query('select mark from writer')).toEqual([])
})

test('a follower that another process resumes is seen where nothing is heard', async () => {
  const { place, query } = await given()
  const store = await place.open()
  const { followers } = store
  await append(store, 1)
  const taken = await followers.take('crm')
  expect(taken && (await followers.fail(taken, 1, null, 'Error'))).toBe(true)
  await query('create temp table before as select fence from head')
  for (const parked of await followers.list()) expect(await followers.resume(parked, 'again')).toBe(true)
  expect(await query('select (head.fence - before.fence)::int as more from head, before')).toEqual([{ more: 1 }])
})

test('a log is read while a rebuild puts a table in place', async () => {
  const { address, place, query } = await given()
  await place.open()
  await query('create table counted_next (n integer)')
  const pool = await poolWith(address, async (client, asked) => {
    const answer = await client.query(asked)
    if (asked.text.includes('has_table_privilege')) await query('drop table counted_next')
    return answer
  })
  await (await openPostgresReading(await locatePostgres(address, pool))).close()
})

test('a reading of a text that no server stores fails alone', async () => {
  const store = await new Place(postgres.newSchema()).open()
  await store.append(appendOf('bench-1', 'none'))
  const read = ['bench-\0', 'bench-1'].map(stream => store.read({ stream }))
  expect(await Promise.allSettled(read)).toMatchObject([
    { status: 'rejected', reason: { code: 'INVALID_INPUT' } },
    { status: 'fulfilled', value: [{ stream: 'bench-1' }] },
  ])
})

test('a process writes nothing more once another one has migrated the tables', async () => {
  const { place, query } = await given()
  const store = await place.open()
  await store.append(appendOf('bench-1', 'none'))
  await query('update head set schema = 2')
  await expect(store.append(appendOf('bench-2', 'none'))).rejects.toMatchObject({ code: 'NOT_OURS' })
  await query('update head set schema = 1')
  await store.append(appendOf('bench-2', 'none'))
})
