import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { afterAll, expect, test } from 'vitest'
import { first, rows } from '../../src/store/database/connection.ts'
import { locatePostgres, openPostgres } from '../../src/store/database/postgres.ts'
import { PostgresConnection } from '../../src/store/database/postgres-connection.ts'
import type { PostgresClient, PostgresQuery } from '../../src/store/database/postgres-pool.ts'
import { closeAtEnd } from '../support/close-at-end.ts'
import { PostgresServer, withSchema } from '../support/postgres-server.ts'
import { appendOf } from './append-of.ts'
import { Place } from './conformance/place.ts'

const server = await PostgresServer.start()
afterAll(() => server.close())
let schemas = 0

/** A place on the server, through a proxy if one is given. */
function placeOn(url: string): Place {
  schemas += 1
  const schema = `faults_${schemas}`
  return new Place(async () => openPostgres(await locatePostgres(withSchema(url, schema))))
}

test('nothing acknowledged is lost when the server crashes, and the log goes on when it is back', async () => {
  const place = placeOn(server.url)
  const store = closeAtEnd(await place.open())
  const acknowledged: string[] = []
  let isBack = false
  const appending = (async () => {
    for (let n = 0, after = 0; after < 5; n++) {
      const stream = `bench-${n}`
      try {
        await store.append(appendOf(stream, 'none'))
        acknowledged.push(stream)
        if (isBack) after += 1
      } catch (error) {
        expect(error).toMatchObject({ code: 'STORE_BUSY' })
      }
    }
  })()
  await store.append(appendOf('bench-first', 'none'))
  await server.restart('SIGQUIT')
  isBack = true
  await appending
  const streams = (await store.read({ after: 1, limit: 10_000 })).map(({ stream }) => stream)
  expect(streams).toEqual(expect.arrayContaining(acknowledged))
  const [last] = await store.read({ backward: true, limit: 1 })
  expect(last?.position).toBe(streams.length + 1)
})

test('a server that may lose commits is refused, and so is one that is not there', async () => {
  const open = async (url: string) => openPostgres(await locatePostgres(withSchema(url, 'refused')))
  const careless = `${server.url}&options=${encodeURIComponent('-c synchronous_commit=off')}`
  await expect(open(careless)).rejects.toMatchObject({
    code: 'STORE_UNSAFE',
    message: expect.stringContaining('synchronous_commit is off'),
  })
  const secret = 'postgres://somebody:palavra-secreta@localhost/postgres?host=/nowhere'
  const error = await open(secret).catch(thrown => thrown)
  expect(error).toMatchObject({ code: 'STORE_BUSY', message: expect.stringContaining('the schema "refused"') })
  expect(`${error.stack} ${error.cause.stack}`).not.toContain('palavra-secreta')
  const unknown = server.url.replace('user=postgres', 'user=nobody')
  await expect(open(unknown)).rejects.toMatchObject({
    code: 'MISCONFIGURED',
    message: expect.stringContaining('28000'),
  })
  await expect(open(server.url.replace('/postgres?', '/nowhere?'))).rejects.toMatchObject({ code: 'MISCONFIGURED' })
  const { pool, closePool } = await locatePostgres(server.url)
  const client = await pool.connect()
  await client.query({ text: 'create role limited login; create schema locked' })
  client.release()
  await closePool()
  const locked = withSchema(server.url.replace('user=postgres', 'user=limited'), 'locked')
  const denied = { code: 'MISCONFIGURED', message: expect.stringContaining('this user may not use it') }
  await expect(openPostgres(await locatePostgres(locked))).rejects.toMatchObject(denied)
  await expect(openPostgres(await locatePostgres(withSchema(server.url, 'x; drop')))).rejects.toMatchObject({
    code: 'MISCONFIGURED',
  })
})

test('many processes that open an empty schema at once make one log', async () => {
  const place = placeOn(server.url)
  const stores = await Promise.all(Array.from({ length: 6 }, () => place.open()))
  const began = await Promise.all(stores.map(store => store.readAt(1)))
  expect(new Set(began.map(event => JSON.stringify(event))).size).toBe(1)
  await Promise.all(stores.map((store, i) => store.append(appendOf(`bench-${i}`, 'none'))))
  expect((await stores[0]?.read({}))?.map(({ position }) => position)).toEqual([1, 2, 3, 4, 5, 6, 7])
  for (const store of stores) await store.close()
})

test('a process that stands still while it holds the lock holds up the others for a second, and records nothing', async () => {
  schemas += 1
  const address = withSchema(server.url, `faults_${schemas}`)
  const place = new Place(async () => openPostgres(await locatePostgres(address)))
  const store = closeAtEnd(await place.open())
  const script = `
    import { locatePostgres, openPostgres } from './src/store/database/postgres.ts'
    const connection = await openPostgres(await locatePostgres(process.argv[1]))
    function* standStill() {
      yield { sql: "update head set views = 'forged'", parameters: [] }
      console.log('holding')
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000)
      yield { sql: 'select 1', parameters: [] }
    }
    await connection.transact(standStill).catch(error => console.log(error.code))
    await connection.close()`
  const still = spawn(process.execPath, ['--input-type=module', '-e', script, address], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: still.stdout })[Symbol.asyncIterator]()
  expect((await lines.next()).value).toBe('holding')
  const began = performance.now()
  expect(await store.append(appendOf('bench-a', 'none'))).toMatchObject({ status: 'appended' })
  expect(performance.now() - began).toBeLessThan(2_500)
  expect((await lines.next()).value).toBe('STORE_BUSY')
  const head = { sql: 'select views from head', parameters: [] }
  expect(await store.database.read(() => first(head))).toEqual({ views: '' })
})

test('a process that closes while a commit is looked up does not say that it was not made', async () => {
  const schema = 'closing'
  await (await new Place(async () => openPostgres(await locatePostgres(withSchema(server.url, schema)))).open()).close()
  const { pool, closePool } = await locatePostgres(server.url)
  const other = await pool.connect()
  let isLost = false
  /** The commit is made, its answer is lost, and another process takes the lock that the look-up waits for. */
  const query = async (client: PostgresClient, asked: PostgresQuery) => {
    const answer = await client.query(asked)
    if (!isLost || asked.text !== 'commit') return answer
    await other.query({ text: `begin; select 1 from ${schema}.head for update` })
    isLost = false
    throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  }
  const losing = {
    options: { pipeline: true },
    connect: async () => {
      const client = await pool.connect()
      const bound = { on: client.on.bind(client), off: client.off.bind(client), release: client.release.bind(client) }
      return { ...bound, query: (asked: PostgresQuery) => query(client, asked) }
    },
  }
  const connection = new PostgresConnection(losing, schema, async () => undefined)
  const write = () => rows({ sql: 'update head set fence = fence + 1 returning fence', parameters: [] })
  // The first one reads afterwards whether there is a head.
  for (let n = 0; n < 2; n++) await connection.transact(write)
  isLost = true
  const failed = connection.transact(write).catch(error => error)
  await expect.poll(() => isLost).toBe(false)
  await connection.close()
  await other.query({ text: 'rollback' })
  expect(await failed).toMatchObject({ code: 'STORE_UNSAFE', message: expect.stringContaining('was not answered') })
  other.release(true)
  await closePool()
})
