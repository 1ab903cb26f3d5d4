import { copyFileSync, cpSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { afterAll, expect, test, vi } from 'vitest'
import { copyStore, diagnoseStore, openAverba, replayLog, resumeStore, valueOf, verifyLog } from '../../src/index.ts'
import { rows } from '../../src/store/database/connection.ts'
import { locatePostgres, openPostgres } from '../../src/store/database/postgres.ts'
import { reserve } from '../../src/store/files/copy-log.ts'
import { readHead } from '../../src/store/log/head.ts'
import { Tags } from '../../src/store/log/tags.ts'
import { Store } from '../../src/store/store.ts'
import { cpfOf } from '../support/cpf-of.ts'
import { PostgresSchemas } from '../support/postgres-schemas.ts'
import { refuses } from '../support/refuses.ts'
import { temporaryFolder, temporaryStore } from '../support/temporary-folder.ts'
import { useDatabase } from '../support/use-database.ts'
import { watchedKeyring } from '../support/watched-keyring.ts'
import { openWorld } from '../support/world.ts'

const postgres = await PostgresSchemas.start()
afterAll(() => postgres.close())

/** Makes a log with consents, a validation and an erasure, and closes it. */
async function makeLog() {
  const store = temporaryStore()
  const world = await openWorld({ averba: { store } })
  const { averba, samples } = world
  copyFileSync(`${store}.keys`, `${store}.older-keys`)
  const subject = await averba.consents.enrol({ cpf: samples.cpf }, { commandId: 'enrol-1' })
  valueOf(await averba.consents.sync({ subject }))
  valueOf(await averba.validations.validate({ id: 'v1', cpf: samples.cpf, claims: { nome: 'X' } }))
  const gone = await averba.consents.enrol({ cpf: '52998224725' })
  await averba.subjects.erase({ subject: gone }, { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' })
  await averba.settle()
  const consents = await averba.consents.list({ subject })
  await world.close()
  return { folder: dirname(store), subject, consents, cpf: samples.cpf }
}

const { folder, subject, consents, cpf } = await makeLog()

/** Copies the log with its keyrings and its mark, so that it can be moved. */
function newLog(): string {
  const store = temporaryStore()
  cpSync(folder, dirname(store), { recursive: true })
  return store
}

/** A place for a log on the server. */
const newServerPlace = () => ({ store: postgres.newAddress(), keyring: join(temporaryFolder(), 'averba.keys') })

/** Expects that a log can be opened. */
const opens = async (store: string) => (await openAverba({ store, schedules: false })).close()

/** Copies a log as a process does that ends before it appends an event. */
async function interruptCopy(before: 'log.moved' | 'log.arrived', options: Parameters<typeof copyStore>[0]) {
  const { append } = Store.prototype
  const appending = vi.spyOn(Store.prototype, 'append').mockImplementation(function (this: Store, input) {
    if (input.events[0]?.event.type !== before) return append.call(this, input)
    throw new TypeError('interrupted')
  })
  await expect(copyStore(options)).rejects.toThrow('interrupted')
  appending.mockRestore()
}

test('a place where another log has begun meanwhile is not reserved, and a reserved one begins none', async () => {
  const place = newServerPlace()
  const averba = await openAverba(place)
  const connection = await openPostgres(await locatePostgres(place.store))
  const reserving = () => connection.transact(() => reserve('move_1'))
  await refuses('INVALID_INPUT', reserving())
  await averba.close()
  // As a process meets it that opened the place before it was reserved.
  await connection.transact(() => rows({ sql: "update head set position = 0, tag = ''", parameters: [] }))
  await connection.transact(() => rows({ sql: 'delete from event', parameters: [] }))
  expect(await reserving()).toBe('move_1')
  const tags = new Tags({ tag: text => text })
  await expect(connection.read(() => readHead(tags))).rejects.toMatchObject({ code: 'MOVED' })
  await connection.close()
})

test('a log moves from a file to a server, with all that belongs to it, and ends at its former place', async () => {
  const store = newLog()
  const to = newServerPlace()
  const seen: number[] = []
  const { events, root } = await copyStore({ from: { store }, to, onProgress: done => seen.push(done) })
  expect(seen.at(-1)).toBe(events)
  expect(root).toMatch(/^[0-9a-f]{64}$/)
  // Nothing is recorded at the former place any more, and its tools still work.
  await refuses('MOVED', openAverba({ store }))
  expect(await verifyLog({ store })).toMatchObject({ faults: [], events })
  const moved = expect.stringContaining('it was moved, and goes on elsewhere')
  expect((await diagnoseStore({ store, isDeep: true })).problems).toContainEqual(moved)
  await refuses('INVALID_INPUT', copyStore({ from: { store }, to }))

  const verdict = await verifyLog(to)
  expect(verdict).toMatchObject({ faults: [], events: events + 1 })
  expect((await diagnoseStore({ ...to, isDeep: true })).problems).toEqual([])
  expect(await replayLog(to)).not.toHaveProperty('divergence')
  const averba = await openAverba(to)
  expect(await averba.consents.list({ subject })).toEqual(consents)
  expect(await averba.consents.enrol({ cpf }, { commandId: 'enrol-1' })).toBe(subject)
  expect(await averba.consents.enrol({ cpf })).toBe(subject)
  expect((await averba.validations.get('v1'))?.state).toBe('answered')
  const [arrived] = await Array.fromAsync(averba.log.read({ types: ['log.arrived'] }))
  expect(arrived?.data).toMatchObject({ size: events, root })
  expect((await averba.rebuild()).every(({ differences }) => differences === 0)).toBe(true)
  await averba.close()

  // And back into a file.
  const back = temporaryStore()
  await copyStore({ from: to, to: { store: back } })
  expect(await verifyLog({ store: back })).toMatchObject({ faults: [] })
  await refuses('MOVED', openAverba(to))
})

test('an engine that is open elsewhere records nothing after the move, calls no handler, and says so', async () => {
  const store = newLog()
  const running = await openAverba({ store, schedules: false })
  const to = { store: temporaryStore() }
  await copyStore({ from: { store }, to })
  expect((await running.health({ only: ['writing'] })).checks).toMatchObject([
    { ok: false, detail: expect.stringContaining('was moved') },
  ])
  const handler = vi.fn()
  running.log.follow('mail', ['subject.enrolled'], handler)
  await refuses('MOVED', running.settle())
  expect(handler).not.toHaveBeenCalled()
  await refuses('MOVED', running.consents.enrol({ cpf: '11144477735' }))
  await running.close()
  expect(existsSync(`${to.store}.keys`)).toBe(true)
  const averba = await openAverba({ ...to, schedules: false })
  await averba.consents.enrol({ cpf })
  expect(await averba.log.followers()).toEqual([])
  await averba.close()
})

test('a move that was interrupted goes on where it was', async () => {
  const store = newLog()
  const to = newServerPlace()
  const onProgress = () => {
    throw new TypeError('interrupted')
  }
  await expect(copyStore({ from: { store }, to, onProgress })).rejects.toThrow('interrupted')
  await refuses('MOVED', openAverba({ store }))
  await interruptCopy('log.arrived', { from: { store }, to })
  await refuses('MOVED', openAverba(to))
  const { events } = await copyStore({ from: { store }, to })
  expect(await verifyLog(to)).toMatchObject({ faults: [], events: events + 1 })
})

test('a log that has left goes to no second place, and continues where it was when its new place is lost', async () => {
  const store = newLog()
  const [to, other] = [temporaryStore(), temporaryStore()]
  await copyStore({ from: { store }, to: { store: to } })
  await refuses('MOVED', copyStore({ from: { store }, to: { store: other } }))
  expect(existsSync(other)).toBe(false)
  // Nor to the same one, once what was there has gone elsewhere.
  rmSync(to)
  await refuses('MOVED', copyStore({ from: { store }, to: { store: to } }))
  const { resumedAs } = await resumeStore({ store })
  expect(await verifyLog({ store })).toMatchObject({ faults: [], origin: resumedAs })
  const averba = await openAverba({ store, schedules: false })
  await averba.consents.enrol({ cpf })
  await averba.close()
  await copyStore({ from: { store }, to: { store: other } })
  expect(await verifyLog({ store: other })).toMatchObject({ faults: [], origin: resumedAs })
})

test('a move that was interrupted while the new place builds its views goes on', async () => {
  const store = newLog()
  const to = { store: temporaryStore() }
  await interruptCopy('log.arrived', { from: { store }, to })
  // As a process leaves it that is killed before it has filled the tables of a view.
  useDatabase(to.store, database => database.exec("update head set views = ''; update projection set reason = 'x'"))
  await copyStore({ from: { store }, to })
  expect(await verifyLog(to)).toMatchObject({ faults: [] })
})

test('whoever opens the place of a move that has just begun makes no log there, and the move goes on', async () => {
  const store = newLog()
  const to = { store: temporaryStore() }
  await interruptCopy('log.moved', { from: { store }, to })
  // A log that has left goes to no place that is reserved for another move.
  const another = newLog()
  await copyStore({ from: { store: another }, to: { store: temporaryStore() } })
  await refuses('MOVED', copyStore({ from: { store: another }, to }))
  const hint = expect.stringContaining('Repeat averba copy')
  await refuses('MOVED', openAverba({ ...to, schedules: false }), { hint })
  expect(existsSync(`${to.store}.keys`)).toBe(false)
  await copyStore({ from: { store }, to })
  expect(await verifyLog(to)).toMatchObject({ faults: [] })
})

test('of two moves, or two that resume at once, one is told that it is not alone', async () => {
  const store = newLog()
  const to = { store: temporaryStore() }
  const { append } = Store.prototype
  let isFirst = true
  const late = (type: string, before: () => Promise<unknown>) =>
    vi.spyOn(Store.prototype, 'append').mockImplementation(async function (this: Store, input) {
      if (isFirst && input.events[0]?.event.type === type) {
        isFirst = false
        await before()
      }
      return append.call(this, input)
    })
  const arriving = late('log.arrived', () => copyStore({ from: { store }, to }))
  await refuses('STORE_BUSY', copyStore({ from: { store }, to }))
  arriving.mockRestore()
  expect(await verifyLog(to)).toMatchObject({ faults: [] })
  isFirst = true
  const resuming = late('log.resumed', () => resumeStore(to))
  await refuses('STORE_BUSY', resumeStore(to))
  resuming.mockRestore()
  expect(await verifyLog(to)).toMatchObject({ faults: [] })
})

test('of two copies that resume one move and write at once, one is told so', async () => {
  const store = newLog()
  const to = { store: temporaryStore() }
  await interruptCopy('log.arrived', { from: { store }, to })
  // As an interrupted copy leaves the new place.
  useDatabase(to.store, database => database.exec("delete from part; update head set position = 0, tag = ''"))
  const ended = await Promise.allSettled([1, 2].map(() => copyStore({ from: { store }, to })))
  const failed = ended.flatMap(each => (each.status === 'rejected' ? [each.reason] : []))
  expect(failed).toEqual([expect.objectContaining({ code: 'STORE_BUSY' })])
  expect(await verifyLog(to)).toMatchObject({ faults: [] })
})

test('a log with more index entries than a page moves to a server and back', async () => {
  const store = temporaryStore()
  const averba = await openAverba({ store, schedules: false })
  const people = Array.from({ length: 510 }, (_, i) => ({ cpf: cpfOf(i + 1) }))
  expect(await Array.fromAsync(averba.consents.enrolAll(people))).toHaveLength(510)
  await averba.close()
  const [there, back] = [newServerPlace(), { store: temporaryStore() }]
  const moved = await copyStore({ from: { store }, to: there })
  expect(await copyStore({ from: there, to: back })).toMatchObject({ events: moved.events + 2 })
  expect(await verifyLog(back)).toMatchObject({ faults: [] })
})

test('a move between two places of one pool needs two of its connections', async () => {
  const [from, to] = [newServerPlace(), newServerPlace()]
  await (await openAverba({ ...from, schedules: false })).close()
  const makePool = (max: number) => new pg.Pool({ connectionString: postgres.url, pipeline: true, max })
  const [narrow, wide] = [makePool(1), makePool(2)]
  const copyBy = (pool: pg.Pool) => copyStore({ from: { ...from, pool }, to: { ...to, pool } })
  await refuses('MISCONFIGURED', copyBy(narrow))
  expect(await copyBy(wide)).toMatchObject({ events: expect.any(Number) })
  await Promise.all([narrow.end(), wide.end()])
})

test.each([
  ['works with it', 1],
  ['begins to work with it while it is verified', 2],
])('a log is not moved while a process %s, and when that has ended it is', async (_, begins) => {
  const store = newLog()
  const take = (name: string, owner: string | null) => {
    const row = "insert into follower values (?, null, 0, 0, 0, null, '', ?, '2999-01-01T00:00:00.000Z')"
    useDatabase(store, database => database.prepare(row).run(name, owner))
  }
  // Nobody holds it any more.
  take('bill', null)
  let reads = 0
  const keyring = watchedKeyring(store, () => {
    reads += 1
    if (reads === begins) take('mail', 'other')
  })
  const to = { store: temporaryStore() }
  await refuses('STORE_BUSY', copyStore({ from: { store, keyring }, to }))
  expect(existsSync(`${to.store}.keys`)).toBe(false)
  await opens(store)
  useDatabase(store, database => database.exec("delete from follower where name = 'mail'"))
  expect((await copyStore({ from: { store }, to })).events).toBeGreaterThan(5)
})

test('a log does not leave for a place that is wrong', async () => {
  const store = newLog()
  const [foreign, marked] = [join(temporaryFolder(), 'foreign.keys'), temporaryStore()]
  writeFileSync(`${marked}.mark`, 'of another log')
  writeFileSync(foreign, 'another keyring')
  const wrong: [Parameters<typeof copyStore>[0]['to'], string][] = [
    [{ store: postgres.newAddress() }, 'MISCONFIGURED'],
    [{ store: postgres.newAddress(), keyring: foreign }, 'KEYS_MISMATCH'],
    // It has the same name, but neither the newer keys nor what was erased.
    [{ store: postgres.newAddress(), keyring: `${store}.older-keys` }, 'KEYS_MISMATCH'],
    [{ ...newServerPlace(), store: `${postgres.url}&schema=public` }, 'MISCONFIGURED'],
    [{ store: join(temporaryFolder(), 'nowhere', 'log.sqlite') }, 'STORE_UNSAFE'],
    [{ store: newLog(), keyring: `${store}.keys` }, 'INVALID_INPUT'],
    [{ store }, 'INVALID_INPUT'],
    [{ store: temporaryStore(), keyring: join(temporaryFolder(), 'nowhere', 'averba.keys') }, 'STORE_UNSAFE'],
    [{ store: marked }, 'INVALID_INPUT'],
  ]
  for (const [to, code] of wrong) {
    await expect(copyStore({ from: { store }, to }), code).rejects.toMatchObject({ code })
    await opens(store)
  }
  // A fault that engines do not look for would be found in the copy only.
  useDatabase(store, database => database.exec('delete from receipt'))
  const to = { store: temporaryStore() }
  await refuses('CORRUPT', copyStore({ from: { store }, to }))
  await opens(store)
})
