import { AverbaError, type SubjectRef, verifyLog } from '../../src/index.ts'
import { samples, type World } from '../../src/simulation/index.ts'
import { leafHash } from '../../src/store/log/tree.ts'
import { cpfOf } from '../support/cpf-of.ts'
import { Sqlite } from '../support/sqlite.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { withoutGuards } from '../support/use-database.ts'
import { openWorld } from '../support/world.ts'

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
interface Forgery {
  readonly name: string
  forge(database: Sqlite, sample: Sample): void
}

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

const everyForgery: readonly Forgery[] = [
  {
    name: 'a revocation is appended, with its leaf, its call, its receipt and the head',
    forge: appendRevocation,
  },
  {
    name: 'a call that ended is made due again',
    forge: database => makeDue(database, 'consentService.changeStatus'),
  },
  {
    name: 'a paid call in doubt is made due again',
    forge: database => makeDue(database, 'validationService.validatePerson'),
  },
  {
    name: 'a paid call in doubt gets a time',
    forge: database => database.exec(`update effect set due_at = (select at from head) where state = 'unknown'`),
  },
  {
    name: 'a reading that ended is made due as a change',
    forge: database => {
      database.exec(`update effect set type = 'consentService.changeStatus' where type = 'consentService.listConsents'`)
      makeDue(database, 'consentService.changeStatus')
    },
  },
  {
    name: 'a header and its leaf are changed from PENDENTE to ATIVO',
    forge: database => rewriteHeaders(database, /"status":"PENDENTE"/g, '"status":"ATIVO"'),
  },
  {
    name: 'a revocation is changed into an approval, with its leaf',
    forge: database => rewriteHeaders(database, /REVOGADO/g, 'ATIVO', /consent\.revoked/g, 'consent.approved'),
  },
  {
    name: 'a row of a view is changed from PENDENTE to ATIVO',
    forge: database => database.exec(`update consents set status = 'ATIVO' where status = 'PENDENTE'`),
  },
  { name: 'the digests of two persons are swapped', forge: swapPersons },
  {
    name: 'an event of another stream is moved into the stream of a consent',
    forge: database =>
      database.exec(`update event set version = 1 + (select max(b.version) from event b where b.stream = (
          select stream from event where header like '%PENDENTE%' order by position limit 1)),
        stream = (select stream from event where header like '%PENDENTE%' order by position limit 1)
        where position = (select max(position) from event where type = 'consent.revoked')`),
  },
  {
    name: 'a revocation is moved into the stream of the log',
    forge: database => moveAway(database, 'consent.revoked', 'consent.changeRequested'),
  },
  {
    name: 'how calls ended is moved into another stream, and they are made due again',
    forge: database => {
      moveAway(database, 'consent.revoked', 'effect.attempted', 'validation.inconclusive')
      makeDue(database, 'consentService.changeStatus')
      makeDue(database, 'validationService.validatePerson')
      database.exec('update effect set attempts = 0')
    },
  },
  {
    name: 'a stream is said to end before its revocation, which is moved away',
    forge: database => {
      moveAway(database, 'consent.revoked', 'consent.changeRequested')
      database.exec('update stream set version = (select max(version) from event where stream = key)')
    },
  },
  {
    name: 'an event is copied to the end of the log, with its tag',
    forge: database =>
      database.exec(`insert into event (position, stream, version, type, header, leaf, tag)
        select (select max(position) + 1 from event), stream, version + 50, type, header, leaf, tag from event
        where type = 'consent.changeRequested'`),
  },
]

interface Found {
  readonly position: number
  readonly stream: number
  readonly key: number
  readonly name: string
  readonly version: number
  readonly type: string
  readonly header: string
  readonly tag: string
}

function appendRevocation(database: Sqlite): void {
  const read = (sql: string) => database.rows<Found>(sql)[0] as Found // It is there.
  const asked = read(`select * from event where type = 'consent.changeRequested'`)
  const target = read(`select stream.key, stream.name, max(event.version) as version, event.header from event
    join stream on stream.key = event.stream where stream.name like 'consent-%' and event.header like '%"ATIVO"%'
    and event.stream <> ${asked.stream}`)
  const end = read('select max(position) + 1 as position, max(tag) as tag from event')
  const header = JSON.parse(asked.header)
  Object.assign(header, {
    stream: target.name,
    version: target.version + 1,
    position: end.position,
    commandId: 'forged',
  })
  header.effects[0].opens.record = `${target.name}/1/record`
  const text = JSON.stringify(header)
  database
    .prepare('insert into event values (?, ?, ?, ?, ?, ?, ?)')
    .run(end.position, target.key, target.version + 1, asked.type, text, leafHash(text), end.tag)
  database
    .prepare(`insert into effect select ?, 0, ?, type, 'pending', 1, (select at from head), null, 0, '', null, null, null
      from effect where type = 'consentService.changeStatus'`)
    .run(end.position, target.key)
  database
    .prepare(`insert into receipt select 'forged', digest, code, detail, ?, ?, '' from receipt limit 1`)
    .run(`${target.name}/${target.version + 1}/0`, end.position)
  database.prepare('update head set position = ?').run(end.position)
}

/** Moves all events of some types into another stream, where nothing looks for them. */
function moveAway(database: Sqlite, ...types: readonly string[]): void {
  const move = database.prepare('update event set stream = 1, version = 1000 + position where type = ?')
  for (const type of types) if (move.run(type).changes === 0) throw new TypeError(`There is no ${type}`)
}

function makeDue(database: Sqlite, type: string): void {
  database
    .prepare(`update effect set state = 'pending', is_open = 1, due_at = (select at from head), settled_at = null,
      reason = '' where type = ?`)
    .run(type)
}

function rewriteHeaders(database: Sqlite, ...replaced: readonly (RegExp | string)[]): void {
  const update = database.prepare('update event set header = ?, leaf = ? where position = ?')
  const rows = database.prepare('select position, header from event where position > 1').all()
  for (const { position, header } of rows as { position: number; header: string }[]) {
    let changed = header
    for (let i = 0; i < replaced.length; i += 2) changed = changed.replace(replaced[i] ?? '', String(replaced[i + 1]))
    if (changed !== header) update.run(changed, leafHash(changed), position)
  }
}

function swapPersons(database: Sqlite, { subject, other }: Sample): void {
  const swap = database.prepare(`update keyed_index set value = case value when ? then ? else ? end
    where kind = 'cpf' and value in (?, ?)`)
  if (swap.run(subject, other, subject, subject, other).changes !== 2) throw new TypeError('There are two persons')
}

/** Tries every forgery on a log that is closed, and on one that an engine has open. */
export async function tryForgeries(): Promise<TriedForgery[]> {
  const tried: TriedForgery[] = []
  for (const forgery of everyForgery)
    for (const when of ['closed', 'running'] as const) tried.push(await tryForgery(forgery, when))
  return tried
}

async function tryForgery({ name, forge }: Forgery, when: TriedForgery['when']): Promise<TriedForgery> {
  const sample = await makeSample()
  const { world, store, requests } = sample
  const before = requests.length
  if (when === 'closed') await world.averba.close()
  const database = new Sqlite(store)
  database.pragma('foreign_keys = off')
  withoutGuards(database, () => forge(database, sample))
  database.close()
  const found = await findFaults(store)
  const deeds: string[] = []
  try {
    if (when === 'running' || (await succeeds(() => world.restart()))) await act(sample, deeds)
  } catch (error) {
    deeds.push(`went astray: ${error}`)
  }
  for (const method of requests.slice(before)) deeds.push(`sent ${method}`)
  await world.averba.close()
  return { name, when, deeds, found }
}

/** Lets the engine work, and adds what it may never do. */
async function act({ world, store, subject, other, pending, revoked }: Sample, deeds: string[]): Promise<void> {
  const { averba, clock } = world
  await succeeds(() => clock.finish(averba.settle()))
  for (const [id, what] of [
    [pending, 'used a consent that waits'],
    [revoked, 'used a revoked consent'],
  ] as const) {
    const isEffective = await averba.consents.use({ subject, id }, { basis }).then(
      use => use.effective,
      () => false,
    )
    if (isEffective) deeds.push(what)
  }
  await succeeds(() => averba.subjects.erase({ cpf: samples.cpf }, erasure))
  const database = new Sqlite(store, { readOnly: true })
  const select = 'select is_erased from owner_key where owner = ?'
  if (database.value(select, `subject-${other}`) === 1) deeds.push('erased another person')
  database.close()
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

async function findFaults(store: string): Promise<string[]> {
  const { level, faults } = await verifyLog({ store })
  return level === 'broken' ? faults.map(fault => fault.check) : []
}
