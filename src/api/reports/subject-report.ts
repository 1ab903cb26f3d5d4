import { isAttempt, mayHaveBeenSent, summarizeTrace } from '../../engine/performing/attempt-trace.ts'
import { describeCall, describeEvent, describeKind, getLanguageWords } from '../../pages/describe.ts'
import type { Language } from '../../pages/language.ts'
import { findDataSource } from '../../pages/source-of.ts'
import type {
  ActorCount,
  HeldKind,
  ReportedCall,
  ReportedErasure,
  ReportedLog,
  SubjectReport,
  TimelineEntry,
  UnderBasis,
} from '../../pages/subject-report.ts'
import type { LanguageWords } from '../../pages/words.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { findStreamsNaming, isEventOfPerson } from '../../store/parts/person-search.ts'
import type { Store } from '../../store/store.ts'
import { parseCpf } from '../../vocabulary/cpf.ts'
import { effectStates, type PendingEffect, type RecordedEvent } from '../../vocabulary/message.ts'
import { effectStream, streamOf } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import { checkSelector, type SubjectRef, type SubjectSelector } from '../subject-directory.ts'
import { readReceipt } from './erasure-receipt.ts'
import { reportedConsents, reportedNotifications, reportedUses, reportedValidations } from './reported-rows.ts'

/**
 * Collects what the log holds about a data subject, or what is left of an erased one. Names sealed data by kind only.
 *
 * @throws {AverbaError} `NOT_FOUND`, `INVALID_CPF`, `INVALID_INPUT`
 */
export async function gatherSubjectReport(
  { store, subjects }: ApiContext,
  selector: SubjectSelector,
  language: Language,
): Promise<SubjectReport> {
  checkSelector(selector)
  const words = getLanguageWords(language)
  const isErased = 'subject' in selector && (await subjects.isErased(streamOf('subject', selector.subject)))
  const subject = isErased ? selector.subject : await subjects.find(selector)
  const { streams, until } = await findStreamsNaming(store.reader, subject)
  const own = await readOwnStreams(store, subject, streams, until)
  const calls = await readCalls(store, own.streams, until)
  const attempts = await readStreams(store, calls.map(effectStream), until)
  const retained = await readRetentionEvents(store, subject, own.events, until)
  const events = [...own.events, ...attempts, ...retained].sort((one, other) => one.position - other.position)
  const enrolled = events.find(event => event.type === 'subject.enrolled')
  const origin = (enrolled?.data as { origin?: string } | undefined)?.origin ?? '' // As the machine writes it.
  return {
    format: 'averba subject report 1',
    language,
    log: await readReportedLog(store, until),
    subject,
    cpf: 'cpf' in selector ? maskCpf(parseCpf(selector.cpf)) : null,
    origin: words.origins[origin] ?? origin,
    enrolledAt: enrolled?.at ?? '',
    erasure: isErased ? await readErasure(store, subject) : null,
    held: await countHeldKinds(store, subject, own.events, words),
    bases: countBases(events),
    actors: countActors(events),
    told: reportCalls(calls, [...own.events, ...attempts], words),
    consents: reportedConsents(own.events),
    uses: reportedUses(own.events, words),
    validations: reportedValidations(own.events, words),
    notifications: reportedNotifications(own.events),
    timeline: events.map(event => toEntry(event, words)),
  }
}

/** Masks a CPF except its middle. */
export function maskCpf(cpf: string): string {
  return `***.${cpf.slice(3, 6)}.${cpf.slice(6, 9)}-**`
}

/** Identifies the log and the last position that was read. */
export async function readReportedLog(store: Store, position: number): Promise<ReportedLog> {
  const [first, last] = [await store.readAt(1), await store.readAt(position)]
  const data = first?.data as { origin: string } | undefined // The first event of every log.
  return { origin: data?.origin ?? '', position, at: last?.at ?? '' }
}

/** The streams about the subject, with their events, among all that name it. */
async function readOwnStreams(store: Store, subject: SubjectRef, streams: readonly string[], until: number) {
  const found: { stream: string; events: RecordedEvent[] }[] = []
  for (const stream of streams) {
    // An actor for many people is named in many streams.
    const [first] = await store.read({ stream, limit: 1 })
    if (first && isEventOfPerson(subject, first))
      found.push({ stream, events: await readStreams(store, [stream], until) })
  }
  return { streams: found.map(({ stream }) => stream), events: found.flatMap(({ events }) => events) }
}

async function readStreams(store: Store, streams: readonly string[], until: number): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for (const stream of streams) {
    for (let after = 0; ; ) {
      const page = await store.read({ stream, after })
      events.push(...page.filter(event => event.position <= until))
      const last = page.at(-1)
      if (!last || last.position > until) break
      after = last.position
    }
    await yieldToEventLoop()
  }
  return events
}

async function readErasure(store: Store, subject: SubjectRef): Promise<ReportedErasure | null> {
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
  store: Store,
  subject: SubjectRef,
  events: readonly RecordedEvent[],
  until: number,
): Promise<RecordedEvent[]> {
  const isTheirs = ({ owner }: { owner: string }) => owner === streamOf('subject', subject)
  const own = new Set(
    events.flatMap(({ position, parts = [] }) => parts.filter(isTheirs).map(({ name }) => `${position}/${name}`)),
  )
  const found: RecordedEvent[] = []
  for (let after = 0; after < until; ) {
    const page = await store.read({ types: ['retention.applied'], after })
    for (const event of page) {
      const { parts } = event.data as { parts: readonly string[] } // As the machine writes it.
      if (event.position <= until && parts.some(part => own.has(part))) found.push(event)
    }
    after = page.at(-1)?.position ?? until
    await yieldToEventLoop()
  }
  return found
}

async function readCalls(store: Store, streams: readonly string[], until: number): Promise<PendingEffect[]> {
  const calls: PendingEffect[] = []
  for (const stream of streams) {
    calls.push(...(await store.effects({ stream, states: effectStates })))
    await yieldToEventLoop()
  }
  return calls
    .filter(({ position }) => position <= until)
    .sort((one, other) => one.position - other.position || compareIds(one.id, other.id))
}

function compareIds(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}

async function countHeldKinds(
  store: Store,
  subject: SubjectRef,
  events: readonly RecordedEvent[],
  words: LanguageWords,
): Promise<HeldKind[]> {
  const parts = events.flatMap(({ position, type, at, parts: marks = [] }) =>
    marks
      .filter(({ owner }) => owner === streamOf('subject', subject))
      .map(({ name, bytes }) => ({ position, name, kind: `${type}/${name}`, at, bytes })),
  )
  parts.sort((one, other) => one.position - other.position)
  const held = new Set(await store.owners.existingParts(parts))
  const found = new Map<string, HeldKind>()
  for (const part of parts) {
    const { kind, at, bytes } = part
    const place = held.has(part) ? 'held' : 'gone'
    const before = found.get(kind)
    const counts = before ?? { pieces: 0, held: 0, gone: 0, bytes: 0 }
    found.set(kind, {
      kind,
      label: describeKind(kind, words),
      source: words.sources[findDataSource(kind)],
      first: before?.first ?? at,
      last: at,
      ...counts,
      pieces: counts.pieces + 1,
      bytes: counts.bytes + bytes,
      [place]: counts[place] + 1,
    })
  }
  return [...found.values()]
}

function countBases(events: readonly RecordedEvent[]): UnderBasis[] {
  const keyOf = ({ basis }: RecordedEvent) => (basis ? JSON.stringify([basis.purpose, basis.legalBasis]) : '')
  return groupEvents(events, keyOf).map(({ one, ...rest }) => ({ basis: one.basis ?? null, ...rest }))
}

function countActors(events: readonly RecordedEvent[]): ActorCount[] {
  const keyOf = ({ actor }: RecordedEvent) => (actor ? JSON.stringify([actor.kind, actor.ref]) : '')
  return groupEvents(events, keyOf).map(({ one, ...rest }) => ({ actor: one.actor ?? null, ...rest }))
}

function groupEvents(events: readonly RecordedEvent[], keyOf: (event: RecordedEvent) => string) {
  const groups = new Map<string, { one: RecordedEvent; events: number; first: string; last: string }>()
  for (const event of events) {
    const before = groups.get(keyOf(event))
    const { one = event, events: count = 0, first = event.at } = before ?? {}
    groups.set(keyOf(event), { one, events: count + 1, first, last: event.at })
  }
  return [...groups.values()]
}

/** Reports each call: its outcome is in the ledger, and the time of its end in the log. */
function reportCalls(
  calls: readonly PendingEffect[],
  events: readonly RecordedEvent[],
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
    const state = effectState === 'cancelled' && wasSent(id, events) ? 'unknown' : effectState
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
      outcome: describeCall({ state }, ending, words),
      endedAt: endedAt ?? null,
      attempts,
    }
  })
}

function wasSent(id: string, events: readonly RecordedEvent[]): boolean {
  const attempts = events.filter(isAttempt).filter(({ data }) => data.effect === id)
  return mayHaveBeenSent(summarizeTrace(attempts))
}

/** Converts an event to an entry of a timeline. */
export function toEntry(event: RecordedEvent, words: LanguageWords): TimelineEntry {
  const { position, at, type, stream, actor, basis, anomaly, parts = [] } = event
  return {
    ...{ position, at, type, stream },
    words: describeEvent(event, words),
    actor: actor ?? null,
    basis: basis ?? null,
    anomaly: anomaly ?? null,
    parts: parts.map(({ name }) => describeKind(`${type}/${name}`, words)),
  }
}
