import { readHistoryEntries } from '../../adapters/consent/protocol.ts'
import type { ConsentimentoDetalhado } from '../../adapters/consent/wire.ts'
import { readTrace } from '../../engine/performing/attempt-trace.ts'
import { type ConsentStatus, consentStatuses, isOpen } from '../../machines/consent/status.ts'
import type { ConsentRow } from '../../views/consents.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { dayMs, fromInstant, toInstant } from '../../vocabulary/instant.ts'
import {
  type Instant,
  type PendingEffect,
  type RecordedEvent,
  unsentStates,
  withdrawnProblem,
} from '../../vocabulary/message.ts'
import { effectStream, isStreamOf, streamOf } from '../../vocabulary/names.ts'
import { type CommandOptions, type Outcome, valueOf } from '../../vocabulary/outcome.ts'
import { parseCnpj, readCnpj } from '../../vocabulary/tax-numbers.ts'
import { type ApiContext, findStream, recordKey } from '../api-context.ts'
import { checkAge, checkOneOf, checkStream, eventMismatch } from '../arguments.ts'
import { requireAs } from '../events.ts'
import { type RecordSelector, type SubjectRef, type SubjectSelector, toSubjectRef } from '../subject-directory.ts'
import { checkEvidence, type DecisionEvidence } from './changes.ts'
import { createEnrolments, type Enrolments } from './enrolments.ts'
import { createConsentReadings, type FreshnessOptions, type SyncResult, type SyncSelector } from './readings.ts'
import { createStandings, type Standings } from './standings.ts'

/** A consent request of a data subject, under the contract's own names (document 1, section 2). */
export interface Consent {
  /** The service's id. */
  readonly id: string
  readonly status: ConsentStatus
  readonly dataHora: Instant | null
  readonly dataExpiracao: Instant | null
  /** As the service sent it, even when it is not a CNPJ. */
  readonly cnpjUsuario: string | null
  /**
   * - `changed`: the service shows another status, and its history has not been read yet.
   * - `changing`: our change request is under way.
   * - `uncertain`: the outcome of our request is not known.
   * - `vanished`: the service no longer lists the consent.
   */
  readonly knowledge: ConsentRow['knowledge']
  readonly readAt: Instant | null
}

/** A consent with every member that the service returned. */
export interface ConsentDetail extends Consent, Partial<DetailMembers> {
  /** As the service sent it, without entries that have no status. */
  readonly historico: readonly {
    readonly status: string
    readonly dataHora: Instant | null
    readonly dataExpiracao: Instant | null
  }[]
}

type DetailMembers = Pick<ConsentimentoDetalhado, 'idTemplatePdc' | 'categoria' | 'usuario' | 'finalidade' | 'titular'>

/** A consent with its data subject. */
export interface OwnedConsent extends Consent {
  readonly subject: SubjectRef
}

/** Consents of data subjects at the consent service (document 1, operations 1 to 3). */
export interface Consents extends Enrolments, Standings {
  /**
   * Reads the consents of a data subject from the service, those with a new status in full, and records the changes:
   * those of all controllers, or of one only, by `cnpj` here or in `consentService`.
   *
   * @throws {AverbaError} `INVALID_CNPJ`, `NOT_FOUND`
   */
  sync(selector: SyncSelector, commandOptions?: CommandOptions): Promise<Outcome<SyncResult>>
  /**
   * Lists the consents of a data subject, with `cnpj` here or in `consentService` those of one controller; those that
   * the service no longer lists only with `vanished`.
   *
   * @throws {AverbaError} `INVALID_CNPJ`, `INVALID_INPUT` for an unknown status or a wrong `ageMaxMs`, `NOT_FOUND`;
   * `VIEW_STOPPED` while the view of consents is stopped (`get` and `standing` still work: they read the log)
   */
  list(
    filter: SubjectSelector & FreshnessOptions & { cnpj?: string; status?: ConsentStatus; vanished?: boolean },
  ): Promise<Consent[]>
  /**
   * Gets one consent in full, a vanished one as it was last read; `undefined` for an unknown id.
   *
   * @throws {AverbaError} `NOT_FOUND`, `INVALID_INPUT` for a wrong `ageMaxMs`
   */
  get(selector: RecordSelector & FreshnessOptions): Promise<ConsentDetail | undefined>
  /**
   * Finds the consent that an event is about, as it is now, with its data subject and its id at the service: events
   * hold neither. `undefined` once the data subject was erased. Sends no request.
   *
   * @throws {AverbaError} `INVALID_INPUT` when the event is not about a consent
   */
  of(event: Pick<RecordedEvent, 'stream'>): Promise<OwnedConsent | undefined>
  /**
   * Asks the service to change a consent from PENDENTE to ATIVO. Reason and evidence are sealed under the subject's
   * key. An earlier change request that was not sent yet is withdrawn: it ends as `declined`, `WITHDRAWN`.
   *
   * @throws {AverbaError} `REFUSED`, before any request is sent, when the contract's table forbids the change or
   * another change is under way
   */
  approve(selector: RecordSelector, evidence?: CommandOptions & DecisionEvidence): Promise<Outcome<Consent>>
  /**
   * Asks the service to change a consent from PENDENTE to NEGADO. Of one that the service no longer lists, the end is
   * wanted from now on, and asked for once it is listed again: the outcome is `pending`, with an empty `effect`.
   * Throws as `approve` does.
   */
  deny(selector: RecordSelector, evidence?: CommandOptions & DecisionEvidence): Promise<Outcome<Consent>>
  /** Asks the service to change a consent from ATIVO to REVOGADO. All else is as for `deny`. */
  revoke(selector: RecordSelector, evidence?: CommandOptions & DecisionEvidence): Promise<Outcome<Consent>>
  /**
   * Gives up a denial or revocation that has not been made: it is no longer asked for. Uses are blocked only until it
   * is known what became of a request that is under way; one that was not sent is withdrawn with it. Reason and
   * evidence are sealed as for `approve`; the reason is required. The outcome is settled, with an empty `effect`: it
   * is recorded here, and the service is not told. If a reading follows, it waits for that, whatever its outcome.
   *
   * @throws {AverbaError} `INVALID_INPUT` without a reason, `REFUSED` when no end is wanted, `NOT_FOUND`
   */
  withdrawEnd(
    selector: RecordSelector,
    evidence: CommandOptions & DecisionEvidence & { readonly reason: string },
  ): Promise<Outcome<Consent>>
}

export function createConsents(context: ApiContext): Consents {
  const { clock, commands, rows, store, subjects, views } = context
  const readings = createConsentReadings(context)
  const { refresh } = readings

  async function toConsent(row: ConsentRow, readAt: Instant | null): Promise<Consent> {
    const record = await requireAs(store, 'record', row.record)
    const text = typeof record.cnpjUsuario === 'string' ? record.cnpjUsuario : null
    // The row holds a valid CNPJ only. A valid CNPJ that is not in the row is one that the service no longer returns.
    const invalidCnpj = text !== null && readCnpj(text) === undefined ? text : null
    return {
      id: record.id,
      status: row.status,
      dataHora: row.created_at,
      dataExpiracao: row.expires_at,
      cnpjUsuario: row.controller ?? invalidCnpj,
      // It may not be used: its end is wanted.
      knowledge: row.knowledge === 'known' && row.end_wanted_at !== null ? 'uncertain' : row.knowledge,
      readAt,
    }
  }

  async function findConsent(selector: RecordSelector): Promise<{ subject: SubjectRef; stream: string | undefined }> {
    const subject = await subjects.find(selector, 'id')
    return { subject, stream: await findStream(store, 'consent', recordKey(subject, selector.id)) }
  }

  async function findRow(stream: string): Promise<ConsentRow> {
    const row = await rows.find('consents', stream)
    if (!row) throw new TypeError('A consent is known and has no row')
    return row
  }

  async function requestChange(
    verb: 'approve' | 'deny' | 'revoke' | 'withdrawEnd',
    selector: RecordSelector,
    { reason, evidence, ...ask }: CommandOptions & DecisionEvidence = {},
  ): Promise<Outcome<Consent>> {
    context.require('consentService')
    const { approvalMaxMs = dayMs } = context.options.consentService ?? {}
    const why = checkEvidence({ reason, evidence })
    if (verb === 'withdrawEnd') checkReason(reason)
    const { subject, stream } = await findConsent(selector)
    if (stream === undefined) throw unknownConsent(verb === 'withdrawEnd' ? 'withdraw the end of' : verb)
    const parts = why && { why: { owner: streamOf('subject', subject), value: why } }
    const value = async () => {
      const row = await findRow(stream)
      return toConsent(row, row.changed_at)
    }
    const input = { method: `consents.${verb}`, subject, id: selector.id, ...(why && { why }) }
    const createRequest = async () => {
      const waiting = await findWaitingChange(stream)
      // One that was answered, by whomever, may have been made.
      const wasAnswered = waiting !== undefined && (await readTrace(store, waiting)).wasAnswered
      const ofWaiting = waiting && (wasAnswered ? { sentBefore: true } : { isUnsent: true })
      const now = clock.now()
      const until = verb === 'approve' && { until: toInstant(now + approvalMaxMs) }
      const data = { ...ofWaiting, ...(verb !== 'withdrawEnd' && { askedAt: toInstant(now), ...until }) }
      const message = { type: `consent.${verb}`, data, ...(parts && { parts }) }
      if (!waiting) return { targets: [{ stream, message }] }
      const ref = { effect: waiting.id, type: waiting.type }
      const withdrawn = { stream: effectStream(waiting), message: { type: 'effect.withdraw', data: ref } }
      // An attempt may begin meanwhile, also of another process.
      return { targets: [{ stream, message }, withdrawn], cancelsFrom: unsentStates }
    }
    const outcome = await commands.send(input, createRequest, ask, value, async () => {
      // An end is wanted that is asked for later, until it is made or given up.
      const row = await findRow(stream)
      if (row.end_wanted_at !== null) return { status: 'pending' }
      if (isOpen(row.status)) return { status: 'declined', problem: withdrawnProblem }
      return { status: 'settled', value: await value() }
    })
    if (verb !== 'withdrawEnd') return outcome
    // It is given up once that is recorded, whatever becomes of the reading that may follow.
    const { position, replayed } = outcome
    return { position, effect: '', replayed, status: 'settled', value: await value() }
  }

  /** The change of a consent that waits to be sent, or sent again; `undefined` unless there is exactly one. */
  async function findWaitingChange(stream: string): Promise<PendingEffect | undefined> {
    const open = await store.effects({ stream, states: ['pending', 'started', 'deferred', 'parked', 'unknown'] })
    const [change, other] = open.filter(({ type }) => type === 'consentService.changeStatus')
    // One from before a restore may have been made since.
    if (!change || other || store.isFromBeforeRestore(change)) return undefined
    const { state, dueAt } = change
    const isLater = state === 'pending' && dueAt !== undefined && fromInstant(dueAt) > clock.now()
    return state === 'deferred' || state === 'parked' || isLater ? change : undefined
  }

  async function readDetail(row: ConsentRow): Promise<ConsentRow> {
    context.require('consentService')
    const outcome = await commands.send(
      { method: 'consents.get', consent: row.consent },
      async () => ({ targets: [{ stream: row.consent, message: { type: 'consent.readDetail', data: {} } }] }),
      {},
      () => findRow(row.consent),
    )
    return valueOf(outcome)
  }

  return {
    ...createEnrolments(context),
    sync: readings.sync,
    async list(filter) {
      const subject = await subjects.find(filter, 'status', 'cnpj', 'vanished', 'ageMaxMs')
      const { status } = filter
      if (status !== undefined) checkOneOf(status, consentStatuses, 'status')
      checkAge(filter.ageMaxMs)
      // A host of one controller sees that one's, unless it names another one: only those are kept up to date.
      const cnpj = filter.cnpj === undefined ? context.options.consentService?.cnpj : parseCnpj(filter.cnpj)
      const readAt = await refresh(subject, filter.ageMaxMs, cnpj)
      const all = views.selectFrom('consents').selectAll().where('subject', '=', subject).orderBy('consent')
      const wanted = (await all.execute()).filter(row => {
        if (row.knowledge === 'vanished' && !filter.vanished) return false
        return (cnpj === undefined || row.controller === cnpj) && (status === undefined || row.status === status)
      })
      return Promise.all(wanted.map(row => toConsent(row, readAt(row.controller))))
    },
    async get(selector) {
      const { ageMaxMs } = selector
      checkAge(ageMaxMs)
      const { subject, stream: known } = await findConsent(selector)
      if (known === undefined) await refresh(subject, ageMaxMs)
      const stream = known ?? (await findConsent(selector)).stream
      if (stream === undefined) return undefined
      const row = await findRow(stream)
      const hasVanished = row.knowledge === 'vanished'
      // Retention may have destroyed the details.
      const hasDetail = row.detail !== null && (await store.open(row.detail)) !== undefined
      if (hasVanished && !hasDetail) return undefined
      const isFresh = hasDetail && context.isFresh(row.described_at, ageMaxMs)
      const described = isFresh || hasVanished ? row : await readDetail(row)
      const detail = await requireAs(store, 'consent', described.detail ?? '')
      const { idTemplatePdc, categoria, usuario, finalidade, titular, historico } = detail
      return {
        ...(await toConsent(described, described.described_at)),
        ...(idTemplatePdc !== undefined && { idTemplatePdc }),
        ...(categoria !== undefined && { categoria }),
        ...(usuario !== undefined && { usuario }),
        ...(finalidade !== undefined && { finalidade }),
        ...(titular !== undefined && { titular }),
        historico: readHistoryEntries(historico).filter(entry => entry !== undefined),
      }
    },
    async of({ stream }) {
      checkStream(stream)
      if (!isStreamOf('consent', stream)) throw eventMismatch('consent')
      const row = await rows.find('consents', stream)
      if (!row) throw unknownConsent('find')
      if (row.knowledge === 'erased') return undefined
      return { subject: toSubjectRef(row.subject), ...(await toConsent(row, row.changed_at)) }
    },
    approve: (selector, why) => requestChange('approve', selector, why),
    deny: (selector, why) => requestChange('deny', selector, why),
    revoke: (selector, why) => requestChange('revoke', selector, why),
    withdrawEnd: (selector, why) => requestChange('withdrawEnd', selector, why),
    ...createStandings(context, readings),
  }
}

function unknownConsent(verb: string): AverbaError {
  return new AverbaError('NOT_FOUND', `Cannot ${verb} the consent: no reading has shown it`, {
    hint: 'Call consents.sync first',
  })
}

function checkReason(reason: unknown): void {
  if (reason === undefined)
    throw new AverbaError('INVALID_INPUT', 'Cannot withdraw the end: the reason is missing', {
      hint: 'Give { reason }',
    })
}
