import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import {
  type Averba,
  type AverbaOptions,
  backupStore,
  diagnoseStore,
  examine,
  openAverba,
  proveRecorded,
  rebuildStore,
  replayLog,
  resumeStore,
  staticHeaders,
  valueOf,
  verifyLog,
} from '../../src/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type CrashPoint, seededEntropy, simulate, VirtualClock } from '../../src/simulation/index.ts'
import { createSimulators, credentials, samples } from '../../src/simulation/services/create-simulators.ts'
import { hosts } from '../../src/simulation/world/simulate.ts'
import { locatePostgres } from '../../src/store/database/postgres.ts'
import { PostgresConnection } from '../../src/store/database/postgres-connection.ts'
import { views } from '../../src/views/views.ts'
import { serviceNames } from '../../src/vocabulary/names.ts'
import { closeAtEnd } from '../support/close-at-end.ts'
import { validate } from '../support/open-validating.ts'
import { applyPlan } from '../support/portal.ts'
import { PostgresSchemas } from '../support/postgres-schemas.ts'
import { run } from '../support/run-script.ts'
import { folderInPackage, temporaryFolder } from '../support/temporary-folder.ts'
import { consentServiceWith } from '../support/world.ts'
import { aheadBy, openSession, poolWith } from './postgres-places.ts'

const postgres = await PostgresSchemas.start()
afterAll(() => postgres.close())

const evento = 'dimp-situacao-import'
const erasure = { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' }
const newKeyring = () => join(temporaryFolder(), 'averba.keys')

/** Opens an engine on a log on the server, with simulated services. Others can be opened on the same log. */
async function openOnServer(more: Partial<AverbaOptions> = {}) {
  const clock = new VirtualClock()
  const services = createSimulators({
    clock: more.clock ?? clock,
    entropy: seededEntropy(1, 'services '),
    deliver: request => averba.receiver.fetch(request, { remoteAddress: '161.148.0.1' }),
  })
  const { consumerKey, consumerSecret, service, portalHeaders } = credentials
  const told: string[] = []
  const log = { store: postgres.newAddress(), keyring: newKeyring() }
  const options: AverbaOptions = {
    ...{ ...log, clock, schedules: false, logger: ({ message }) => void told.push(message) },
    fetch: async request => {
      const name = serviceNames.find(each => hosts[each] === new URL(request.url).hostname)
      return name ? services.reach[name](request, { clientName: 'gestora-de-exemplo' }) : Response.error()
    },
    consentService: consentServiceWith({ requestsPerSecond: 1_000 }),
    tokenService: { url: `https://${hosts.tokenService}/token`, consumerKey, consumerSecret },
    validationService: { baseUrl: `https://${hosts.validationService}`, service },
    portal: { baseUrl: `https://${hosts.portal}`, authenticate: staticHeaders(portalHeaders) },
    receiver: { publicUrl: 'https://receptor.exemplo.br/averba' },
    subscriptions: [{ evento, chaveSecreta: 'chave-um' }],
    ...more,
  }
  const open = async () => closeAtEnd(await openAverba(options))
  const averba = await open()
  return {
    ...{ averba, services, clock, options, open, log: { ...log, store: options.store }, told },
    notify: () =>
      services.portal.notify({
        evento,
        destinatarioTipo: 'CPF',
        destinatarioId: samples.cpf,
        body: { numero: '26BR1' },
      }),
  }
}

async function enrolAndRead({ consents }: Averba, cpf: string = samples.cpf) {
  const subject = await consents.enrol({ cpf })
  expect(valueOf(await consents.sync({ subject })).read).toBe(4)
  return subject
}

const problemsOf = async (averba: Averba) =>
  (await averba.health()).checks.filter(({ ok }) => !ok).map(({ name }) => name)
const isErased = { code: 'SUBJECT_ERASED' }

test('the engine works on it with the least rights, reopens with its data and erases a person', async () => {
  const addresses = await postgres.newGranted()
  const { averba: first, log, notify, open } = await openOnServer({ store: addresses.process })
  const subject = await enrolAndRead(first)
  expect((await validate(first, 'v1')).status).toBe('settled')
  await applyPlan(first)
  const handled: string[] = []
  first.notifications.handle(evento, 'crm', async ({ id }) => void handled.push(id))
  await notify()
  await first.settle()
  expect(handled).toHaveLength(1)
  await first.close()
  const averba = await open()
  const consents = await averba.views.selectFrom('consents').select('status').execute()
  expect(consents.map(({ status }) => status).sort()).toEqual(['ATIVO', 'ATIVO', 'PENDENTE', 'PENDENTE'])
  expect(await problemsOf(averba)).toEqual([])
  expect((await averba.rebuild()).map(each => each.differences)).toEqual(views.map(() => 0))
  expect(await averba.viewAsOf('consents', { position: 3 })).toEqual([])
  expect(await averba.subjects.erase({ subject }, erasure)).toBeDefined()
  await expect(averba.consents.sync({ subject })).rejects.toMatchObject(isErased)
  const positions = await Array.fromAsync(averba.log.read(), ({ position }) => position)
  expect(positions).toEqual(positions.map((_, i) => i + 1))
  expect((await averba.figures()).position).toBe(positions.length)
  await averba.close()
  const { query } = await openSession(addresses.process)
  // As `unfollow` does.
  expect(await query("delete from follower where name = 'nobody'")).toEqual([])
  for (const text of [
    'update event set header = header',
    'delete from event',
    'truncate event',
    'drop table event',
    'create trigger changed before insert on event execute function suppress_redundant_updates_trigger()',
  ])
    await expect(query(text)).rejects.toMatchObject({ code: '42501' })
  const read = { ...log, store: addresses.reader }
  expect(await verifyLog(read)).toMatchObject({ faults: [], events: positions.length })
  await expect(openAverba(read)).rejects.toMatchObject({ code: 'STORE_UNSAFE' })
})

test('two engines share a log: each command runs once, and a person that one erases is erased for the other', async () => {
  const { averba, services, open } = await openOnServer({ clock: systemClock })
  const other = await open()
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  expect(await other.consents.enrol({ cpf: samples.cpf })).toBe(subject)
  const validated = await Promise.all([averba, other].map(each => validate(each, 'v1')))
  expect(validated.map(({ status }) => status)).toEqual(['settled', 'settled'])
  expect(services.validationService.answered).toBe(1)
  await averba.subjects.erase({ subject }, erasure)
  await averba.settle()
  await expect(other.consents.sync({ subject })).rejects.toMatchObject(isErased)
  const again = await other.consents.enrol({ cpf: '25774435016' })
  expect(await averba.consents.list({ subject: again })).toHaveLength(4)
  expect(await problemsOf(other)).toEqual([])
})

test('the auditor gets from a server what a file gives: a verdict, a bundle, proofs, a replay and a diagnosis', async () => {
  const { averba, log, notify } = await openOnServer()
  await enrolAndRead(averba)
  const gone = await enrolAndRead(averba, '25774435016')
  await validate(averba, 'v1')
  await applyPlan(averba)
  await notify()
  await averba.settle()
  await averba.subjects.erase({ subject: gone }, erasure)
  await averba.settle()
  const mark = await averba.audit.checkpoint()
  // While the engine runs.
  const verdict = await averba.audit.verify({ mark })
  expect(verdict).toMatchObject({ level: 'held', faults: [] })
  expect(verdict.erasedParts).toBeGreaterThan(0)
  const dir = join(temporaryFolder(), 'bundle')
  const { events, parts } = await averba.audit.export(dir)
  expect(await verifyLog({ store: dir })).toMatchObject({ events, parts, faults: [] })
  const replayed = await replayLog(log)
  expect(replayed).toMatchObject({ position: events, otherVersions: 0 })
  expect(replayed).not.toHaveProperty('divergence')
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
  const { averba, log, open } = await openOnServer()
  await enrolAndRead(averba)
  await averba.close()
  const { query } = await openSession(log.store)
  const faultsOf = async () =>
    (await verifyLog(log)).faults.map(({ check, examples }) => `${check}: ${examples[0]}`).sort()
  expect(await faultsOf()).toEqual([])
  await query(`create function keep() returns trigger language plpgsql as 'begin return null; end';
    create trigger keeper before update on effect for each row execute function keep()`)
  expect(await faultsOf()).toEqual([
    'schema: the log cannot be opened: its table "effect" has a foreign trigger "keeper"',
  ])
  await expect(open()).rejects.toMatchObject({ code: 'CORRUPT' })
  await query('drop trigger keeper on effect; alter table receipt drop constraint receipt_pkey')
  expect(await faultsOf()).toEqual(['schema: the log cannot be opened: its table "receipt" has no primary key'])
  await query(`alter table receipt add primary key (command_id); create table "Of the host" (n integer);
    create table gone_next (n integer)`)
  expect(await faultsOf()).toEqual([])
  await query(`update consents set status = 'ATIVO' where status = 'PENDENTE';
    update effect set state = 'pending', is_open = 1 where state = 'settled';
    delete from keyed_index where kind = 'cpf'`)
  expect((await faultsOf()).map(each => each.split(':')[0])).toEqual(['effects', 'index', 'views'])
  await query(`update event set header = replace(header, 'subject.enrolled', 'subject.enrolled ') where position = 2`)
  expect(await faultsOf()).toContainEqual(expect.stringContaining('leaves: the leaf at 2'))
})

test('a log that its server put back is refused by its mark, and continues with a record of it', async () => {
  const { averba: first, log, options } = await openOnServer()
  await first.close()
  const marks: string[] = []
  const highWaterMark = { read: async () => marks.at(-1), write: async (mark: string) => void marks.push(mark) }
  const { query, schema } = await openSession(log.store)
  const tables = await query(`select tablename as name from pg_tables where schemaname = '${schema}'`)
  const run = (write: (table: string) => string) => query(tables.map(({ name }) => write(String(name))).join('; '))
  await run(table => `create table public.${schema}_${table} as table ${table}`)
  const later = await openAverba({ ...options, highWaterMark })
  await later.consents.enrol({ cpf: samples.cpf })
  await later.close()
  await run(table => `truncate ${table}; insert into ${table} table public.${schema}_${table}`)
  await run(table => `drop table public.${schema}_${table}`)
  const opening = openAverba({ ...options, highWaterMark })
  await expect(opening).rejects.toMatchObject({ code: 'ROLLED_BACK', hint: expect.stringContaining('averba resume') })
  const { problems } = await diagnoseStore({ ...log, highWaterMark })
  expect(problems).toEqual([expect.stringMatching(/^keys: it has 1/), expect.stringMatching(/^mark: the log cannot/)])
  const resumed = await resumeStore({ ...log, highWaterMark })
  expect(resumed).toMatchObject({ resumedAs: expect.stringMatching(/^log_/), lostEvents: 1 })
  const averba = closeAtEnd(await openAverba({ ...options, highWaterMark }))
  const records = await Array.fromAsync(averba.log.read({ types: ['log.resumed'] }))
  expect(records).toMatchObject([{ data: { lost: {} } }])
})

test('a simulated world on a server crashes, restarts, and is the same again', async () => {
  const live = async () => {
    const fatal = new Set<string>()
    const crashAt = ({ at }: CrashPoint) => fatal.delete(at)
    const world = await simulate({ store: postgres.newAddress(), averba: { keyring: newKeyring() }, crashAt })
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

test('a machine whose clock is wrong says so, and from half a minute on takes no new work', async () => {
  const store = postgres.newAddress()
  let time = 'clock_timestamp()'
  const pool = await poolWith(store, (client, asked) => {
    return client.query({ ...asked, text: asked.text.replace('clock_timestamp()', time) })
  })
  const { averba } = await openOnServer({ clock: systemClock, store, pool })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const followed: number[] = []
  averba.log.follow('mail', ['subject.enrolled'], async ({ position }) => void followed.push(position))
  expect(await problemsOf(averba)).toEqual([])
  await aheadBy(5_000, async () => {
    expect(await problemsOf(averba)).toEqual(['times'])
    await averba.consents.enrol({ cpf: '25774435016' })
  })
  await aheadBy(300_000, async () => {
    const reason = expect.stringMatching(/the clock of this machine is 30[01] s ahead of/)
    expect(await averba.health()).toMatchObject({ ready: false, reasons: [reason] })
    await expect(averba.consents.sync({ subject })).rejects.toMatchObject({ code: 'STORE_UNSAFE' })
    await averba.settle()
    expect(followed).toEqual([])
  })
  await averba.settle()
  expect(followed).toHaveLength(1)
  expect(valueOf(await averba.consents.sync({ subject })).read).toBe(4)
  // That of the server was wrong for a moment. Nothing but commands is recorded then.
  const enrol = () => averba.consents.enrol({ cpf: samples.cpf }).then(Boolean, error => error.code)
  time = "clock_timestamp() - interval '40 s'"
  await expect.poll(enrol).toBe('STORE_UNSAFE')
  time = 'clock_timestamp()'
  await expect.poll(enrol).toBe(true)
})

test('a role whose transactions are read-only by default verifies a log', async () => {
  const { averba, log } = await openOnServer()
  await averba.close()
  const { query } = await openSession(log.store)
  await query('create role looker superuser login; alter role looker set default_transaction_read_only = on')
  const { faults } = await verifyLog({ ...log, store: log.store.replace('user=postgres', 'user=looker') })
  expect(faults).toEqual([])
})

test('a schema with the tables of others is refused, and left as it is', async () => {
  const { query } = await openSession(postgres.url)
  await query('create schema of_others; create table of_others.own (a int)')
  const opened = openAverba({ store: `${postgres.url}&schema=of_others`, keyring: newKeyring() })
  await expect(opened).rejects.toMatchObject({ code: 'NOT_OURS', hint: expect.any(String) })
  const left = await query(`select tablename from pg_tables where schemaname = 'of_others'`)
  expect(left).toEqual([{ tablename: 'own' }])
})

test('an item is marked as done in a transaction of the host: once, and not when that is undone', async () => {
  const { averba, log } = await openOnServer()
  const [one, other] = [await openSession(log.store), await openSession(log.store)]
  const mark = ({ client }: typeof one, id = 'subject-a/1') => averba.log.once(client, 'mail', id)
  await expect(mark(one)).rejects.toMatchObject({ code: 'INVALID_INPUT', hint: expect.stringContaining('begin') })
  await one.query('begin')
  expect(await mark(one)).toBe(true)
  expect(await mark(one)).toBe(false)
  await one.query('rollback')
  await one.query('begin')
  expect(await mark(one)).toBe(true)
  await other.query('begin')
  // It waits for the first one.
  const second = mark(other)
  await one.query('commit')
  expect(await second).toBe(false)
  await other.query('commit')
  const refused = { code: 'INVALID_INPUT', hint: expect.stringContaining('in the database in which the log is') }
  const stranger = await openSession(postgres.url.replace('/postgres?', '/template1?'))
  await stranger.query('begin')
  await expect(mark(stranger)).rejects.toMatchObject(refused)
  await expect(mark(one, samples.cpf)).rejects.toMatchObject({ code: 'PERSONAL_ID' })
})

test('a log is verified while a view is rebuilt, which waits for that, and damage in one place hides no other', async () => {
  const { averba, log } = await openOnServer({ clock: systemClock })
  await enrolAndRead(averba)
  let rebuilding: Promise<unknown> | undefined
  const onProgress = (what: string) => {
    if (what === 'log') rebuilding ??= averba.rebuild({ views: ['consents'] })
  }
  expect((await verifyLog({ ...log, onProgress })).faults).toEqual([])
  expect(await rebuilding).toMatchObject([{ view: 'consents', differences: 0 }])
  await averba.close()
  const { query } = await openSession(log.store)
  await query(`drop table recent_digest; update consents set status = 'X'`)
  const { faults } = await verifyLog(log)
  expect(faults.map(({ check }) => check).sort()).toEqual(['file', 'views'])
})

test('doctor reaches the server, and what needs a file says so without the address', async () => {
  const { averba, options } = await openOnServer()
  const checkOf = async (name: string, more: Partial<AverbaOptions> = {}) =>
    (await examine({ ...options, ...more })).checks.find(each => each.name === name)
  expect(await checkOf('store')).toEqual({ name: 'store', ok: true, detail: 'it holds 1 events' })
  const empty = await checkOf('store', { store: postgres.newAddress() })
  expect(empty?.detail).toContain('has no log in this schema yet')
  await averba.close()
  const store = options.store.replace('user=postgres', 'user=postgres&password=palavra-secreta')
  const refused = await backupStore({ store, to: '/nowhere' }).catch(error => error)
  expect(refused).toMatchObject({ code: 'INVALID_INPUT', message: expect.stringContaining('it needs a SQLite file') })
  expect(JSON.stringify(refused) + refused.message).not.toContain('palavra-secreta')
  const { keyring: _, ...without } = options
  const unnamed = { code: 'MISCONFIGURED', message: expect.stringContaining('Cannot use keyring') }
  await expect(openAverba(without)).rejects.toMatchObject(unnamed)
  const deep = await examine(options, { isDeep: true })
  expect(deep.checks.filter(({ ok }) => !ok)).toEqual([])
  const keyring = newKeyring()
  await (await openAverba({ ...options, store: postgres.newAddress(), keyring })).close()
  expect((await checkOf('keyring', { keyring }))?.detail).toContain('belongs to another log')
  const elsewhere = { ...options, store: postgres.newAddress() }
  await expect(openAverba(elsewhere)).rejects.toThrow('the log is missing, but its keyring is there')
})

test('a pool of the host is used for a log on a server, and stays open', async () => {
  const { pool } = await locatePostgres(postgres.url)
  const misconfigured = { code: 'MISCONFIGURED' }
  await expect(openAverba({ store: 'x.sqlite', pool })).rejects.toMatchObject(misconfigured)
  await expect(openAverba({ store: 'mysql://localhost/x' })).rejects.toMatchObject(misconfigured)
  const store = `postgres:?${postgres.newAddress().split('?')[1]}`
  await (await openAverba({ store, pool, keyring: newKeyring() })).close()
  await pool.connect().then(client => client.release())
})

test('a process with an older copy of the keyring says so, also before it records anything', async () => {
  const { averba, log, options } = await openOnServer()
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const keyring = join(temporaryFolder(), 'older.keys')
  copyFileSync(log.keyring, keyring)
  const other = closeAtEnd(await openAverba({ ...options, keyring }))
  const keyringCheck = async () => (await other.health({ only: ['keyring'] })).checks[0]
  expect(await keyringCheck()).toMatchObject({ ok: true })
  await averba.subjects.erase({ subject }, erasure)
  await averba.settle()
  expect(await keyringCheck()).toMatchObject({ ok: false, detail: expect.stringContaining('an outdated copy') })
  const failed = { code: 'KEYS_MISMATCH', hint: expect.stringContaining('Put the newest keyring back') }
  await expect(other.consents.enrol({ cpf: '52998224725' })).rejects.toMatchObject(failed)
})

/** Opens an engine with a pool of the host, whose server can go away. */
async function openGoingAway(more: Partial<AverbaOptions> = {}) {
  const store = postgres.newAddress()
  const server = { isAway: false, isSilent: false, isCutAtCommit: false, connections: 0, lost: [] as number[] }
  const reset = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  const marked = new WeakSet<object>()
  const pool = await poolWith(store, async (client, asked) => {
    const answer = await client.query(asked)
    if (asked.text.includes('insert into writer')) marked.add(client)
    if (asked.text !== 'commit' || !marked.delete(client) || !server.isCutAtCommit) return answer
    server.isAway = true
    throw reset
  })
  const connect = async () => {
    if (server.isSilent) return new Promise<never>(() => undefined)
    server.connections += 1
    if (server.isAway || server.lost.includes(server.connections)) throw reset
    return pool.connect()
  }
  const world = await openOnServer({ store, pool: { ...pool, connect }, ...more })
  const untilWaiting = () => expect.poll(() => world.told.join()).toContain('waits until the store can be written')
  return { ...world, server, untilWaiting }
}

test('what was answered 503 while the server was away is asked for when it is back', async () => {
  const { averba, clock, notify, server, untilWaiting } = await openGoingAway()
  await applyPlan(averba)
  server.isAway = true
  await notify()
  await untilWaiting()
  expect((await averba.health({ only: ['store'] })).checks).toMatchObject([{ ok: false }])
  server.isAway = false
  const look = async () => {
    await clock.advance(2_000)
    return Array.fromAsync(averba.log.read({ types: ['portal.recoveryHastened'] }), ({ data }) => data.reason)
  }
  await expect.poll(look).toEqual(['unstored'])
})

test('a process closes in time while a server that is away does not say what became of a commit', async () => {
  const { averba, clock, server } = await openGoingAway()
  await averba.consents.enrol({ cpf: '52998224725' })
  server.isCutAtCommit = true
  const enrolling = averba.consents.enrol({ cpf: '25774435016' }).catch(error => error)
  await expect.poll(() => server.isAway).toBe(true)
  const before = clock.now()
  await clock.finish(averba.close())
  expect(await enrolling).toMatchObject({ code: 'STORE_UNSAFE' })
  expect(clock.now() - before).toBeLessThan(30_000)
})

test('a check of health that the server does not answer ends', async () => {
  const { averba, server } = await openGoingAway()
  server.isSilent = true
  vi.useFakeTimers()
  const looking = averba.health({ only: ['store', 'writing'] })
  await vi.advanceTimersByTimeAsync(5_000)
  vi.useRealTimers()
  const silent = { ok: false, detail: 'it did not answer in 5 seconds' }
  expect((await looking).checks).toMatchObject([silent, silent])
  server.isSilent = false
})

test('a call that was certainly not made is deferred, although the server is away when that is recorded', async () => {
  const { averba, clock, server, untilWaiting } = await openGoingAway({
    fetch: async request => {
      if (!request.url.includes('validacao'))
        return Response.json({ access_token: 't', token_type: 'Bearer', expires_in: 3_600 })
      server.isAway = true
      return Response.json({ error: 'too many' }, { status: 429 })
    },
  })
  const validating = validate(averba, 'v1').catch(() => undefined)
  await untilWaiting()
  // It comes back, and goes once more when the outcome is recorded.
  server.lost = [4, 5, 6, 7].map(n => server.connections + n)
  server.isAway = false
  const look = async () => {
    await clock.advance(10_000)
    return (await averba.effects.list()).find(({ type }) => type.endsWith('validatePerson'))?.state
  }
  await expect.poll(look).toBe('deferred')
  await validating
})

test('queries of a host leave connections to what must not wait', async () => {
  const { pool } = await locatePostgres(postgres.url)
  const newStore = () => `postgres:?${postgres.newAddress().split('?')[1]}`
  const logs = [await openOnServer({ store: newStore(), pool }), await openOnServer({ store: newStore(), pool })]
  let [taken, takenMax] = [0, 0]
  const { readOnly } = PostgresConnection.prototype
  const reading = vi.spyOn(PostgresConnection.prototype, 'readOnly')
  reading.mockImplementation(async function (this: PostgresConnection, ...asked) {
    taken += 1
    takenMax = Math.max(taken, takenMax)
    return readOnly.apply(this, asked).finally(() => {
      taken -= 1
    })
  })
  // Of all logs that share a pool.
  const ask = (n: number) => logs[n % 2]?.averba.views.selectFrom('consents').selectAll().execute()
  await Promise.all(Array.from({ length: 8 }, (_, n) => ask(n)))
  expect(takenMax).toBe(3)
  reading.mockRestore()
})

test('the page about PostgreSQL runs', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/postgres.md'), 'utf8')
  const scripts = [...page.matchAll(/^```ts postgres\n([\s\S]*?)^```$/gm)].map(([, script = '']) => script)
  const folder = folderInPackage()
  const env = { ...process.env, AVERBA_STORE: postgres.newAddress(), AVERBA_KEYRING: join(folder, 'averba.keys') }
  for (const [i, script] of scripts.entries()) writeFileSync(join(folder, `script-${i}.mts`), script)
  // The log is new, or exists.
  const runs = scripts.flatMap((_, i) => [1, 2].map(time => `await import('${folder}/script-${i}.mts?${time}');`))
  const args = ['--conditions=averba-source', '--input-type=module', '-e', runs.join('')]
  const { stdout } = await run(process.execPath, args, { env })
  expect(stdout).toBe('[] 26\n[] 26\n1\n1\n')
})
