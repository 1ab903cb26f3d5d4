import { isAttempt, mayHaveBeenSent, summarizeTrace } from '../../engine/performing/attempt-trace.ts'
import { describeCall, describeKind, findDataSource } from '../../pages/describe.ts'
import type { Language, PageOptions } from '../../pages/labels.ts'
import { toTimelineEntry } from '../../pages/show-timeline.ts'
import type {
  HeldKind,
  OpenedPiece,
  ReportedCall,
  ReportedConsent,
  ReportedErasure,
  ReportedLog,
  ReportedNotification,
  ReportedUse,
  ReportedValidation,
  SubjectReport,
} from '../../pages/subject-report.ts'
import { getLanguageWords, type LanguageWords } from '../../pages/words.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { findStreamsNaming, isEventOfPerson } from '../../store/parts/person-search.ts'
import { consents } from '../../views/consents.ts'
import { notifications, readHandlings } from '../../views/notifications.ts'
import { type ValidationRow, validations } from '../../views/validations.ts'
import type { EffectState, Json, PartAddress, PendingEffect } from '../../vocabulary/message.ts'
import { cpfAddress, effectStream, streamOf } from '../../vocabulary/names.ts'
import { maskCpfs, parseCpf } from '../../vocabulary/tax-numbers.ts'
import type { View } from '../../vocabulary/view.ts'
import { type ApiContext, readEvents } from '../api-context.ts'
import { checkPageOptions } from '../arguments.ts'
import { type LogStore, openAs, type Recorded, readBody, unlessDamaged } from '../events.ts'
import { checkSelector, type SubjectRef, type SubjectSelector } from '../subject-directory.ts'
import { readReceipt } from './erasure-receipt.ts'

/**
 * Collects what the log holds about a data subject, or what is left of an erased one. Opens sealed data only on a
 * request to reveal it, but for controller and purpose of consents. Throws `NOT_FOUND`, `INVALID_CPF`, `INVALID_INPUT`.
 */
export async function gatherSubjectReport(
  { options, store, subjects }: ApiContext,
  selector: SubjectSelector,
  reveal: RecordReveal | undefined,
  language: Language,
  onProgress: PageOptions['onProgress'],
): Promise<SubjectReport> {
  checkSelector(selector)
  const words = getLanguageWords(language)
  const isErased = 'subject' in selector && (await subjects.isErased(streamOf('subject', selector.subject)))
  const subject = isErased ? selector.subject : await subjects.find(selector)
  const { streams, until } = await findStreamsNaming(store.database, subject, onProgress)
  const own = await readOwnStreams(store, subject, streams, until)
  const calls = await readCalls(store, own.streams, until)
  const ownStreams = new Set(own.streams)
  const ofCalls = calls.map(effectStream).filter(stream => !ownStreams.has(stream))
  const attempts = await readStreams(store, ofCalls, until)
  const retained = await readRetentionEvents(store, subject, own.events, until)
  const events = [...own.events, ...attempts, ...retained].sort((one, other) => one.position - other.position)
  const enrolled = events.find(event => event.type === 'subject.enrolled')
  const origin = enrolled?.data.origin ?? ''
  const parts = await findParts(store, subject, own.events)
  return {
    format: 'averba subject report 1',
    language,
    log: await readReportedLog(store, until),
    organisation: options.organisation ?? null,
    subject,
    cpf: 'cpf' in selector ? maskCpfs(parseCpf(selector.cpf)) : null,
    origin: words.origins[origin] ?? origin,
    enrolledAt: enrolled?.at ?? '',
    erasure: isErased ? await readErasure(store, subject) : null,
    held: countHeldKinds(parts, words),
    data: reveal ? await openParts(store, subject, parts, words, reveal) : null,
    bases: groupBy(events, 'basis').map(({ value: basis, ...counts }) => ({ basis, ...counts })),
    actors: groupBy(events, 'actor').map(({ value: actor, ...counts }) => ({ actor, ...counts })),
    told: reportCalls(calls, [...own.events, ...attempts], words),
    consents: await reportConsents(store, own.events),
    uses: reportedUses(own.events, words),
    validations: reportedValidations(own.events, words),
    notifications: reportedNotifications(own.events),
    timeline: events.map(event => toTimelineEntry(event, words)),
  }
}

export async function writeReport<R>(
  page: PageOptions | undefined,
  gather: (language: Language, onProgress: PageOptions['onProgress']) => Promise<R>,
  writePage: (report: R) => string,
): Promise<string> {
  const { format, language } = checkPageOptions(page)
  const report = await gather(language, page?.onProgress)
  return format === 'html' ? writePage(report) : `${JSON.stringify(report, null, 2)}\n`
}

export async function readReportedLog(store: LogStore, position: number): Promise<ReportedLog> {
  const [first, last] = [await store.readAt(1), await store.readAt(position)]
  return { origin: first?.type === 'log.began' ? first.data.origin : '', position, at: last?.at ?? '' }
}

async function readOwnStreams(store: LogStore, subject: SubjectRef, streams: readonly string[], until: number) {
  const found: { stream: string; events: Recorded[] }[] = []
  for (const stream of streams) {
    // An actor for many people is named in many streams.
    const [first] = await store.read({ stream, limit: 1 })
    if (first && isEventOfPerson(subject, first))
      found.push({ stream, events: await readStreams(store, [stream], until) })
  }
  return { streams: found.map(({ stream }) => stream), events: found.flatMap(({ events }) => events) }
}

async function readStreams(store: LogStore, streams: readonly string[], until: number): Promise<Recorded[]> {
  const events: Recorded[] = []
  for (const stream of streams) {
    for await (const event of readEvents(store, { stream })) {
      if (event.position > until) break
      events.push(event)
    }
    await yieldToEventLoop()
  }
  return events
}

async function readErasure(store: LogStore, subject: SubjectRef): Promise<ReportedErasure | null> {
  const receipt = await readReceipt(store, subject)
  if (!receipt) return null
  const { requester, legalBasis, erasedAt, keeps, destroyed, completed, epochsDestroyedAt } = receipt
  return {
    ...{ requester, legalBasis, erasedAt, keeps },
    parts: destroyed.parts.length,
    cancelledCalls: destroyed.calls.length,
    isKeyKept: destroyed.keys === 0,
    completedAt: completed?.at ?? null,
    copiesOpenUntil: completed?.copiesOpenUntil ?? null,
    epochsDestroyedAt,
  }
}

/** The events by which retention destroyed parts of the subject. They do not name it. */
async function readRetentionEvents(
  store: LogStore,
  subject: SubjectRef,
  events: readonly Recorded[],
  until: number,
): Promise<Recorded[]> {
  const isTheirs = ({ owner }: { owner: string }) => owner === streamOf('subject', subject)
  const own = new Set(
    events.flatMap(({ position, parts = [] }) => parts.filter(isTheirs).map(({ name }) => `${position}/${name}`)),
  )
  const found: Recorded[] = []
  for await (const event of readEvents(store, { types: ['retention.applied'] })) {
    if (event.position > until) break
    if (event.data.parts.some(part => own.has(part))) found.push(event)
  }
  return found
}

async function readCalls(store: LogStore, streams: readonly string[], until: number): Promise<PendingEffect[]> {
  const calls: PendingEffect[] = []
  for (const stream of streams) {
    calls.push(...(await store.effects({ stream })))
    await yieldToEventLoop()
  }
  return calls.filter(({ position }) => position <= until).sort((one, other) => one.position - other.position)
}

/** A sealed part of the person: its event, and whether it still exists. */
interface OwnPart {
  readonly event: Recorded
  readonly name: string
  readonly kind: string
  readonly bytes: number
  readonly isHeld: boolean
}

async function findParts(store: LogStore, subject: SubjectRef, events: readonly Recorded[]): Promise<OwnPart[]> {
  const parts = events.flatMap(event =>
    (event.parts ?? [])
      .filter(({ owner }) => owner === streamOf('subject', subject))
      .map(({ name, bytes }) => ({ event, position: event.position, name, kind: `${event.type}/${name}`, bytes })),
  )
  parts.sort((one, other) => one.position - other.position)
  const existing = new Set(await store.owners.existingParts(parts))
  return parts.map(part => ({ ...part, isHeld: existing.has(part) }))
}

type RecordReveal = (revealed: { parts: readonly PartAddress[]; owners: readonly string[] }) => Promise<void>

/** Parts named in one event. */
const revealedMax = 500

async function openParts(
  store: LogStore,
  subject: SubjectRef,
  parts: readonly OwnPart[],
  words: LanguageWords,
  reveal: RecordReveal,
): Promise<OpenedPiece[]> {
  const held = parts.filter(each => each.isHeld)
  const addresses = held.map(({ event, name }) => `${event.id}/${name}` as const)
  const owners = [streamOf('subject', subject)]
  for (let i = 0; i < addresses.length; i += revealedMax)
    await reveal({ parts: addresses.slice(i, i + revealedMax), owners })
  const opened: OpenedPiece[] = []
  const own = String(await unlessDamaged(store.open(cpfAddress(subject)), undefined))
  for (const { event, name, kind } of held) {
    const { position, at } = event
    const value = await unlessDamaged(
      name === 'body' ? openBody(store, event) : store.open(`${event.id}/${name}`),
      words.damagedPart,
    )
    if (value === undefined) continue
    opened.push({ kind, label: describeKind(kind, words), position, at, value: maskOthers(value, own) })
    await yieldToEventLoop()
  }
  return opened
}

async function openBody(store: LogStore, { id }: Recorded): Promise<Json | undefined> {
  const sealed = await openAs(store, 'body', `${id}/body`)
  return sealed && { ...sealed.recipient, body: readBody(sealed) }
}

/** Masks the CPFs of other people, such as the one who answers for data protection at a controller. */
function maskOthers(value: Json, own: string): Json {
  if (typeof value === 'string') return maskCpfs(value, own)
  if (typeof value === 'number') return maskCpfs(String(value), own) === String(value) ? value : maskCpfs(String(value))
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(each => maskOthers(each, own))
  const members = Object.entries(value).map(([name, each]) => [maskCpfs(name, own), maskOthers(each, own)])
  return Object.fromEntries(members)
}

function countHeldKinds(parts: readonly OwnPart[], words: LanguageWords): HeldKind[] {
  return [...Map.groupBy(parts, ({ kind }) => kind)].map(([kind, all]) => {
    const held = all.filter(({ isHeld }) => isHeld).length
    return {
      kind,
      label: describeKind(kind, words),
      source: words.sources[findDataSource(kind)],
      first: all[0]?.event.at ?? '',
      last: all.at(-1)?.event.at ?? '',
      pieces: all.length,
      held,
      gone: all.length - held,
      bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    }
  })
}

function groupBy<K extends 'actor' | 'basis'>(all: readonly Recorded[], member: K) {
  return [...Map.groupBy(all, event => JSON.stringify(event[member])).values()].flatMap(events => {
    const [one, last] = [events[0], events.at(-1)]
    return one && last ? [{ value: one[member] ?? null, events: events.length, first: one.at, last: last.at }] : []
  })
}

/** Reports each call: its outcome is in the ledger, and the time of its end in the log. */
function reportCalls(
  calls: readonly PendingEffect[],
  events: readonly Recorded[],
  words: LanguageWords,
): ReportedCall[] {
  const byPosition = new Map(events.map(event => [event.position, event]))
  const ended = new Map(events.flatMap(event => (event.settles ? [[event.settles.effect, event.at]] : [])))
  const kinds = new Map(
    events.flatMap(event => (event.parts ?? []).map(({ name }) => [`${event.id}/${name}`, `${event.type}/${name}`])),
  )
  // Key work is not sent to any service.
  const outside = calls.filter(({ type }) => !type.startsWith('keys.'))
  return outside.map(({ id, position, type, state: effectState, attempts, opens = {}, settledAt }) => {
    const sent = stateOfSent[effectState]
    const trace = summarizeTrace(events.filter(isAttempt).filter(({ data }) => data.effect === id))
    const state = sent && mayHaveBeenSent(trace) ? sent : effectState
    // No answer was lost: the last one said that it was not done.
    const wasAnswered = effectState === 'cancelled' && state === 'unknown' && !trace.isInProgress
    const [service = ''] = type.split('.')
    const ending = settledAt === undefined ? undefined : byPosition.get(settledAt)
    const endedAt = ended.get(id) ?? ending?.at
    return {
      effect: id,
      position,
      service: words.services[service] ?? service,
      operation: type,
      label: words.operations[type] ?? type,
      opened: Object.values(opens).map(address => describeKind(kinds.get(address) ?? address, words)),
      owedAt: byPosition.get(position)?.at ?? '',
      state,
      outcome: wasAnswered ? words.callEndings.cancelledAfterAnswer : describeCall({ state }, ending, words),
      endedAt: endedAt ?? null,
      attempts,
    }
  })
}

/** What a call that looks unsent may be. One that a person has released is pending again. */
const stateOfSent: Partial<Record<EffectState, EffectState>> = { cancelled: 'unknown', pending: 'deferred' }

/** The consents in the events, in their last known state. */
async function reportConsents(store: LogStore, events: readonly Recorded[]): Promise<ReportedConsent[]> {
  const countOf = (type: string, stream: string) =>
    events.filter(event => event.type === type && event.stream === stream).length
  const reported: ReportedConsent[] = []
  for (const [stream, row] of foldRows(consents, events)) {
    const opening = row.detail === null ? undefined : openAs(store, 'consent', row.detail)
    const detail = opening && (await unlessDamaged(opening, undefined))
    reported.push({
      consent: stream,
      controller: row.controller,
      controllerName: textOrNull(detail?.usuario?.nome),
      purpose: textOrNull(detail?.finalidade?.rotulo),
      status: row.status,
      knowledge: row.knowledge,
      appearedAt: events.find(event => event.stream === stream)?.at ?? '',
      expiresAt: row.expires_at,
      used: countOf('consent.used', stream),
      refused: countOf('consent.useRefused', stream),
    })
  }
  return reported
}

/** The service's own texts may have any form. The name of a company may hold the CPF of its owner. */
function textOrNull(text: unknown): string | null {
  return typeof text === 'string' ? maskCpfs(text) : null
}

/** The uses of data in the events, allowed and refused, in order. */
function reportedUses(events: readonly Recorded[], words: LanguageWords): ReportedUse[] {
  return events
    .flatMap((event): ReportedUse[] => {
      const { position, at, stream, basis = null, actor = null } = event
      const common = { position, at, basis, actor }
      switch (event.type) {
        case 'consent.used':
          return [{ ...common, consent: stream, isAllowed: true, reason: words.reasons.active }]
        case 'consent.useRefused':
        case 'subject.useRefused': {
          const consent = event.type === 'consent.useRefused' ? stream : null
          return [{ ...common, consent, isAllowed: false, reason: words.reasons[event.data.reason] }]
        }
        default:
          return []
      }
    })
    .sort((one, other) => one.position - other.position)
}

/** The validations in the events, in their last known state. */
function reportedValidations(events: readonly Recorded[], words: LanguageWords): ReportedValidation[] {
  return [...foldRows(validations, events)].map(([stream, row]) => ({
    id: row.id,
    requestedAt: row.requested_at,
    endedAt: row.ended_at,
    state: row.state,
    outcome: describeValidationOutcome(row, events, words),
    basis: events.find(event => event.stream === stream)?.basis ?? null,
  }))
}

/** The caller of a withheld validation sees `declined`, but averba ended it, not the service. */
function describeValidationOutcome(
  { state, validation, charged }: ValidationRow,
  events: readonly Recorded[],
  { validationStates, callEndings, charged: wasCharged, notCharged }: LanguageWords,
): string {
  if (state === 'resolved') return `${validationStates[state]}; ${charged === 1 ? wasCharged : notCharged}`
  const ended = events.findLast(({ stream, type }) => stream === validation && endTypes.has(type))
  if (state !== 'declined' || ended?.type !== withheld) return validationStates[state] ?? state
  if (ended.data.by === 'operator') return callEndings['effect.withdrawn']
  return callEndings[ended.data.sentBefore ? `${withheld}, sent before` : withheld]
}

const withheld = 'validation.withheld'
const endTypes: ReadonlySet<string> = new Set([withheld, 'validation.declined'])

/** The notifications in the events, in their last known state. */
function reportedNotifications(events: readonly Recorded[]): ReportedNotification[] {
  return [...foldRows(notifications, events)].map(([stream, row]) => ({
    notification: stream,
    evento: row.evento,
    receivedAt: row.received_at,
    copies: row.copies,
    handlers: readHandlings(row).map(({ handler }) => handler),
  }))
}

/** The rows of a view over these events alone, so that the result is the same at every call. */
function foldRows<Row extends object>(view: View<Row>, events: readonly Recorded[]): Map<string, Row> {
  const rows = new Map<string, Row>()
  for (const event of events) {
    const key = view.key(event)
    const row = key === undefined ? undefined : view.fold(rows.get(key), event)
    if (key !== undefined && row) rows.set(key, row)
  }
  return rows
}
