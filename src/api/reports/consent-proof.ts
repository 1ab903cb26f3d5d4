import type { ConsentReport, ReportedAnswer } from '../../pages/consent-page.ts'
import type { Language } from '../../pages/labels.ts'
import { toTimelineEntry } from '../../pages/show-timeline.ts'
import { getLanguageWords, type LanguageWords } from '../../pages/words.ts'
import { createVerifierKey, parseCheckpoint, writeVerifierKey } from '../../proof/note.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { type InclusionProof, proveInclusion } from '../../store/checkpoints/prove.ts'
import type { Store } from '../../store/store.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { maskCpfs, parseCpf } from '../../vocabulary/tax-numbers.ts'
import type { ApiContext } from '../api-context.ts'
import { checkNotFuture, resolveKnownAt } from '../as-of.ts'
import { type ConsentHistory, readConsentHistory, type Standing, standingAt } from '../consents/consent-events.ts'
import type { RecordSelector } from '../subject-directory.ts'
import { readReportedLog } from './subject-report.ts'

const portionEvents = 50

/**
 * Whether a consent was effective at an instant, by what was known at another instant or position; none in the future.
 */
export interface ConsentQuestion {
  readonly consent: RecordSelector
  readonly at: Instant
  /** Default: `at`. */
  readonly knownAt?: Instant | number
}

/**
 * Reports whether a consent was effective, with its events and the proof that they are in the log. Signs a checkpoint,
 * unless the newest one covers the whole log. Throws `NOT_FOUND` when the subject is not enrolled, or no reading has
 * shown the consent; `INVALID_CPF`, `INVALID_INPUT`.
 */
export async function proveConsent(
  context: ApiContext,
  { consent: selector, at, knownAt = at }: ConsentQuestion,
  language: Language,
): Promise<ConsentReport> {
  const { store, subjects, clock } = context
  const words = getLanguageWords(language)
  await checkNotFuture(context, at, 'at')
  const subject = await subjects.find(selector, 'id')
  const known = await resolveKnownAt(context, knownAt)
  const { size, note } = await store.checkpoint()
  const readUntil = (until: number) => readConsentHistory(store, subject, selector.id, { until, withUses: true })
  const fullHistory = await readUntil(size)
  const history = await readUntil(known.position)
  const [appeared] = fullHistory.events
  const described = fullHistory.events.findLast(
    each => each.type === 'consent.appeared' || each.type === 'consent.amended',
  )
  if (appeared?.type !== 'consent.appeared')
    throw new AverbaError('NOT_FOUND', 'Cannot prove the consent: no reading has shown it')
  const log = await readReportedLog(store, size)
  const reliedOn = eventsReliedOn(history)
  const later = eventsReliedOn(fullHistory).filter(({ position }) => position > known.position)
  const positions = [1, ...reliedOn.map(each => each.position), ...later.map(each => each.position)]
  const events = await proveEvents(store, positions, size)
  const { origin = '' } = parseCheckpoint(note) ?? {}
  const key = writeVerifierKey(createVerifierKey(origin, store.vault.keyring.signer.publicKey))
  return {
    format: 'averba consent report 1',
    language,
    log,
    subject,
    cpf: 'cpf' in selector ? maskCpfs(parseCpf(selector.cpf)) : null,
    consent: appeared.stream,
    controller: described?.data.controller ?? null,
    at,
    knownAt: known.at,
    knownPosition: known.position,
    answer: toReportedAnswer(standingAt(history, at, known.at, {}, clock), words),
    today: toReportedAnswer(standingAt(fullHistory, at, at > log.at ? at : log.at, {}, clock), words),
    timeline: reliedOn.map(event => toTimelineEntry(event, words)),
    later: later.map(event => toTimelineEntry(event, words)),
    proof: { key, checkpoint: note, events },
    unproven: words.unproven,
  }
}

/** Proves events in portions, because a consent may have very many uses. The log up to a size does not change. */
async function proveEvents(store: Store, positions: readonly number[], size: number): Promise<InclusionProof[]> {
  const proven: InclusionProof[] = []
  for (let from = 0; from < positions.length; from += portionEvents) {
    const portion = positions.slice(from, from + portionEvents)
    proven.push(...(await store.database.read(() => proveInclusion(store.headers, portion, size))))
    await yieldToEventLoop()
  }
  return proven
}

function eventsReliedOn({ events, synced }: ConsentHistory) {
  return [...events, ...(synced ? [synced] : [])].sort((one, other) => one.position - other.position)
}

function toReportedAnswer(
  { effective, reason, readAt, until, position }: Standing,
  { reasons }: LanguageWords,
): ReportedAnswer {
  const words = reasons[reason]
  return { effective, reason, words, readAt: readAt ?? null, until: until ?? null, position }
}
