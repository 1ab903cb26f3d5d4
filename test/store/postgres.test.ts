import { execFile } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CompiledQuery, sql } from 'kysely'
import pg from 'pg'
import { afterAll, describe, expect, test, vi } from 'vitest'
import {
  type AverbaOptions,
  backupStore,
  diagnoseStore,
  examine,
  type LogLine,
  openAverba,
  proveRecorded,
  rebuildStore,
  replayLog,
  resumeStore,
  staticHeaders,
  valueOf,
  verifyLog,
} from '../../src/index.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { type CrashPoint, seededEntropy, simulate, VirtualClock } from '../../src/simulation/index.ts'
import { createSimulators, credentials, samples } from '../../src/simulation/services/create-simulators.ts'
import {
  type Connection,
  type DatabaseRequest,
  first,
  type Steps,
  withChanges,
} from '../../src/store/database/connection.ts'
import { locatePostgres, openPostgres } from '../../src/store/database/postgres.ts'
import { PostgresConnection } from '../../src/store/database/postgres-connection.ts'
import { insertFromArrays } from '../../src/store/database/postgres-inserts.ts'
import type { PostgresClient, PostgresQuery } from '../../src/store/database/postgres-pool.ts'
import { openPostgresReading } from '../../src/store/database/postgres-reading.ts'
import { PostgresSession } from '../../src/store/database/postgres-session.ts'
import { checkIdle } from '../../src/store/files/copy-log.ts'
import { Leasing } from '../../src/store/ledger/lease.ts'
import { LeaseKeeper } from '../../src/store/ledger/lease-keeper.ts'
import { endOfLog } from '../../src/store/log/read.ts'
import { keyringPlace } from '../../src/store/opening.ts'
import { openViews } from '../../src/store/views/views-handle.ts'
import { type Views, views } from '../../src/views/views.ts'
import { PostgresSchemas } from '../support/postgres-schemas.ts'
import { folderInPackage, temporaryFolder } from '../support/temporary-folder.ts'
import { appendOf, at } from './append-of.ts'
import { append, counting } from './conformance/counting.ts'
import { storeConformance } from './conformance/index.ts'
import { Place } from './conformance/place.ts'
import { checkAgainstModel } from './model-log.ts'

const postgres = await PostgresSchemas.start()
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
  const handle = openViews<Views>(store.database)
  expect(await handle.selectFrom('subjects').select(['subject', 'enrolled_at']).execute()).toEqual([
    { subject: 'a', enrolled_at: at },
  ])
  const newest = handle.selectFrom('subjects').select(eb => eb.fn.max('synced_at').as('at'))
  expect(await newest.execute()).toEqual([{ at: null }])
})

const evento = 'dimp-situacao-import'

/** Opens an engine with simulated services. It can be reopened on the same log. */
async function openWorld(
  clock: Clock = new VirtualClock(),
  store = postgres.newAddress(),
  more: Partial<AverbaOptions> = {},
) {
  const keyring = join(temporaryFolder(), 'averba.keys')
  const services = createSimulators({
    clock,
    entropy: seededEntropy(1, 'services '),
    deliver: request => averba.receiver.fetch(request, { remoteAddress: '161.148.0.1' }),
  })
  const { reach } = services
  const hosts: Record<string, (request: Request) => Promise<Response>> = {
    'consentimento.exemplo.br': request => reach.consentService(request, { clientName: 'gestora-de-exemplo' }),
    'gateway.exemplo.br': request => reach.tokenService(request),
    'validacao.exemplo.br': request => reach.validationService(request),
    'portal.exemplo.br': request => reach.portal(request),
  }
  const { consumerKey, consumerSecret, service, portalHeaders } = credentials
  const options: AverbaOptions = {
    ...{ store, keyring, clock, schedules: false },
    fetch: async request => {
      const reached = hosts[new URL(request.url).hostname]?.(request)
      return reached ?? new Response('', { status: 404 })
    },
    consentService: {
      baseUrl: 'https://consentimento.exemplo.br',
      requestsPerSecond: 1_000,
      certificate: { cert: '', key: '' },
    },
    tokenService: { url: 'https://gateway.exemplo.br/token', consumerKey, consumerSecret },
    validationService: { baseUrl: 'https://validacao.exemplo.br', service },
    portal: { baseUrl: 'https://portal.exemplo.br', authenticate: staticHeaders(portalHeaders) },
    receiver: { publicUrl: 'https://receptor.exemplo.br/averba' },
    subscriptions: [{ evento, chaveSecreta: 'chave-um' }],
    ...more,
  }
  const open = () => openAverba(options)
  let averba = await open()
  return {
    ...{ services, clock, options, open },
    get averba() {
      return averba
    },
    async reopen() {
      await averba.close()
      averba = await open()
    },
  }
}

test('the engine works on it with the least rights, reopens with its data and erases a person', async () => {
  const addresses = await postgres.newGranted()
  const world = await openWorld(undefined, addresses.process)
  const { services } = world
  const subject = await world.averba.consents.enrol({ cpf: samples.cpf })
  expect(valueOf(await world.averba.consents.sync({ subject })).read).toBe(4)
  const claims = { nome: 'X' }
  const validated = await world.averba.validations.validate({ id: 'v1', cpf: samples.cpf, claims })
  expect(validated.status).toBe('settled')
  await world.averba.subscriptions.apply(await world.averba.subscriptions.plan())
  const handled: string[] = []
  world.averba.notifications.handle(evento, 'crm', async ({ id }) => void handled.push(id))
  const person = { destinatarioTipo: 'CPF', destinatarioId: samples.cpf } as const
  await services.portal.notify({ evento, ...person, body: { numero: '26BR1' } })
  await world.averba.settle()
  expect(handled).toHaveLength(1)

  await world.reopen()
  const { averba } = world
  const consents = await averba.views.selectFrom('consents').select('status').execute()
  expect(consents.map(({ status }) => status).sort()).toEqual(['ATIVO', 'ATIVO', 'PENDENTE', 'PENDENTE'])
  expect((await averba.health()).checks.filter(each => !each.ok)).toEqual([])
  expect((await averba.rebuild()).map(each => each.differences)).toEqual(views.map(() => 0))
  expect(await averba.viewAsOf('consents', { position: 3 })).toEqual([])
  const request = { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' }
  const receipt = await averba.subjects.erase({ subject }, request)
  expect(receipt).toBeDefined()
  await expect(averba.consents.sync({ subject })).rejects.toMatchObject({ code: 'SUBJECT_ERASED' })
  const positions = await Array.fromAsync(averba.log.read(), ({ position }) => position)
  expect(positions).toEqual(positions.map((_, i) => i + 1))
  expect((await averba.figures()).position).toBe(positions.length)
  await averba.close()

  const { pool, schema, closePool } = await locatePostgres(addresses.process)
  const change = (text: string) => pool.connect().then(client => client.query({ text }).finally(() => client.release()))
  const forbidden = [
    `update ${schema}.event set header = header`,
    `delete from ${schema}.event`,
    `truncate ${schema}.event`,
    `drop table ${schema}.event`,
    `create trigger changed before insert on ${schema}.event execute function suppress_redundant_updates_trigger()`,
  ]
  for (const text of forbidden) await expect(change(text)).rejects.toMatchObject({ code: '42501' })
  await closePool()
  const { keyring = '' } = world.options
  const read = { store: addresses.reader, keyring }
  expect(await verifyLog(read)).toMatchObject({ faults: [], events: positions.length })
  await expect(openAverba(read)).rejects.toMatchObject({ code: 'STORE_UNSAFE' })
})

test('two engines share a log: each command runs once, and a person that one erases is erased for the other', async () => {
  const world = await openWorld(systemClock)
  const { averba, services } = world
  const other = await world.open()
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  expect(await other.consents.enrol({ cpf: samples.cpf })).toBe(subject)
  const claims = { nome: 'X' }
  const both = [averba, other].map(each => each.validations.validate({ id: 'v1', cpf: samples.cpf, claims }))
  const validated = await Promise.all(both)
  expect(validated.map(({ status }) => status)).toEqual(['settled', 'settled'])
  expect(services.validationService.answered).toBe(1)
  await averba.subjects.erase({ subject }, { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' })
  await averba.settle()
  await expect(other.consents.sync({ subject })).rejects.toMatchObject({ code: 'SUBJECT_ERASED' })
  const again = await other.consents.enrol({ cpf: '25774435016' })
  expect(await averba.consents.list({ subject: again })).toHaveLength(4)
  expect((await other.health()).checks.filter(each => !each.ok)).toEqual([])
  await other.close()
  await averba.close()
})

test('the auditor gets from a server what a file gives: a verdict, a bundle, proofs, a replay and a diagnosis', async () => {
  const world = await openWorld()
  const { averba, options, services } = world
  const { keyring } = options
  const log = { store: options.store, ...(keyring !== undefined && { keyring }) }
  const [kept, gone] = [
    await averba.consents.enrol({ cpf: samples.cpf }),
    await averba.consents.enrol({ cpf: '25774435016' }),
  ]
  for (const subject of [kept, gone]) valueOf(await averba.consents.sync({ subject }))
  await averba.validations.validate({ id: 'v1', cpf: samples.cpf, claims: { nome: 'X' } })
  await averba.subscriptions.apply(await averba.subscriptions.plan())
  const person = { destinatarioTipo: 'CPF', destinatarioId: samples.cpf } as const
  await services.portal.notify({ evento, ...person, body: { numero: '26BR1' } })
  await averba.settle()
  await averba.subjects.erase({ subject: gone }, { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' })
  await averba.settle()
  const mark = await averba.audit.checkpoint()

  // While the engine runs.
  const verdict = await averba.audit.verify({ mark })
  expect(verdict).toMatchObject({ level: 'held', faults: [] })
  expect(verdict.erasedParts).toBeGreaterThan(0)
  const dir = join(temporaryFolder(), 'bundle')
  const { events, parts } = await averba.audit.export(dir)
  expect(await verifyLog({ store: dir })).toMatchObject({ events, parts, faults: [] })
  expect(await replayLog(log)).toMatchObject({ position: events, otherVersions: 0 })
  expect(await replayLog(log)).not.toHaveProperty('divergence')
  await averba.close()

  expect(await verifyLog(log)).toMatchObject({ level: 'self-consistent', events, faults: [] })
  expect(await proveRecorded({ ...log, event: 2 })).toContain('c2sp.org/tlog-proof@v1')
  expect((await rebuildStore(log)).map(each => each.differences)).toEqual(views.map(() => 0))
  const deep = await diagnoseStore({ ...log, isDeep: true })
  expect(deep).toMatchObject({ problems: [], position: events, walBytes: 0, settings: { fsync: 'on' } })
  expect(deep.checked).toMatchObject({ events, parts })
  expect(deep.bytesPerEvent).toBeGreaterThan(0)
  expect(JSON.stringify(deep)).not.toContain('postgres://')
})

test('what somebody changes on the server is found, and a trigger too', async () => {
  const world = await openWorld()
  const { averba, options } = world
  const log = { store: options.store, ...(options.keyring !== undefined && { keyring: options.keyring }) }
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await averba.consents.sync({ subject }))
  await averba.close()
  const faultsOf = async () => {
    const { faults } = await verifyLog(log)
    return faults.map(({ check, examples }) => `${check}: ${examples[0]}`)
  }
  const change = async (sql: string) => {
    const { pool, schema, closePool } = await locatePostgres(options.store)
    const client = await pool.connect()
    await client.query({ text: `set search_path to ${schema}` })
    await client.query({ text: sql })
    client.release(true)
    await closePool()
  }
  expect(await faultsOf()).toEqual([])
  await change(`create function keep() returns trigger language plpgsql as 'begin return null; end';
    create trigger keeper before update on effect for each row execute function keep()`)
  expect(await faultsOf()).toEqual([
    'schema: the log cannot be opened: its table "effect" has a foreign trigger "keeper"',
  ])
  await expect(world.reopen()).rejects.toMatchObject({ code: 'CORRUPT' })
  await change('drop trigger keeper on effect; alter table receipt drop constraint receipt_pkey')
  expect(await faultsOf()).toEqual(['schema: the log cannot be opened: its table "receipt" has no primary key'])
  await change(`alter table receipt add primary key (command_id); create table "Of the host" (n integer);
    create table gone_next (n integer)`)
  expect(await faultsOf()).toEqual([])
  await change(`update consents set status = 'ATIVO' where status = 'PENDENTE';
    update effect set state = 'pending', is_open = 1 where state = 'settled';
    delete from keyed_index where kind = 'cpf'`)
  const faults = await faultsOf()
  expect(faults.map(each => each.split(':')[0]).sort()).toEqual(['effects', 'index', 'views'])
  await change(`update event set header = replace(header, 'subject.enrolled', 'subject.enrolled ') where position = 2`)
  expect(await faultsOf()).toContainEqual(expect.stringContaining('leaves: the leaf at 2'))
})

/** Sets the clock of this machine ahead while something is done. */
async function aheadBy<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const now = Date.now.bind(Date)
  const ahead = vi.spyOn(Date, 'now').mockImplementation(() => now() + ms)
  return work().finally(() => ahead.mockRestore())
}

test('leases follow the time of the server: a machine whose clock is minutes ahead takes nothing over', async () => {
  const address = postgres.newAddress()
  const place = new Place(async () => openPostgres(await locatePostgres(address)))
  const [one, other] = [await place.open(), await place.open()]
  const now = Date.now()
  const effects = [{ type: 'tokenService.requestToken', data: {} }]
  await one.append(appendOf('token-a', 'none', [{ effects }], { at: new Date(now).toISOString() }))
  const id = 'token-a/1/0'
  const takeAll = async (store: typeof one) => [
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
    expect(free).toBeGreaterThan(5_000)
    expect(free).toBeLessThanOrEqual(10_000)
    expect(await one.extendLease({ id, attempts: 1 })).toBeGreaterThan(5_000)
    await using reading = await openPostgresReading(await locatePostgres(address))
    const checking = reading.read(() => checkIdle(reading.dialect, new Date().toISOString()))
    await expect(checking).rejects.toMatchObject({ code: 'STORE_BUSY' })
  })
  await Promise.all([one.close(), other.close()])
})

test('a process hears of what others commit, and again after it lost the connection for that', async () => {
  const schema = postgres.newSchema()
  const place = new Place(schema)
  const [one, other] = [await place.open(), await place.open()]
  await other.watch()
  let appended = 0
  /** Appends until the other one is woken. */
  const expectWake = async () => {
    const { count: before } = other.changes
    const append = async () => {
      await one.append(appendOf(`token-${++appended}`, 'none', [{ type: 'token.rejected', data: {} }]))
      return other.changes.count
    }
    await expect.poll(append, { timeout: 20_000 }).toBeGreaterThan(before)
  }
  await expectWake()
  const { pool, closePool } = await locatePostgres(postgres.url)
  const client = await pool.connect()
  const ended = await client.query({
    text: `select pg_terminate_backend(pid)::int as done from pg_stat_activity where query like 'listen averba_%'`,
  })
  client.release()
  await closePool()
  expect(ended.rows).toContainEqual({ done: 1 })
  // The loss itself is one wake: what was missed meanwhile.
  await expect.poll(() => other.changes.count).toBeGreaterThan(1)
  await expectWake()
  await Promise.all([one.close(), other.close()])
})

test('a log that its server put back is refused by its mark, and continues with a record of it', async () => {
  const { averba: first, options } = await openWorld()
  await first.close()
  const kept: { mark?: string } = {}
  const highWaterMark = {
    read: async () => kept.mark,
    write: async (mark: string) => {
      kept.mark = mark
    },
  }
  const place = { ...options, highWaterMark }
  const { pool, schema, closePool } = await locatePostgres(options.store)
  const client = await pool.connect()
  const { rows } = await client.query({
    text: `select tablename as name from pg_tables where schemaname = '${schema}'`,
  })
  const tables = (rows as { name: string }[]).map(({ name }) => name)
  const run = (write: (table: string) => string) => client.query({ text: tables.map(write).join('; ') })
  await run(table => `create table public.${schema}_${table} as table ${schema}.${table}`)
  const later = await openAverba(place)
  await later.consents.enrol({ cpf: samples.cpf })
  await later.close()
  await run(table => `truncate ${schema}.${table}; insert into ${schema}.${table} table public.${schema}_${table}`)
  await run(table => `drop table public.${schema}_${table}`)
  client.release()
  await closePool()

  await expect(openAverba(place)).rejects.toMatchObject({
    code: 'ROLLED_BACK',
    hint: expect.stringContaining('averba resume'),
  })
  const { keyring = '', store } = options
  const { problems } = await diagnoseStore({ store, keyring, highWaterMark })
  expect(problems).toEqual([expect.stringMatching(/^keys: it has 1/), expect.stringMatching(/^mark: the log cannot/)])
  const resumed = await resumeStore({ store, keyring, highWaterMark })
  expect(resumed).toMatchObject({ resumedAs: expect.stringMatching(/^log_/), lostEvents: 1 })
  const averba = await openAverba(place)
  const records = await Array.fromAsync(averba.log.read({ types: ['log.resumed'] }))
  expect(records).toMatchObject([{ data: { lost: {} } }])
  await averba.close()
})

test('a simulated world on a server crashes, restarts, and is the same again', async () => {
  const live = async () => {
    const keyring = join(temporaryFolder(), 'averba.keys')
    const fatal = new Set<string>()
    const crashAt = ({ at }: CrashPoint) => fatal.delete(at)
    const world = await simulate({ store: postgres.newAddress(), averba: { keyring }, crashAt })
    for (const at of ['beforeWrite', 'afterWrite', 'beforeRequest', 'afterRequest']) {
      fatal.add(at)
      const subject = world.averba.consents.enrol({ cpf: samples.cpf })
      void subject.then(id => world.averba.consents.sync({ subject: id }))
      await world.clock.runUntil(() => world.isDown)
      await world.restart()
    }
    await world.clock.finish(world.averba.settle())
    return world.digest().finally(() => world.close())
  }
  expect(await live()).toBe(await live())
})

test('many logs share a small pool: one connection listens, and one look a second reads all heads', async () => {
  const pool = new pg.Pool({ connectionString: postgres.url, pipeline: true, max: 4 })
  const looks: string[] = []
  const connect = async (): Promise<PostgresClient> => {
    const client = await pool.connect()
    return {
      query(query) {
        if (/\.head\b.* union all /s.test(query.text)) looks.push(query.text)
        return client.query(query)
      },
      on: client.on.bind(client),
      off: client.off.bind(client),
      release: isBroken => client.release(isBroken),
    }
  }
  const shared = { connect, options: { max: 4, pipeline: true } }
  const addresses = Array.from({ length: 8 }, () => postgres.newAddress())
  const places = addresses.map(address => new Place(async () => openPostgres(await locatePostgres(address, shared))))
  const stores = await Promise.all(places.map(place => place.open()))
  await Promise.all(stores.map(store => store.watch()))
  const counts = () => stores.map(store => store.changes.count)
  await expect.poll(() => looks.length, { timeout: 10_000 }).toBe(2)
  expect(looks[0]?.split(' union all ')).toHaveLength(8)
  const before = counts()
  // Nobody tells of what is written by hand.
  const { schema } = await locatePostgres(addresses[7] ?? '', shared)
  await pool.query(`update ${schema}.head set fence = fence + 1`)
  await expect.poll(counts, { timeout: 10_000 }).not.toEqual(before)
  expect(counts().slice(0, 7)).toEqual(before.slice(0, 7))
  expect(pool.totalCount).toBeLessThanOrEqual(4)
  // One that is gone does not hide the others.
  await pool.query(`drop schema ${schema} cascade`)
  const { schema: another } = await locatePostgres(addresses[0] ?? '', shared)
  await pool.query(`update ${another}.head set fence = fence + 1`)
  await expect.poll(() => counts()[0], { timeout: 10_000 }).toBe((before[0] ?? 0) + 1)
  expect(counts().slice(1, 7)).toEqual(before.slice(1, 7))
  for (const store of stores) await store.close()
  await pool.end()
})

test('a report that reads a table for long holds up no append, and a rebuild waits for it', async () => {
  const address = postgres.newAddress()
  const place = new Place(async () => openPostgres(await locatePostgres(address)))
  const store = await place.open({ views: [counting('counted')] })
  await append(store, 3)
  const { pool, schema, closePool } = await locatePostgres(address)
  const report = await pool.connect()
  await report.query({ text: `begin; select * from ${schema}.counted` })
  let isRebuilt = false
  const rebuilding = store.rebuild().then(rebuilt => {
    isRebuilt = true
    return rebuilt
  })
  let slowestMs = 0
  // Until the rebuild has tried: appends wait behind it as long as it may wait for the table.
  for (let n = 0; slowestMs < 200; n++) {
    const from = performance.now()
    await store.append(appendOf(`other-${n}`, 'none', [{ type: 'token.rejected', data: {} }]))
    slowestMs = Math.max(slowestMs, performance.now() - from)
  }
  expect(isRebuilt).toBe(false)
  expect(slowestMs).toBeLessThan(5_000)
  await report.query({ text: 'rollback' })
  report.release()
  await closePool()
  expect(await rebuilding).toMatchObject([{ differences: 0 }])
  await store.close()
})

test('a reading that began before a rebuild put its table in place finds the rows of the new one', async () => {
  const address = postgres.newAddress()
  const store = await new Place(async () => openPostgres(await locatePostgres(address))).open({
    views: [counting('counted')],
  })
  await append(store, 3)
  const { pool, schema, closePool } = await locatePostgres(address)
  const client = await pool.connect()
  const all = CompiledQuery.raw('select count(*) as rows from counted')
  const name = `${schema}.counted`
  // As a rebuild does: what it wrote with the swap is in no older snapshot.
  const swap = `create table ${name}_next (like ${name} including all); insert into ${name}_next select * from ${name};
    drop table ${name}; alter table ${name}_next rename to counted`
  const waiting = `select count(*)::int as n from pg_locks where not granted and mode = 'AccessShareLock'`
  for (const [read, found] of [
    [() => store.viewReader.find('counted', 'bench-0', 'bench-0'), { n: 1 }],
    [async () => (await store.viewReader.readOnly(all))[0], { rows: 3 }],
  ] as const) {
    await client.query({ text: `begin; ${swap}` })
    const reading = read()
    await expect.poll(async () => (await client.query({ text: waiting })).rows).toEqual([{ n: 1 }])
    await client.query({ text: 'commit' })
    expect(await reading).toMatchObject(found)
  }
  // The repetition finds the view stopped, and says so.
  await client.query({ text: `begin; ${swap}; update ${schema}.head set views = ''` })
  const repeated = expect(store.viewReader.readOnly(all)).rejects.toMatchObject({ code: 'VIEW_STOPPED' })
  await expect.poll(async () => (await client.query({ text: waiting })).rows).toEqual([{ n: 1 }])
  await client.query({ text: 'commit' })
  await repeated
  client.release(true)
  await Promise.all([closePool(), store.close()])
})

test('a process forgets the rows that it knows of a view when another one rebuilds it', async () => {
  const address = postgres.newAddress()
  const place = new Place(async () => openPostgres(await locatePostgres(address)))
  const views = [counting('counted')]
  const one = await place.open({ views })
  await append(one, 1)
  const { pool, schema, closePool } = await locatePostgres(address)
  const client = await pool.connect()
  await client.query({ text: `update ${schema}.counted set n = 90` })
  client.release()
  await closePool()
  const other = await place.open({ views })
  // It reads the wrong row, and keeps it.
  await append(other, 1)
  expect(await one.rebuild()).toMatchObject([{ differences: 1 }])
  await append(other, 1)
  const handle = openViews<{ counted: { stream: string; n: number } }>(other.viewReader)
  expect(await handle.selectFrom('counted').selectAll().execute()).toEqual([{ stream: 'bench-0', n: 3 }])
  await Promise.all([one.close(), other.close()])
})

test('a machine whose clock is wrong says so, and from half a minute on takes no new work', async () => {
  const { averba } = await openWorld(systemClock)
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const followed: number[] = []
  averba.log.follow('mail', ['subject.enrolled'], async ({ position }) => void followed.push(position))
  const problems = async () => (await averba.health()).checks.filter(({ ok }) => !ok).map(({ name }) => name)
  expect(await problems()).toEqual([])
  await aheadBy(5_000, async () => {
    expect(await problems()).toEqual(['times'])
    await averba.consents.enrol({ cpf: '25774435016' })
  })
  await aheadBy(300_000, async () => {
    expect(await averba.health()).toMatchObject({
      ready: false,
      reasons: [expect.stringContaining('the clock of this machine is 300 s ahead of')],
    })
    await expect(averba.consents.sync({ subject })).rejects.toMatchObject({ code: 'STORE_UNSAFE' })
    await averba.settle()
    expect(followed).toEqual([])
  })
  await averba.settle()
  expect(followed).toHaveLength(1)
  expect(valueOf(await averba.consents.sync({ subject })).read).toBe(4)
  await averba.close()
})

test('a schema that a statement outside of its transaction would find is refused', async () => {
  const { pool, closePool } = await locatePostgres(postgres.url)
  const client = await pool.connect()
  await client.query({ text: `create role fleet_user superuser login; create schema fleet_user` })
  client.release()
  await closePool()
  const own = `${postgres.url.replace('user=postgres', 'user=fleet_user')}&schema=fleet_user`
  const refused = { code: 'MISCONFIGURED', message: expect.stringContaining('is in the search path of this user') }
  await expect(openPostgres(await locatePostgres(own))).rejects.toMatchObject(refused)
  await expect(openPostgres(await locatePostgres(`${postgres.url}&schema=public`))).rejects.toMatchObject(refused)
})

test('a role whose transactions are read-only by default verifies a log', async () => {
  const address = postgres.newAddress()
  const keyring = join(temporaryFolder(), 'keys')
  await (await openAverba({ store: address, keyring })).close()
  const { pool, closePool } = await locatePostgres(postgres.url)
  const client = await pool.connect()
  await client.query({
    text: 'create role looker superuser login; alter role looker set default_transaction_read_only = on',
  })
  client.release()
  await closePool()
  const { faults } = await verifyLog({ store: address.replace('user=postgres', 'user=looker'), keyring })
  expect(faults).toEqual([])
})

test('a schema may have a word of SQL as its name', async () => {
  const address = `${postgres.url}&schema=order`
  const store = await new Place(async () => openPostgres(await locatePostgres(address))).open()
  await store.append(appendOf('bench-a', 'none'))
  await store.database.rewrite()
  await store.close()
  await using reading = await openPostgresReading(await locatePostgres(address))
  expect(await reading.read(endOfLog)).toBe(2)
})

test('a schema with the tables of others is refused, and left as it is', async () => {
  const { pool, closePool } = await locatePostgres(postgres.url)
  const client = await pool.connect()
  await client.query({ text: 'create schema of_others; create table of_others.own (a int)' })
  const opened = openAverba({ store: `${postgres.url}&schema=of_others`, keyring: join(temporaryFolder(), 'keys') })
  await expect(opened).rejects.toMatchObject({ code: 'NOT_OURS', hint: expect.any(String) })
  const { rows } = await client.query({ text: `select tablename from pg_tables where schemaname = 'of_others'` })
  expect(rows).toEqual([{ tablename: 'own' }])
  client.release()
  await closePool()
})

test('a pool whose connections take one request at a time is refused', async () => {
  const pool = new pg.Pool({ connectionString: postgres.url })
  await expect(locatePostgres('postgres:?schema=s', pool)).rejects.toMatchObject({ code: 'MISCONFIGURED' })
  const asBytes = new pg.Pool({ connectionString: postgres.url, ...{ pipeline: true, binary: true } })
  await expect(locatePostgres('postgres:?schema=s', asBytes)).rejects.toMatchObject({ code: 'MISCONFIGURED' })
  await Promise.all([pool.end(), asBytes.end()])
})

test('an append whose transaction did not begin is not acknowledged', async () => {
  const place = new Place(postgres.newSchema())
  const store = await place.open()
  await store.append(appendOf('bench-a', 'none'))
  const real = PostgresSession.prototype.send
  const failing = vi.spyOn(PostgresSession.prototype, 'send').mockImplementation(function (
    this: PostgresSession,
    query,
  ) {
    const isBegin = query.text.startsWith('begin isolation level read committed')
    return real.call(this, isBegin ? { text: 'select refused by the server' } : query)
  })
  await expect(store.append(appendOf('bench-b', 'none'))).rejects.toThrow()
  failing.mockRestore()
  await store.append(appendOf('bench-c', 'none'))
  expect((await store.read({ after: 1 })).map(({ stream }) => stream)).toEqual(['bench-a', 'bench-c'])
  await store.close()
})

test('an item is marked as done in a transaction of the host: once, and not when that is undone', async () => {
  const { averba, options } = await openWorld()
  const { pool, closePool } = await locatePostgres(options.store)
  const [one, other] = [await pool.connect(), await pool.connect()]
  const query = (text: string) => one.query({ text })
  const mark = (client: typeof one) => averba.log.once(client, 'mail', 'subject-a/1')
  await expect(mark(one)).rejects.toMatchObject({ code: 'INVALID_INPUT', hint: expect.stringContaining('begin') })
  await query('begin')
  expect(await mark(one)).toBe(true)
  expect(await mark(one)).toBe(false)
  await query('rollback')
  await query('begin')
  expect(await mark(one)).toBe(true)
  await other.query({ text: 'begin' })
  // It waits for the first one.
  const second = mark(other)
  await query('commit')
  expect(await second).toBe(false)
  await other.query({ text: 'commit' })

  const refused = { code: 'INVALID_INPUT', hint: expect.stringContaining('in the database in which the log is') }
  const elsewhere = await locatePostgres(postgres.url.replace('/postgres?', '/template1?'))
  const stranger = await elsewhere.pool.connect()
  await stranger.query({ text: 'begin' })
  await expect(mark(stranger)).rejects.toMatchObject(refused)
  await expect(averba.log.once(one, 'mail', samples.cpf)).rejects.toMatchObject({ code: 'PERSONAL_ID' })
  for (const client of [one, other, stranger]) client.release(true)
  await Promise.all([closePool(), elsewhere.closePool(), averba.close()])
})

function* noting<T>(work: Steps<T>, requests: DatabaseRequest[]): Steps<T> {
  let step = work.next()
  while (!step.done) {
    requests.push(step.value)
    step = work.next(yield step.value)
  }
  return step.value
}

test('followers and leases do not wait for the lock of the log, and a renewal does not leave as a whole', async () => {
  const address = postgres.newAddress()
  const clock = new VirtualClock()
  const requests: DatabaseRequest[] = []
  const connect = async () => openPostgres(await locatePostgres(address))
  const store = await new Place(connect, connection =>
    withChanges(connection, {
      transact: (steps, locks) => connection.transact(() => noting(steps(), requests), locks),
    }),
  ).open({ clock })
  const { pool, schema, closePool } = await locatePostgres(address)
  const client = await pool.connect()
  await client.query({ text: `begin; select 1 from ${schema}.head for update` })
  const appending = store.append(appendOf('bench-a', 'none'))
  const follower = await store.followers.take('mail')
  expect(follower && (await store.followers.move(follower, 1))).toBe(true)
  await store.followers.release('mail')
  expect(await store.secrets.leases.take('login')).toBeDefined()
  await store.secrets.leases.release('login')
  // It waited meanwhile.
  expect(await store.lastVersion('bench-a')).toBe(0)
  await client.query({ text: 'commit' })
  expect(await appending).toMatchObject({ status: 'appended' })

  expect(await store.secrets.leases.take('login')).toBeDefined()
  const readEnd = async () => (await client.query({ text: `select until from ${schema}.lease` })).rows[0]
  const before = await readEnd()
  requests.length = 0
  const { promise: working, resolve: end } = Promise.withResolvers<void>()
  const kept = store.leaseKeeper.keep({ lease: 'login' }, () => working)
  await clock.advance(20_000)
  await expect.poll(readEnd).not.toEqual(before)
  // A renewal that awaits nothing could reach the server whole, long after its connection was lost.
  expect(requests.map(request => 'forEach' in request)).toEqual([false, true])
  end()
  await kept
  client.release(true)
  await Promise.all([closePool(), store.close()])
})

test('a process records nothing more once the server was replaced by one that lacks an event', async () => {
  const address = postgres.newAddress()
  const place = new Place(async () => openPostgres(await locatePostgres(address)))
  let mark: string | undefined
  const highWaterMark = {
    read: async () => mark,
    async write(text: string) {
      mark = text
    },
  }
  const [one, other] = [await place.open({ highWaterMark }), await place.open()]
  const { pool, schema, closePool } = await locatePostgres(address)
  const client = await pool.connect()
  const query = (text: string) => client.query({ text })
  await query(`set search_path to ${schema}`)
  await one.append(appendOf('s', 'none'))
  await other.append(appendOf('x', 'none'))
  // It was late once, and so reads the head first.
  await one.append(appendOf('s', 1))
  await query('create table before_head as select * from head; create table before_stream as select * from stream')
  await one.append(appendOf('s', 2))
  await one.checkpoint()
  const kept = mark
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
  client.release(true)
  await closePool()
  await Promise.all([one.close(), other.close()])
  expect(mark).toBe(kept)
})

test('a log is verified while a view is rebuilt, which waits for that, and damage in one place hides no other', async () => {
  const { averba, options } = await openWorld(systemClock)
  const log = { store: options.store, ...(options.keyring !== undefined && { keyring: options.keyring }) }
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await averba.consents.sync({ subject }))
  let rebuilding: Promise<unknown> | undefined
  const verdict = await verifyLog({
    ...log,
    onProgress: what => {
      if (what === 'log') rebuilding ??= averba.rebuild({ views: ['consents'] })
    },
  })
  expect(verdict.faults).toEqual([])
  expect(await rebuilding).toMatchObject([{ view: 'consents', differences: 0 }])
  await averba.close()
  const { pool, schema, closePool } = await locatePostgres(options.store)
  const client = await pool.connect()
  await client.query({ text: `drop table ${schema}.recent_digest; update ${schema}.consents set status = 'X'` })
  client.release()
  await closePool()
  const { faults } = await verifyLog(log)
  expect(faults.map(({ check }) => check).sort()).toEqual(['file', 'views'])
})

test('doctor reaches the server, and what needs a file says so without the address', async () => {
  const { averba, options, clock: _ } = await openWorld()
  const { checks } = await examine(options)
  expect(checks.find(({ name }) => name === 'store')).toEqual({ name: 'store', ok: true, detail: 'it holds 1 events' })
  const empty = await examine({ ...options, store: postgres.newAddress() })
  expect(empty.checks.find(({ name }) => name === 'store')?.detail).toContain('has no log in this schema yet')
  await averba.close()
  const store = options.store.replace('user=postgres', 'user=postgres&password=palavra-secreta')
  const refused = await backupStore({ store, to: '/nowhere' }).catch(error => error)
  expect(refused).toMatchObject({ code: 'INVALID_INPUT', message: expect.stringContaining('it needs a SQLite file') })
  expect(JSON.stringify(refused) + refused.message).not.toContain('palavra-secreta')
  const { keyring: __, ...without } = options
  await expect(openAverba(without)).rejects.toMatchObject({
    code: 'MISCONFIGURED',
    message: expect.stringContaining('Cannot use keyring'),
  })
  const deep = await examine(options, { isDeep: true })
  expect(deep.checks.filter(({ ok }) => !ok)).toEqual([])
  const keyring = join(temporaryFolder(), 'other.keys')
  await (await openAverba({ ...options, store: postgres.newAddress(), keyring })).close()
  const foreign = await examine({ ...options, keyring })
  expect(foreign.checks.find(({ name }) => name === 'keyring')?.detail).toContain('belongs to another log')
  const elsewhere = { ...options, store: postgres.newAddress() }
  await expect(openAverba(elsewhere)).rejects.toThrow('the log is missing, but its keyring is there')
  const { pool } = await locatePostgres(postgres.url)
  await expect(openAverba({ store: 'x.sqlite', pool })).rejects.toMatchObject({ code: 'MISCONFIGURED' })
  const own = await openAverba({
    ...options,
    store: `postgres:?${postgres.newAddress().split('?')[1]}`,
    pool,
    keyring: join(temporaryFolder(), 'own.keys'),
  })
  await own.close()
  await pool.connect().then(client => client.release())
  await expect(openAverba({ store: 'mysql://localhost/x' })).rejects.toMatchObject({ code: 'MISCONFIGURED' })
})

test('a host reads with one statement, which cannot leave its transaction', async () => {
  const connection = await postgres.newSchema()()
  const read = (sql: string) => connection.readOnly(CompiledQuery.raw(sql))
  expect(await read('select 1 = 1 as yes, 2 as two')).toEqual([{ yes: 1, two: 2 }])
  const mistakes = {
    'select 1; commit; create table stolen (a int)': 'the database cannot read it',
    'create table stolen (a int)': 'views can only be read',
    'select no_function(1)': 'the database cannot read it',
    'select 1 / 0': 'the database cannot read it',
    'select * from no_table': 'it names a view or column that does not exist',
    'select no_column from head': 'it names a view or column that does not exist',
  }
  for (const [sql, message] of Object.entries(mistakes))
    await expect(read(sql), sql).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining(message),
      cause: expect.anything(),
    })
  expect(await read(`select json_build_array(1, 'a') as list`)).toEqual([{ list: [1, 'a'] }])
  expect(await read(`select array['a', 'b'] as list, current_setting('statement_timeout') as limit`)).toEqual([
    { list: '{a,b}', limit: '30s' },
  ])
  await connection.close()
})

test('a host reads no table of another schema, also one with the name of a view', async () => {
  const store = await new Place(postgres.newSchema()).open({ views })
  const pool = new pg.Pool({ connectionString: postgres.url })
  await pool.query('create table public.subjects (secret text)')
  const handle = openViews<Views>(store.viewReader)
  const of = (schema: string) =>
    handle
      .selectFrom(sql<{ secret: string }>`${sql.table(`${schema}.subjects`)}`.as('other'))
      .selectAll()
      .execute()
  expect(await of(store.database.schema ?? '')).toEqual([])
  await expect(of('public')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await pool.query('drop table public.subjects')
  await pool.end()
})

test('what another user of a session has set changes nothing: how bytes are read, whether commits last, what is found', async () => {
  const pool = new pg.Pool({ connectionString: postgres.url, pipeline: true, max: 1 })
  const place = await locatePostgres(postgres.newAddress(), pool)
  const store = await new Place(() => openPostgres(place)).open()
  const connection = await openPostgres(place)
  await store.append(appendOf('bench-1', 'none'))
  await pool.query(`set bytea_output to escape; set synchronous_commit to off; set lock_timeout to '1ms';
    create temp table event (position int); create temp table effect (position int)`)
  await store.append(appendOf('bench-2', 'none'))
  expect((await store.read({ after: 1 })).map(({ stream }) => stream)).toEqual(['bench-1', 'bench-2'])
  const asked = {
    sql: `select current_setting('synchronous_commit') as kept, '\\x00ff'::bytea as bytes`,
    parameters: [],
  }
  expect(await connection.transact(() => first(asked))).toEqual({ kept: 'on', bytes: Buffer.from([0, 255]) })
  await store.close()
  await pool.end()
})

test('a connection that is lost while a log opens fails the opening, and not the process', async () => {
  const server = createServer(socket => {
    socket.once('data', () => {
      socket.write(Buffer.from('52000000080000000053000000160000000000000000000000000000000000005a0000000549', 'hex'))
      socket.once('data', () => socket.destroy())
    })
    socket.on('error', () => undefined)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // Of a server that listens.
  const place = await locatePostgres(`postgres://user@127.0.0.1:${port}/db`)
  await expect(openPostgres(place)).rejects.toMatchObject({ code: 'STORE_BUSY' })
  server.close()
})

test('a keyring file is written without the lock of the log, and a process that closes leaves no mark', async () => {
  const address = postgres.newAddress()
  const connect = async () => openPostgres(await locatePostgres(address))
  const store = await new Place(connect).open()
  const { pool, schema, closePool } = await locatePostgres(address)
  const client = await pool.connect()
  await client.query({ text: `begin; select 1 from ${schema}.head for update` })
  const connection = await connect()
  const [keyring, entropy] = [join(temporaryFolder(), 'averba.keys'), seededEntropy(1)]
  const options = { path: address, keyring, entropy, views: [], clock: systemClock, createId: () => '' }
  expect(await keyringPlace(connection, options)?.replace('{}', undefined)).toBe(true)
  await client.query({ text: 'rollback' })
  await store.append(appendOf('bench-a', 'none'))
  await store.append(appendOf('bench-b', 'none'))
  const marks = async () => (await client.query({ text: `select mark from ${schema}.writer` })).rows.length
  expect(await marks()).toBe(1)
  await store.close()
  expect(await marks()).toBe(0)
  client.release(true)
  await Promise.all([connection.close(), closePool()])
})

test('a process with an older copy of the keyring says so, also before it records anything', async () => {
  const world = await openWorld()
  const { averba, options } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const copy = join(temporaryFolder(), 'older.keys')
  copyFileSync(String(options.keyring), copy)
  const other = await openAverba({ ...options, keyring: copy })
  const keyringCheck = async () => (await other.health({ only: ['keyring'] })).checks[0]
  expect(await keyringCheck()).toMatchObject({ ok: true })
  await averba.subjects.erase({ subject }, { requester: 'p1', legalBasis: 'LGPD 18 VI' })
  await averba.settle()
  expect(await keyringCheck()).toMatchObject({ ok: false, detail: expect.stringContaining('an outdated copy') })
  const failed = { code: 'KEYS_MISMATCH', hint: expect.stringContaining('Put the newest keyring back') }
  await expect(other.consents.enrol({ cpf: '52998224725' })).rejects.toMatchObject(failed)
  await other.close()
  await averba.close()
})

test('a follower that another process resumes is seen where nothing is heard', async () => {
  const address = postgres.newAddress()
  const place = new Place(async () => openPostgres(await locatePostgres(address)))
  const store = await place.open()
  await append(store, 1)
  for (const each of [await store.followers.take('crm')]) if (each) await store.followers.fail(each, 1, null, 'Error')
  const readFence = () =>
    store.database.read(() => first<{ fence: number }>({ sql: 'select fence from head', parameters: [] }))
  const before = await readFence()
  for (const parked of await store.followers.list()) expect(await store.followers.resume(parked, 'again')).toBe(true)
  expect((await readFence())?.fence).toBe((before?.fence ?? 0) + 1)
  await store.close()
})

/** A pool of a host whose server can go away. */
async function poolThatGoesAway(address: string) {
  const { pool, closePool } = await locatePostgres(address)
  const server = { isAway: false, isSilent: false, connections: 0, lost: [] as number[] }
  const connect = async () => {
    if (server.isSilent) return new Promise<never>(() => undefined)
    server.connections += 1
    if (server.isAway || server.lost.includes(server.connections))
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    return pool.connect()
  }
  return { server, pool: { options: { pipeline: true }, connect }, closePool }
}

test('what was answered 503 while the server was away is asked for when it is back', async () => {
  const address = postgres.newAddress()
  const { server, pool, closePool } = await poolThatGoesAway(address)
  const clock = new VirtualClock()
  const told: string[] = []
  const { averba, services } = await openWorld(clock, address, {
    pool,
    logger: ({ message }) => void told.push(message),
  })
  await averba.subscriptions.apply(await averba.subscriptions.plan())
  server.isAway = true
  const person = { destinatarioTipo: 'CPF', destinatarioId: samples.cpf } as const
  await services.portal.notify({ evento, ...person, body: { n: 1 } })
  const isWaiting = () => told.some(each => each.includes('waits until the store can be written'))
  await expect.poll(isWaiting, { timeout: 10_000 }).toBe(true)
  expect((await averba.health({ only: ['store'] })).checks).toMatchObject([{ ok: false }])
  server.isAway = false
  const look = async () => {
    await clock.advance(2_000)
    const asked = await Array.fromAsync(averba.log.read({ types: ['portal.recoveryHastened'] }))
    return asked.map(({ data }) => data.reason)
  }
  await expect.poll(look, { timeout: 10_000 }).toEqual(['unstored'])
  await averba.close()
  await closePool()
})

test('a check of health that the server does not answer ends', async () => {
  const address = postgres.newAddress()
  const { server, pool, closePool } = await poolThatGoesAway(address)
  const { averba } = await openWorld(undefined, address, { pool })
  server.isSilent = true
  vi.useFakeTimers()
  const looking = averba.health({ only: ['store', 'writing'] })
  await vi.advanceTimersByTimeAsync(5_000)
  vi.useRealTimers()
  const silent = { ok: false, detail: 'it did not answer in 5 seconds' }
  expect((await looking).checks).toMatchObject([silent, silent])
  server.isSilent = false
  await averba.close()
  await closePool()
})

test('a call that was certainly not made is deferred, although the server is away when that is recorded', async () => {
  const address = postgres.newAddress()
  const { server, pool, closePool } = await poolThatGoesAway(address)
  const clock = new VirtualClock()
  const busy = async (request: Request) => {
    if (!request.url.includes('validacao'))
      return Response.json({ access_token: 't', token_type: 'Bearer', expires_in: 3_600 })
    server.isAway = true
    return Response.json({ error: 'too many' }, { status: 429 })
  }
  const told: string[] = []
  const logger = ({ message }: LogLine) => void told.push(message)
  const world = await openWorld(clock, address, { pool, fetch: busy, logger })
  const validating = world.averba.validations
    .validate({ id: 'v1', cpf: samples.cpf, claims: { nome: 'X' } })
    .catch(() => undefined)
  const isWaiting = () => told.some(each => each.includes('waits until the store can be written'))
  await expect.poll(isWaiting, { timeout: 10_000 }).toBe(true)
  // It comes back, and goes once more when the outcome is recorded.
  server.lost = [4, 5, 6, 7].map(n => server.connections + n)
  server.isAway = false
  const isValidation = ({ type }: { type: string }) => type.endsWith('validatePerson')
  const look = async () => {
    await clock.advance(10_000)
    return (await world.averba.effects.list()).find(isValidation)?.state
  }
  await expect.poll(look, { timeout: 10_000 }).toBe('deferred')
  await validating
  await world.averba.close()
  await closePool()
})

test('leases of followers do not wait for the lock of the log', async () => {
  const asked: (string | undefined)[] = []
  const transact = (_: unknown, locks?: string) => {
    asked.push(locks)
    // Somebody else has the lock of the log.
    return locks === 'rows' ? Promise.resolve() : new Promise<never>(() => undefined)
  }
  const connection = { transact } as unknown as Connection // All it uses.
  const clock = new VirtualClock()
  const keeper = new LeaseKeeper(connection, clock, new Leasing('a', clock, connection))
  const [done, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const following = keeper.keep({ follower: 'crm' }, () => done.promise)
  await clock.advance(20_000)
  expect(asked).toEqual(['rows'])
  const calling = keeper.keep({ effect: { position: 1, n: 0, attempts: 1 } as never }, () => ended.promise)
  for (let renewals = 0; renewals < 3; renewals++) await clock.advance(20_000)
  expect(asked.slice(1).sort()).toEqual(['rows', 'rows', 'rows', undefined])
  done.resolve()
  ended.resolve()
  await Promise.all([following, calling])
})

test('a log is read while a rebuild puts a table in place', async () => {
  const address = postgres.newAddress()
  const store = await new Place(async () => openPostgres(await locatePostgres(address))).open()
  const { pool, schema, closePool } = await locatePostgres(address)
  const other = await pool.connect()
  await other.query({ text: `create table ${schema}.counted_next (n integer)` })
  const connect = async () => {
    const client = await pool.connect()
    const query = async (asked: PostgresQuery) => {
      const answer = await client.query(asked)
      if (asked.text.includes('has_table_privilege')) await other.query({ text: `drop table ${schema}.counted_next` })
      return answer
    }
    return { query, on: client.on.bind(client), off: client.off.bind(client), release: client.release.bind(client) }
  }
  const reading = await openPostgresReading({ pool: { connect }, schema, closePool: async () => undefined })
  await reading.close()
  other.release(true)
  await closePool()
  await store.close()
})

test('an error of a connection that nobody has yet does not end the process', async () => {
  const pool = Object.assign(new EventEmitter(), {
    connect: () => new Promise<never>(() => undefined),
    options: { pipeline: true },
  })
  await locatePostgres(postgres.newAddress(), pool)
  const client = new EventEmitter()
  pool.emit('connect', client)
  expect(client.emit('error', new Error('terminating connection'))).toBe(true)
  expect(pool.emit('error', new Error('terminating connection'))).toBe(true)
})

test('queries of a host leave connections to what must not wait', async () => {
  const { averba } = await openWorld()
  let [taken, takenMax] = [0, 0]
  const { readOnly } = PostgresConnection.prototype
  const reading = vi.spyOn(PostgresConnection.prototype, 'readOnly').mockImplementation(async function (
    this: PostgresConnection,
    query,
    check,
  ) {
    taken += 1
    takenMax = Math.max(taken, takenMax)
    return readOnly.call(this, query, check).finally(() => {
      taken -= 1
    })
  })
  await Promise.all(Array.from({ length: 6 }, () => averba.views.selectFrom('consents').selectAll().execute()))
  expect(takenMax).toBe(3)
  reading.mockRestore()
  await averba.close()
})

test('a pool that gives no connection is given up, and one that comes late is given back', async () => {
  const late = Promise.withResolvers<PostgresClient>()
  const stuck = new PostgresConnection({ connect: () => late.promise }, 'averba', async () => undefined)
  vi.useFakeTimers()
  const failed = expect(stuck.readOnly(CompiledQuery.raw('select 1'))).rejects.toMatchObject({ code: 'STORE_BUSY' })
  await vi.advanceTimersByTimeAsync(10_000)
  vi.useRealTimers()
  await failed
  const release = vi.fn()
  late.resolve({ query: vi.fn(), on: vi.fn(), off: vi.fn(), release })
  await expect.poll(() => release.mock.calls.length, { timeout: 10_000 }).toBe(1)
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
  const insert = 'insert into part (position, sealed) values (?, ?)'
  const steps = function* (): Steps<void> {
    yield { sql: insert, forEach: [1, 2, 3].map(n => [n, large]) }
  }
  await new PostgresSession(client).run(steps())
  expect(texts).toHaveLength(2)
  const connection = new PostgresConnection({ connect: async () => client }, 'averba', async () => undefined)
  const failing = function* (): Steps<void> {
    yield { sql: 'fail (?)', forEach: [[1]] }
    yield { sql: 'insert into other (n) values (?)', parameters: [1] }
  }
  await expect(connection.transact(failing)).rejects.toThrow()
  expect(texts).not.toContain('commit')
})

test('what leaves as arrays arrives as it was', async () => {
  const { pool, closePool } = await locatePostgres(postgres.newAddress())
  const client = await pool.connect()
  const texts = ['', 'a "quoted" \\ text', '{a,b}', 'NULL', null, '\u{1F600}ção']
  const numbers = [0, -1, null, Number.MAX_SAFE_INTEGER]
  const bytes = [Buffer.of(0, 92, 255), Buffer.alloc(0), null]
  const rows = [0, 1, 2, 3, 4, 5].map(i => [texts[i] ?? null, numbers[i] ?? null, bytes[i] ?? null, null])
  await client.query({ text: 'create temporary table arrived (n serial, a text, b bigint, c bytea, d text)' })
  const insert = 'insert into arrived (a, b, c, d) values (?, ?, ?, ?)'
  const session = new PostgresSession(client)
  await session.send(insertFromArrays(insert, rows) ?? { text: '' })
  const arrived = await session.send({ text: 'select a, b, c, d from arrived order by n' })
  expect(arrived.rows.map(row => Object.values(row as object))).toEqual(rows)
  // A column of several types has none.
  for (const odd of ['x', 0.5, true, 1n])
    expect(insertFromArrays(insert, [...rows, [null, odd, null, null]])).toBeUndefined()
  session.end(true)
  await closePool()
})

test('a connection that goes silent is given up, and what waits on it fails', async () => {
  const { pool, closePool } = await locatePostgres(postgres.newAddress())
  const client = await pool.connect()
  const session = new PostgresSession(client, 300)
  await session.send({ text: 'select 1' })
  // As when the server's machine is gone: nothing ends the connection.
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection // Of node-postgres.
  stream.removeAllListeners('data')
  const [first, next] = [session.send({ text: 'select 1' }), session.send({ text: 'select 2' })]
  await expect(first).rejects.toThrow()
  await expect(next).rejects.toThrow()
  expect(session.failure).toBeDefined()
  session.end(true)
  await closePool()
})

test('a reading of a text that no server stores fails alone', async () => {
  const store = await new Place(postgres.newSchema()).open()
  await store.append(appendOf('bench-1', 'none'))
  const [wrong, right] = await Promise.allSettled([
    store.read({ stream: 'bench-\0' }),
    store.read({ stream: 'bench-1' }),
  ])
  expect(wrong).toMatchObject({ status: 'rejected', reason: { code: 'INVALID_INPUT' } })
  expect(right).toMatchObject({ status: 'fulfilled', value: [{ stream: 'bench-1' }] })
})

test('a process writes nothing more once another one has migrated the tables', async () => {
  const address = postgres.newAddress()
  const { pool, schema, closePool } = await locatePostgres(address)
  const store = await new Place(async () => openPostgres(await locatePostgres(address))).open()
  await store.append(appendOf('bench-1', 'none'))
  const client = await pool.connect()
  await client.query({ text: `update ${schema}.head set schema = 2` })
  await expect(store.append(appendOf('bench-2', 'none'))).rejects.toMatchObject({ code: 'NOT_OURS' })
  await client.query({ text: `update ${schema}.head set schema = 1` })
  client.release()
  await store.append(appendOf('bench-2', 'none'))
  await closePool()
})

test('the page about PostgreSQL runs', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/postgres.md'), 'utf8')
  const scripts = [...page.matchAll(/^```ts postgres\n([\s\S]*?)^```$/gm)].map(([, script = '']) => script)
  const folder = folderInPackage()
  const env = { ...process.env, AVERBA_STORE: postgres.newAddress(), AVERBA_KEYRING: join(folder, 'averba.keys') }
  const outputs: string[] = []
  for (const [i, script] of scripts.entries()) {
    const path = join(folder, `script-${i}.mts`)
    writeFileSync(path, script)
    // The log is new, or exists.
    for (const _ of [1, 2]) {
      const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=averba-source', path], { env })
      outputs.push(stdout)
    }
  }
  expect(outputs).toEqual(['[] 26\n', '[] 26\n', '1\n', '1\n'])
})
