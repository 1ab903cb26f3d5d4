import type { SQLInputValue } from 'node:sqlite'
import { AverbaError, type SubjectRef, verifyLog } from '../../src/index.ts'
import { samples, type World } from '../../src/simulation/index.ts'
import { leafHash } from '../../src/store/log/tree.ts'
import { cpfOf } from '../support/cpf-of.ts'
import type { Sqlite } from '../support/sqlite.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { useDatabase, withoutGuards } from '../support/use-database.ts'
import { openWorld } from '../support/world.ts'
import { rewrite } from './mutations.ts'

/** What the sample holds, by the names of the service and of the log. */
interface Sample {
  readonly store: string
  readonly world: World
  /** The requests that changed something or cost money. */
  readonly requests: string[]
  readonly subject: SubjectRef
  readonly other: SubjectRef
  readonly pending: string
  readonly revoked: string
}

/** Something that somebody without the keyring writes into the file, so that the engine does what nobody asked for. */
type Forge = (database: Sqlite, sample: Sample) => void

/** A forgery that was tried, with what the engine did because of it, and the checks that found it. */
export interface TriedForgery {
  readonly name: string
  readonly when: 'closed' | 'running'
  readonly deeds: readonly string[]
  readonly found: readonly string[]
}

const otherCpf = cpfOf(7)
const basis = { purpose: 'análise', legalBasis: 'LGPD art. 7, I' }
const erasure = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }

/** A log with two persons, a consent that waits, one that was revoked, and a paid call in doubt. */
async function makeSample(): Promise<Sample> {
  const store = temporaryStore()
  const requests: string[] = []
  const world = await openWorld({
    store,
    averba: { schedules: false },
    intercept: async (request, forward) => {
      if (request.method === 'PUT' || request.url.includes('/validate/')) requests.push(request.method)
      const response = await forward(request)
      if (request.url.includes('/validate/')) throw new TypeError('The connection was lost')
      return response
    },
  })
  const { averba, consentService } = world
  consentService.addConsent({ cpf: otherCpf })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const other = await averba.consents.enrol({ cpf: otherCpf })
  for (const each of [subject, other]) await averba.consents.sync({ subject: each })
  const [pending] = await averba.consents.list({ subject, status: 'PENDENTE' })
  const [active] = await averba.consents.list({ subject, status: 'ATIVO' })
  if (!pending || !active) throw new TypeError('The samples have one of each')
  await averba.consents.revoke({ subject, id: active.id })
  await averba.validations.validate({ id: 'p1', cpf: samples.cpf, claims: { nome: 'X' } })
  return { store, world, requests, subject, other, pending: pending.id, revoked: active.id }
}

const everyForgery: Readonly<Record<string, Forge>> = {
  'a revocation is appended, with its leaf, its call, its receipt and the head': appendRevocation,
  'a call that ended is made due again': database => makeDue(database, 'consentService.changeStatus'),
  'a paid call in doubt is made due again': database => makeDue(database, 'validationService.validatePerson'),
  'a paid call in doubt gets a time': database =>
    database.exec(`update effect set due_at = (select at from head) where state = 'unknown'`),
  'a reading that ended is made due as a change': database => {
    database.exec(`update effect set type = 'consentService.changeStatus' where type = 'consentService.listConsents'`)
    makeDue(database, 'consentService.changeStatus')
  },
  'a header and its leaf are changed from PENDENTE to ATIVO': database =>
    rewriteHeaders(database, text => text.replaceAll('"status":"PENDENTE"', '"status":"ATIVO"')),
  'a revocation is changed into an approval, with its leaf': database =>
    rewriteHeaders(database, text =>
      text.replaceAll('REVOGADO', 'ATIVO').replaceAll('consent.revoked', 'consent.approved'),
    ),
  'a row of a view is changed from PENDENTE to ATIVO': database =>
    database.exec(`update consents set status = 'ATIVO' where status = 'PENDENTE'`),
  'the digests of two persons are swapped': swapPersons,
  'an event of another stream is moved into the stream of a consent': database =>
    database.exec(`update event set version = 1 + (select max(b.version) from event b where b.stream = (
        select stream from event where header like '%PENDENTE%' order by position limit 1)),
      stream = (select stream from event where header like '%PENDENTE%' order by position limit 1)
      where position = (select max(position) from event where type = 'consent.revoked')`),
  'a revocation is moved into the stream of the log': database =>
    moveAway(database, 'consent.revoked', 'consent.changeRequested'),
  'a revocation and its request are given the type of a use': database =>
    database.exec(
      `update event set type = 'consent.used' where type in ('consent.changeRequested', 'consent.revoked')`,
    ),
  'how calls ended is moved into another stream, and they are made due again': database => {
    moveAway(database, 'consent.revoked', 'effect.attempted', 'validation.inconclusive')
    makeDue(database, 'consentService.changeStatus')
    makeDue(database, 'validationService.validatePerson')
    database.exec('update effect set attempts = 0')
  },
  'a stream is said to end before its revocation, which is moved away': database => {
    moveAway(database, 'consent.revoked', 'consent.changeRequested')
    database.exec('update stream set version = (select max(version) from event where stream = key)')
  },
  'an event is copied to the end of the log, with its tag': database =>
    database.exec(`insert into event (position, stream, version, type, header, leaf, tag)
      select (select max(position) + 1 from event), stream, version + 50, type, header, leaf, tag from event
      where type = 'consent.changeRequested'`),
}

function appendRevocation(database: Sqlite): void {
  type Found = Record<'position' | 'stream' | 'key' | 'version', number> &
    Record<'name' | 'type' | 'header' | 'tag', string>
  const read = (sql: string) => database.rows<Found>(sql)[0] as Found // It is there.
  const asked = read(`select * from event where type = 'consent.changeRequested'`)
  const target = read(`select stream.key, stream.name, max(event.version) as version, event.header from event
    join stream on stream.key = event.stream where stream.name like 'consent-%' and event.header like '%"ATIVO"%'
    and event.stream <> ${asked.stream}`)
  const end = read('select max(position) + 1 as position, max(tag) as tag from event')
  const [version, { position }] = [target.version + 1, end]
  const header = { ...JSON.parse(asked.header), stream: target.name, version, position, commandId: 'forged' }
  header.effects[0].opens.record = `${target.name}/1/record`
  const text = JSON.stringify(header)
  const run = (sql: string, ...values: SQLInputValue[]) => database.prepare(sql).run(...values)
  const event = [position, target.key, version, asked.type, text, leafHash(text), end.tag]
  run('insert into event values (?, ?, ?, ?, ?, ?, ?)', ...event)
  const call = `insert into effect select ?, 0, ?, type, 'pending', 1, (select at from head), null, 0, '', null, null, null
    from effect where type = 'consentService.changeStatus'`
  run(call, position, target.key)
  const receipt = `insert into receipt select 'forged', digest, code, detail, ?, ?, '' from receipt limit 1`
  run(receipt, `${target.name}/${version}/0`, position)
  run('update head set position = ?', position)
}

/** Moves all events of some types into another stream, where nothing looks for them. */
function moveAway(database: Sqlite, ...types: readonly string[]): void {
  const move = database.prepare('update event set stream = 1, version = 1000 + position where type = ?')
  for (const type of types) if (move.run(type).changes === 0) throw new TypeError(`There is no ${type}`)
}

function makeDue(database: Sqlite, type: string): void {
  const update = `update effect set state = 'pending', is_open = 1, due_at = (select at from head), settled_at = null,
    reason = '' where type = ?`
  database.prepare(update).run(type)
}

function rewriteHeaders(database: Sqlite, change: (header: string) => string): void {
  rewrite(database, (header, position) => (position > 1 ? change(header) : header))
}

function swapPersons(database: Sqlite, { subject, other }: Sample): void {
  const swap = database.prepare(`update keyed_index set value = case value when ? then ? else ? end
    where kind = 'cpf' and value in (?, ?)`)
  if (swap.run(subject, other, subject, subject, other).changes !== 2) throw new TypeError('There are two persons')
}

/** Tries every forgery on a log that is closed, and on one that an engine has open. */
export async function tryForgeries(): Promise<TriedForgery[]> {
  const tried: TriedForgery[] = []
  for (const [name, forge] of Object.entries(everyForgery))
    for (const when of ['closed', 'running'] as const) tried.push(await tryForgery(name, forge, when))
  return tried
}

async function tryForgery(name: string, forge: Forge, when: TriedForgery['when']): Promise<TriedForgery> {
  const sample = await makeSample()
  const { world, store, requests } = sample
  const before = requests.length
  if (when === 'closed') await world.averba.close()
  useDatabase(store, database => {
    database.pragma('foreign_keys = off')
    withoutGuards(database, () => forge(database, sample))
  })
  const { level, faults } = await verifyLog({ store })
  const deeds: string[] = []
  try {
    if (when === 'running' || (await succeeds(() => world.restart()))) await act(sample, deeds)
  } catch (error) {
    deeds.push(`went astray: ${error}`)
  }
  for (const method of requests.slice(before)) deeds.push(`sent ${method}`)
  await world.averba.close()
  return { name, when, deeds, found: level === 'broken' ? faults.map(({ check }) => check) : [] }
}

/** Lets the engine work, and adds what it may never do. */
async function act({ world, store, subject, other, pending, revoked }: Sample, deeds: string[]): Promise<void> {
  const { averba, clock } = world
  await succeeds(() => clock.finish(averba.settle()))
  for (const id of [pending, revoked]) {
    const which = { subject, id }
    for (const ask of [() => averba.consents.standing(which), () => averba.consents.use(which, { basis })])
      if ((await ask().catch(() => undefined))?.effective)
        deeds.push(`let a consent be used that ${id === pending ? 'waits' : 'was revoked'}`)
  }
  await succeeds(() => averba.subjects.erase({ cpf: samples.cpf }, erasure))
  const select = 'select is_erased from owner_key where owner = ?'
  const isErased = useDatabase(store, database => database.value(select, `subject-${other}`), { readOnly: true })
  if (isErased === 1) deeds.push('erased another person')
}

async function succeeds(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (error instanceof AverbaError) return false
    throw error
  }
}
