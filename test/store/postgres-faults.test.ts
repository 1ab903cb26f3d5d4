import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, test, vi } from 'vitest'
import { openAverba } from '../../src/index.ts'
import { rows } from '../../src/store/database/connection.ts'
import { PoolWatch } from '../../src/store/database/pool-watch.ts'
import { locatePostgres, openPostgres } from '../../src/store/database/postgres.ts'
import { PostgresConnection } from '../../src/store/database/postgres-connection.ts'
import { openPostgresReading } from '../../src/store/database/postgres-reading.ts'
import { endOfLog } from '../../src/store/log/read.ts'
import { closeAtEnd } from '../support/close-at-end.ts'
import { CuttingProxy } from '../support/cutting-proxy.ts'
import { PostgresServer, withSchema } from '../support/postgres-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { appendOf } from './append-of.ts'
import { aheadBy, openSession, placeAt, poolWith } from './postgres-places.ts'

const server = await PostgresServer.start()
afterAll(() => server.close())
let schemas = 0
const newAddress = () => withSchema(server.url, `faults_${++schemas}`)

test('nothing acknowledged is lost when the server crashes, and the log goes on when it is back', async () => {
  const address = newAddress()
  const store = await placeAt(address).open()
  const reading = await openPostgresReading(await locatePostgres(address))
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
  await expect(reading.read(endOfLog)).rejects.toMatchObject({ code: 'STORE_BUSY' })
  await reading.close()
  await appending
  const streams = (await store.read({ after: 1, limit: 10_000 })).map(({ stream }) => stream)
  expect(streams).toEqual(expect.arrayContaining(acknowledged))
  const [last] = await store.read({ backward: true, limit: 1 })
  expect(last?.position).toBe(streams.length + 1)
})

test('a server that may lose commits is refused, and so is one that is not there', async () => {
  const open = async (url: string, schema = 'refused') => openPostgres(await locatePostgres(withSchema(url, schema)))
  const careless = `${server.url}&options=${encodeURIComponent('-c synchronous_commit=off')}`
  const unsafe = { code: 'STORE_UNSAFE', message: expect.stringContaining('synchronous_commit is off') }
  await expect(open(careless)).rejects.toMatchObject(unsafe)
  const secret = 'postgres://somebody:palavra-secreta@localhost/postgres?host=/nowhere'
  const error = await open(secret).catch(thrown => thrown)
  expect(error).toMatchObject({ code: 'STORE_BUSY', message: expect.stringContaining('the schema "refused"') })
  expect(`${error.stack} ${error.cause.stack}`).not.toContain('palavra-secreta')
  const { query } = await openSession(server.url)
  await query('create role limited login; create schema locked')
  await query("create database narrow encoding 'LATIN1' template template0 lc_collate 'C' lc_ctype 'C'")
  const as = (user: string) => server.url.replace('user=postgres', `user=${user}`)
  for (const [url, schema, why] of [
    [as('nobody'), 'refused', '28000'],
    [server.url.replace('/postgres?', '/nowhere?'), 'refused', ''],
    [as('limited'), 'locked', 'this user may not use it'],
    [server.url, 'x; drop', ''],
    [server.url.replace('/postgres?', '/narrow?'), 'refused', 'LATIN1'],
  ] as const) {
    const misconfigured = { code: 'MISCONFIGURED', message: expect.stringContaining(why) }
    await expect(open(url, schema)).rejects.toMatchObject(misconfigured)
  }
})

test('many processes that open an empty schema at once make one log', async () => {
  const place = placeAt(newAddress())
  const stores = await Promise.all(Array.from({ length: 6 }, () => place.open()))
  const began = await Promise.all(stores.map(store => store.readAt(1)))
  expect(new Set(began.map(event => JSON.stringify(event))).size).toBe(1)
  await Promise.all(stores.map((store, i) => store.append(appendOf(`bench-${i}`, 'none'))))
  expect((await stores[0]?.read({}))?.map(({ position }) => position)).toEqual([1, 2, 3, 4, 5, 6, 7])
})

test('a process that stands still while it holds the lock holds up the others for a second, and records nothing', async () => {
  const address = newAddress()
  const store = await placeAt(address).open()
  const script = `
    import { readSync } from 'node:fs'
    import { locatePostgres, openPostgres } from './src/store/database/postgres.ts'
    const connection = await openPostgres(await locatePostgres(process.argv[1]))
    function* standStill() {
      yield { sql: "update head set views = 'forged'", parameters: [] }
      console.log('holding')
      readSync(0, Buffer.alloc(1))
      yield { sql: 'select 1', parameters: [] }
    }
    await connection.transact(standStill).catch(error => console.log(error.code))
    await connection.close()`
  const still = spawn(process.execPath, ['--input-type=module', '-e', script, address], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: still.stdout })[Symbol.asyncIterator]()
  expect((await lines.next()).value).toBe('holding')
  const began = performance.now()
  expect(await store.append(appendOf('bench-a', 'none'))).toMatchObject({ status: 'appended' })
  expect(performance.now() - began).toBeLessThan(10_000)
  still.stdin.end('x')
  expect((await lines.next()).value).toBe('STORE_BUSY')
  const { query } = await openSession(address)
  expect(await query('select views from head')).toEqual([{ views: '' }])
})

/** Makes a commit whose answer is lost. Another process takes the lock then, or the server goes away. */
async function givenLostAnswer(then: 'isLocked' | 'isAway') {
  const address = newAddress()
  await (await placeAt(address).open()).close()
  const other = await openSession(address)
  const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  const state = { isLost: false, isWritten: false, isAway: false, tries: 0 }
  const pool = await poolWith(address, async (client, asked) => {
    const answer = await client.query(asked)
    if (state.isLost && asked.text.startsWith('update head')) state.isWritten = true
    if (!state.isWritten || asked.text !== 'commit') return answer
    if (then === 'isLocked') await other.query('begin; select 1 from head for update')
    Object.assign(state, { isLost: false, isWritten: false, isAway: then === 'isAway' })
    throw reset
  })
  const connect = async () => {
    state.tries += 1
    if (state.isAway) throw reset
    return pool.connect()
  }
  const connection = new PostgresConnection({ ...pool, connect }, other.schema, async () => undefined)
  const write = () => rows({ sql: 'update head set fence = fence + 1 returning fence', parameters: [] })
  // The first one reads afterwards whether there is a head.
  for (let n = 0; n < 2; n++) await connection.transact(write)
  state.isLost = true
  const written = connection.transact(write).catch(error => error)
  await expect.poll(() => state.isLost).toBe(false)
  return { connection, other, written, state }
}

test('a process that closes while a commit is looked up does not say that it was not made', async () => {
  const { connection, other, written } = await givenLostAnswer('isLocked')
  await connection.close()
  await other.query('rollback')
  expect(await written).toMatchObject({ code: 'STORE_UNSAFE', message: expect.stringContaining('was not answered') })
})

test('what became of a commit is asked for as long as the server is away', async () => {
  const { written, state } = await givenLostAnswer('isAway')
  const tries = state.tries + 2
  await aheadBy(60 * 60_000, () => expect.poll(() => state.tries).toBeGreaterThan(tries))
  state.isAway = false
  expect(await written).toEqual([{ fence: 3 }])
})

test('a process closes in time when the server says nothing any more', async () => {
  const proxy = closeAtEnd(await CuttingProxy.start(server.folder))
  const keyring = join(temporaryFolder(), 'averba.keys')
  const averba = await openAverba({ store: withSchema(proxy.url, 'silent'), keyring, schedules: false })
  averba.log.follow('mail', ['subject.enrolled'], async () => undefined)
  await averba.consents.enrol({ cpf: '52998224725' })
  await averba.settle()
  proxy.isSilent = true
  const began = performance.now()
  await averba.close()
  expect(performance.now() - began).toBeLessThan(20_000)
})

test('a process that closes does not wait until it may listen', async () => {
  const [query, release] = [vi.fn(() => new Promise<never>(() => undefined)), vi.fn()]
  const watch = PoolWatch.of({ connect: async () => ({ query, release, on: vi.fn(), off: vi.fn() }) })
  const stop = watch.add({ schema: 's', channel: 'c', writer: 'w', onWake: () => undefined })
  await expect.poll(() => query.mock.calls).toEqual([[{ text: 'listen c', query_timeout: 2_000 }]])
  stop()
  await expect.poll(() => release.mock.calls).toEqual([[true]])
})
