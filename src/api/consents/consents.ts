import { readEntries } from '../../adapters/consent/protocol.ts'
import type { ConsentimentoDetalhado } from '../../adapters/consent/wire.ts'
import type { AddressedMessage } from '../../engine/recording/decisions.ts'
import { type ConsentStatus, consentStatuses } from '../../machines/consent/status.ts'
import type { ConsentRow } from '../../views/consents.ts'
import { parseCnpj, readCnpj } from '../../vocabulary/cnpj.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { Instant, PendingEffect, RecordedEvent } from '../../vocabulary/message.ts'
import { effectStream, isStreamOf, streamOf } from '../../vocabulary/names.ts'
import { type CommandOptions, type Outcome, valueOf } from '../../vocabulary/outcome.ts'
import type { ApiContext } from '../api-context.ts'
import { checkAge, checkOneOf, notAbout } from '../arguments.ts'
import type { RecordSelector, SubjectRef, SubjectSelector } from '../subject-directory.ts'
import { createStandings, type Standings } from './effectiveness.ts'
import { createEnrolments, type Enrolments } from './enrolments.ts'
import { checkWhy, type DecisionEvidence } from './evidence.ts'
import { createConsentReadings, type FreshnessOptions, type SyncResult } from './readings.ts'

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
   * `changed` while the service shows another status whose history has not been read, `changing` while our request is
   * out, `uncertain` while its outcome is not known, `vanished` when the service no longer lists it.
   */
  readonly knowledge: ConsentRow['knowledge']
  readonly readAt: Instant | null
}

/** A consent with all that the service tells of it. */
export interface ConsentDetail extends Consent, Partial<DetailMembers> {
  /** As the service gave it; what has no status is left out. */
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

/** A consent with whose it is. */
export interface OwnedConsent extends Consent {
  readonly subject: SubjectRef
}

/** Consents of data subjects at the consent service (document 1, operations 1 to 3). */
export interface Consents extends Enrolments, Standings {
  /**
   * Reads all consents of a data subject at the service and records what changed. A consent with another status is read
   * in full, for the events and times in its history.
   */
  sync(selector: SubjectSelector, commandOptions?: CommandOptions): Promise<Outcome<SyncResult>>
  /**
   * Lists the consents of a data subject, all or of one controller or status. Those that the service no longer lists
   * are left out, unless `vanished` asks for them.
   *
   * @throws {AverbaError} `INVALID_CNPJ`, `INVALID_INPUT` for an unknown status or a wrong `ageMaxMs`, `NOT_FOUND`;
   * `VIEW_STOPPED` while the view of consents stands still: `get` and `standing` go by the log then
   */
  list(
    filter: SubjectSelector &
      FreshnessOptions & { cnpj?: string; status?: ConsentStatus; vanished?: boolean },
  ): Promise<Consent[]>
  /**
   * One consent in full, or `undefined` when the subject has none under this id. One that has vanished is
   * given as it was last read in full.
   *
   * @throws {AverbaError} `NOT_FOUND`, `INVALID_INPUT` for a wrong `ageMaxMs`
   */
  get(selector: RecordSelector & FreshnessOptions): Promise<ConsentDetail | undefined>
  /**
   * The consent that an event of `log.follow`, `log.read` or `on` is about, as it is now: whose it is and the service's
   * id, which no event holds. `undefined` once its data subject has been erased. No service is read.
   *
   * @throws {AverbaError} `INVALID_INPUT` when the event is not about a consent
   */
  of(event: Pick<RecordedEvent, 'stream'>): Promise<OwnedConsent | undefined>
  /**
   * Asks the service to make a PENDENTE consent ATIVO. Reason and evidence are kept sealed, under the data subject.
   *
   * A change that was asked for before and has not left is withdrawn: it ends as `declined`, `WITHDRAWN`.
   *
   * @throws {AverbaError} `REFUSED`, before any request leaves, when the contract's table forbids it, or another change
   * is out
   */
  approve(selector: RecordSelector, evidence?: CommandOptions & DecisionEvidence): Promise<Outcome<Consent>>
  /** Asks the service to make a PENDENTE consent NEGADO. Throws as `approve` does. */
  deny(selector: RecordSelector, evidence?: CommandOptions & DecisionEvidence): Promise<Outcome<Consent>>
  /** Asks the service to make an ATIVO consent REVOGADO. Throws as `approve` does. */
  revoke(selector: RecordSelector, evidence?: CommandOptions & DecisionEvidence): Promise<Outcome<Consent>>
}

/** Makes the area `consents`. */
export function createConsents(context: ApiContext): Consents {
  const { clock, commands, rows, store, subjects, views } = context
  const readings = createConsentReadings(context)
  const { refresh } = readings

  async function rowsOf(subject: SubjectRef): Promise<ConsentRow[]> {
    return views
      .selectFrom('consents')
      .selectAll()
      .where('subject', '=', subject)
      .orderBy('consent')
      .execute()
  }

  async function toConsent(row: ConsentRow, readAt: Instant | null): Promise<Consent> {
    const record = (await store.open(row.record)) as { id: string; cnpjUsuario?: unknown } // Sealed with its id.
    const text = typeof record.cnpjUsuario === 'string' ? record.cnpjUsuario : null
    // Text that is no CNPJ stands nowhere else; a CNPJ that is not in the row is one that the service no longer gives.
    const given = text !== null && readCnpj(text) === undefined ? text : null
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

  async function find(
    selector: RecordSelector,
  ): Promise<{ subject: SubjectRef; stream: string | undefined }> {
    const subject = await subjects.find(selector)
    const consent = await store.lookUp('consent', `${subject}\0${selector.id}`)
    return { subject, stream: consent === undefined ? undefined : streamOf('consent', consent) }
  }

  async function rowOf(stream: string): Promise<ConsentRow> {
    const row = await rows.find('consents', stream)
    if (!row) throw new TypeError('A consent is known and has no row')
    return row
  }

  async function change(
    verb: 'approve' | 'deny' | 'revoke',
    selector: RecordSelector,
    { reason, evidence, ...ask }: CommandOptions & DecisionEvidence = {},
  ): Promise<Outcome<Consent>> {
    context.require('consentService')
    const why = checkWhy({ reason, evidence })
    const { subject, stream } = await find(selector)
    if (stream === undefined) {
      throw new AverbaError('NOT_FOUND', `Cannot ${verb} the consent: nothing is known of it`, {
        hint: 'Call consents.sync first',
      })
    }
    const parts = why && { why: { owner: streamOf('subject', subject), value: why } }
    return commands.send(
      { method: `consents.${verb}`, subject, id: selector.id, ...(why && { why }) },
      async () => {
        const waiting = await changeThatWaits(stream)
        const type = waiting ? `consent.${verb}Instead` : `consent.${verb}`
        const message = { type, data: { askedAt: toInstant(clock.now()) }, ...(parts && { parts }) }
        return { targets: [{ stream, message }, ...(waiting ? [withdraw(waiting)] : [])] }
      },
      ask,
      async () => {
        const row = await rowOf(stream)
        return toConsent(row, row.changed_at)
      },
    )
  }

  /**
   * The change of a consent that was put off or is parked, and so has not left, unless there is another one as well.
   */
  async function changeThatWaits(stream: string): Promise<PendingEffect | undefined> {
    const open = await store.effects({ stream, states: ['owed', 'started', 'deferred', 'parked', 'unknown'] })
    const [change, other] = open.filter(({ type }) => type === 'consentService.changeStatus')
    return !other && (change?.state === 'deferred' || change?.state === 'parked') ? change : undefined
  }

  async function describe(row: ConsentRow): Promise<ConsentRow> {
    context.require('consentService')
    const outcome = await commands.send(
      { method: 'consents.get', consent: row.consent },
      async () => ({ targets: [{ stream: row.consent, message: { type: 'consent.readDetail', data: {} } }] }),
      {},
      () => rowOf(row.consent),
    )
    return valueOf(outcome)
  }

  return {
    ...createEnrolments(context),
    sync: readings.sync,
    async list(filter) {
      const subject = await subjects.find(filter)
      const { status } = filter
      if (status !== undefined) checkOneOf(status, consentStatuses, 'status')
      checkAge(filter.ageMaxMs)
      const cnpj = filter.cnpj === undefined ? undefined : parseCnpj(filter.cnpj)
      const readAt = await refresh(subject, filter.ageMaxMs)
      const wanted = (await rowsOf(subject)).filter(row => {
        if (row.knowledge === 'vanished' && !filter.vanished) return false
        return (
          (cnpj === undefined || row.controller === cnpj) && (status === undefined || row.status === status)
        )
      })
      return Promise.all(wanted.map(row => toConsent(row, readAt)))
    },
    async get(which) {
      checkAge(which.ageMaxMs)
      const { subject, stream: known } = await find(which)
      if (known === undefined) await refresh(subject, which.ageMaxMs)
      const stream = known ?? (await find(which)).stream
      if (stream === undefined) return undefined
      const row = await rowOf(stream)
      const hasVanished = row.knowledge === 'vanished'
      // Retention may have destroyed the details: then they are read again.
      const isThere = row.detail !== null && (await store.open(row.detail)) !== undefined
      if (hasVanished && !isThere) return undefined
      const isFresh = isThere && context.isFresh(row.described_at, which.ageMaxMs)
      const described = isFresh || hasVanished ? row : await describe(row)
      const detail = (await store.open(described.detail ?? '')) as Partial<ConsentimentoDetalhado> // Kept as it came.
      const { idTemplatePdc, categoria, usuario, finalidade, titular, historico } = detail
      const members = { idTemplatePdc, categoria, usuario, finalidade, titular }
      return {
        ...(await toConsent(described, described.described_at)),
        ...(Object.fromEntries(
          Object.entries(members).filter(([, value]) => value !== undefined),
        ) as Partial<DetailMembers>), // The same members.
        historico: readEntries(historico).filter(entry => entry !== undefined),
      }
    },
    async of({ stream }) {
      const row = isStreamOf('consent', stream) ? await rows.find('consents', stream) : undefined
      if (!row) throw notAbout('consent')
      if (row.knowledge === 'erased') return undefined
      // As the machine writes it.
      return { subject: row.subject as SubjectRef, ...(await toConsent(row, row.changed_at)) }
    },
    approve: (selector, why) => change('approve', selector, why),
    deny: (selector, why) => change('deny', selector, why),
    revoke: (selector, why) => change('revoke', selector, why),
    ...createStandings(context, readings),
  }
}

/**
 * Ends a call that has not left, together with what is asked for in its place: an attempt that begins meanwhile makes
 * both fail.
 */
function withdraw(pending: Pick<PendingEffect, 'id' | 'type' | 'position'>): AddressedMessage {
  const { id: effect, type } = pending
  return { stream: effectStream(pending), message: { type: 'effect.withdraw', data: { effect, type } } }
}
