import { readIso } from './adapters/brasilia.ts'
import type { Listed, Summary } from './adapters/consent/protocol.ts'
import type { ConsentimentoDetalhado } from './adapters/consent/wire.ts'
import type { Listing } from './adapters/listing.ts'
import type { Area } from './area.ts'
import { parseCnpj } from './cnpj.ts'
import { parseCpf } from './cpf.ts'
import type { Delivery, Target } from './decisions.ts'
import { AverbaError } from './errors.ts'
import { type ConsentStatus, consentStatuses } from './machines/consent-status.ts'
import type { Carried, Instant, Owed } from './message.ts'
import { type Ask, type Outcome, valueOf } from './outcome.ts'
import type { SubjectRef, Which, Who } from './subjects.ts'
import { checkSyncEveryMs, scheduleSync, syncAgain } from './sync-schedule.ts'
import type { ConsentRow } from './views/consents.ts'

/** How fresh an answer must be: older than this, the service is read first. Absent: the view answers. */
export interface Fresh {
  readonly ageMaxMs?: number
}

/** A consent request of a data subject, under the contract's own names (document 1, section 2). */
export interface Consent {
  /** The service's id. */
  readonly id: string
  readonly status: ConsentStatus
  readonly dataHora: Instant | null
  readonly dataExpiracao: Instant | null
  /** As the service gave it, also where it is not a CNPJ. */
  readonly cnpjUsuario: string | null
  /**
   * `changing` while our request is out, `uncertain` while its outcome is not known, `vanished` when the
   * service lists it no more.
   */
  readonly knowledge: ConsentRow['knowledge']
  readonly readAt: Instant | null
}

/** A consent with all that the service tells of it. */
export interface ConsentDetail extends Consent, Partial<DetailMembers> {
  readonly historico: readonly {
    readonly status: string
    readonly dataHora: Instant | null
    readonly dataExpiracao: Instant | null
  }[]
}
type DetailMembers = Pick<
  ConsentimentoDetalhado,
  'idTemplatePdc' | 'categoria' | 'usuario' | 'finalidade' | 'titular'
>

/** What a reading of all consents of a data subject found. */
export interface Synced {
  readonly read: number
  /** How many events it made. */
  readonly changed: number
  /** Records that could not be read: kept, sealed, as they came. */
  readonly unreadable: number
}

/** Consents of data subjects at the consent service (document 1, operations 1 to 3). */
export interface Consents {
  /**
   * Enrols a data subject. Enrolling the same CPF again gives the same ref. With `syncEveryMs`, or the option
   * `consentService.syncEveryMs`, all consents are read so often while `run` or `settle` does, the first time at once;
   * enrolling again with another number changes it.
   *
   * @throws {AverbaError} `INVALID_CPF`, `PERSONAL_ID`, `COMMAND_REUSED`
   */
  enrol(who: { cpf: string }, ask?: Ask & { syncEveryMs?: number }): Promise<SubjectRef>
  /** Reads all consents of a data subject at the service and records what changed. */
  sync(who: Who, ask?: Ask): Promise<Outcome<Synced>>
  /**
   * Lists the consents of a data subject, all or of one controller or status. Those that the service lists
   * no more are left out, unless `vanished` asks for them.
   *
   * @throws {AverbaError} `INVALID_CNPJ`, `INVALID_INPUT` for an unknown status, `NOT_FOUND`
   */
  list(
    filter: Who & Fresh & { cnpj?: string; status?: ConsentStatus; vanished?: boolean },
  ): Promise<Consent[]>
  /**
   * One consent in full, or `undefined` when the subject has none under this id. One that has vanished is
   * given as it was last read in full.
   */
  get(which: Which & Fresh): Promise<ConsentDetail | undefined>
  /**
   * Asks the service to make a PENDENTE consent ATIVO.
   *
   * @throws {AverbaError} `REFUSED`, before any request leaves, when the contract's table forbids it
   */
  approve(which: Which, ask?: Ask): Promise<Outcome<Consent>>
  /** Asks the service to make a PENDENTE consent NEGADO. Throws as `approve` does. */
  deny(which: Which, ask?: Ask): Promise<Outcome<Consent>>
  /** Asks the service to make an ATIVO consent REVOGADO. Throws as `approve` does. */
  revoke(which: Which, ask?: Ask): Promise<Outcome<Consent>>
}

/** Makes the area `consents`. */
export function createConsents(area: Area): Consents {
  const { commands, store, subjects, views } = area

  async function sync(who: Who, ask: Ask = {}) {
    area.require('consentService')
    const subject = await subjects.find(who)
    return commands.send(
      { method: 'consents.sync', subject },
      async () => ({
        targets: [{ stream: `subject-${subject}`, message: { type: 'subject.sync', data: {} } }],
      }),
      ask,
      async ended => ended.data as Synced, // subject.synced says so.
    )
  }

  async function rowsOf(subject: SubjectRef): Promise<ConsentRow[]> {
    return views
      .selectFrom('consents')
      .selectAll()
      .where('subject', '=', subject)
      .orderBy('consent')
      .execute()
  }

  async function refresh(subject: SubjectRef, ageMaxMs: number | undefined): Promise<Instant | null> {
    const readAt = async () => {
      const query = views.selectFrom('subjects').select('synced_at').where('subject', '=', subject)
      return (await query.executeTakeFirst())?.synced_at ?? null
    }
    const last = await readAt()
    if (area.isFresh(last, ageMaxMs)) return last
    valueOf(await sync({ subject }))
    return readAt()
  }

  async function toConsent(row: ConsentRow, readAt: Instant | null): Promise<Consent> {
    const record = (await store.open(row.record)) as { id: string; cnpjUsuario?: unknown } // Sealed with its id.
    const given = typeof record.cnpjUsuario === 'string' ? record.cnpjUsuario : null
    return {
      id: record.id,
      status: row.status,
      dataHora: row.created_at,
      dataExpiracao: row.expires_at,
      cnpjUsuario: row.controller ?? given,
      knowledge: row.knowledge,
      readAt,
    }
  }

  async function find(which: Which): Promise<{ subject: SubjectRef; row: ConsentRow | undefined }> {
    const subject = await subjects.find(which)
    const consent = await store.lookUp('consent', `${subject}\0${which.id}`)
    const query = views.selectFrom('consents').selectAll().where('consent', '=', `consent-${consent}`)
    return { subject, row: consent === undefined ? undefined : await query.executeTakeFirst() }
  }

  async function change(
    verb: 'approve' | 'deny' | 'revoke',
    which: Which,
    ask: Ask = {},
  ): Promise<Outcome<Consent>> {
    area.require('consentService')
    const { subject, row } = await find(which)
    if (!row) {
      throw new AverbaError('NOT_FOUND', `Cannot ${verb} the consent: nothing is known of it`, {
        hint: 'Call consents.sync first',
      })
    }
    return commands.send(
      { method: `consents.${verb}`, subject, id: which.id },
      async () => ({ targets: [{ stream: row.consent, message: { type: `consent.${verb}`, data: {} } }] }),
      ask,
      async ended => {
        const { row: now } = await find(which)
        return toConsent(now ?? row, now?.changed_at ?? ended.at)
      },
    )
  }

  async function describe(row: ConsentRow): Promise<ConsentRow> {
    area.require('consentService')
    const outcome = await commands.send(
      { method: 'consents.get', consent: row.consent },
      async () => ({ targets: [{ stream: row.consent, message: { type: 'consent.readDetail', data: {} } }] }),
      {},
      () =>
        views.selectFrom('consents').selectAll().where('consent', '=', row.consent).executeTakeFirstOrThrow(),
    )
    return valueOf(outcome)
  }

  return {
    async enrol(who, { syncEveryMs: given, ...ask } = {}) {
      const cpf = parseCpf(who.cpf)
      const syncEveryMs = given ?? area.options.consentService?.syncEveryMs
      if (given !== undefined) checkSyncEveryMs(given)
      const input = { method: 'consents.enrol', cpf, ...(given !== undefined && { syncEveryMs: given }) }
      const deliver = async () => {
        const met = await subjects.meet(cpf, 'host')
        if (syncEveryMs === undefined) return met
        const target = { stream: `subject-${met.subject}`, message: scheduleSync(area, syncEveryMs) }
        return { ...met, targets: [...met.targets, target] }
      }
      await commands.record(input, deliver, ask)
      return subjects.find({ cpf })
    },
    sync,
    async list(filter) {
      const subject = await subjects.find(filter)
      const { status } = filter
      if (status !== undefined && !consentStatuses.includes(status)) {
        throw new AverbaError('INVALID_INPUT', 'Cannot list consents: the status is unknown', {
          hint: `Use one of ${consentStatuses.join(', ')}`,
        })
      }
      const cnpj = filter.cnpj === undefined ? undefined : parseCnpj(filter.cnpj)
      const readAt = await refresh(subject, filter.ageMaxMs)
      const rows = await rowsOf(subject)
      const wanted = rows.filter(row => {
        if (row.knowledge === 'vanished' && !filter.vanished) return false
        return (
          (cnpj === undefined || row.controller === cnpj) && (status === undefined || row.status === status)
        )
      })
      return Promise.all(wanted.map(row => toConsent(row, readAt)))
    },
    async get(which) {
      const { subject, row: known } = await find(which)
      if (!known) await refresh(subject, which.ageMaxMs)
      const row = known ?? (await find(which)).row
      if (!row) return undefined
      const hasVanished = row.knowledge === 'vanished'
      if (hasVanished && row.detail === null) return undefined
      const isFresh = row.detail !== null && area.isFresh(row.described_at, which.ageMaxMs)
      const described = isFresh || hasVanished ? row : await describe(row)
      const detail = (await store.open(described.detail ?? '')) as Partial<ConsentimentoDetalhado> // Kept as it came.
      const { idTemplatePdc, categoria, usuario, finalidade, titular, historico } = detail
      const members = { idTemplatePdc, categoria, usuario, finalidade, titular }
      return {
        ...(await toConsent(described, described.described_at)),
        ...(Object.fromEntries(
          Object.entries(members).filter(([, value]) => value !== undefined),
        ) as Partial<DetailMembers>), // The same members.
        historico: (historico ?? []).map(({ status, dataHora, dataExpiracao }) => ({
          status,
          dataHora: readIso(dataHora),
          dataExpiracao: readIso(dataExpiracao),
        })),
      }
    },
    approve: (which, ask) => change('approve', which, ask),
    deny: (which, ask) => change('deny', which, ask),
    revoke: (which, ask) => change('revoke', which, ask),
  }
}

/** Sends each listed consent to its own stream, and says to those of the subject that are missing. */
export async function routeConsents(area: Area, owed: Owed, fact: Carried, since: number): Promise<Delivery> {
  const { items, unreadable } = fact.data as Listing<Listed<Summary>> // As the client reads it.
  const owner = owed.stream
  const subject = owner.slice('subject-'.length)
  const targets: Target[] = []
  const claims = []
  const seen = new Set<string>()
  const byId = new Map(items.map(item => [item.id, item]))
  for (const [id, { summary, record }] of byId) {
    const key = `${subject}\0${id}`
    const known = await area.store.lookUp('consent', key)
    const consent = known ?? area.createId()
    const stream = `consent-${consent}`
    seen.add(stream)
    if (known === undefined)
      claims.push({ kind: 'consent', digest: area.store.digest('consent', key), value: consent })
    const parts = { record: { owner, value: record } }
    const data = { ...summary, consent, subject }
    const isNew = known === undefined
    targets.push({ stream, message: { type: 'consent.observe', data, parts }, since, isNew })
  }
  const held = await area.views
    .selectFrom('consents')
    .select('consent')
    .where('subject', '=', subject)
    .execute()
  // A record that cannot be read may be any of those that seem to be missing.
  const missing = unreadable.length > 0 ? [] : held.filter(row => !seen.has(row.consent))
  for (const { consent } of missing)
    targets.push({ stream: consent, message: { type: 'consent.miss', data: {} }, since })
  const again = syncAgain(area, owed)
  const listed = (changed: number): Carried => ({
    type: 'consentService.consentsListed',
    data: { read: items.length, changed, unreadable: unreadable.length, ...again },
    ...(unreadable.length > 0 && { parts: { unreadable: { owner, value: unreadable } } }),
  })
  return { targets: [...targets, { stream: owner, message: listed }], claims }
}
