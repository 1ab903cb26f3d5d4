import type { ConsentReport, ReportedAnswer } from '../../pages/consent-report.ts'
import { wordsOf } from '../../pages/describe.ts'
import type { Language } from '../../pages/language.ts'
import type { LanguageWords } from '../../pages/words.ts'
import { parseCheckpoint } from '../../proof/checkpoint.ts'
import { createVerifierKey, writeVerifierKey } from '../../proof/note.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { type InclusionProof, proveInclusion } from '../../store/checkpoints/prove.ts'
import type { Store } from '../../store/store.ts'
import { parseCpf } from '../../vocabulary/cpf.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { ApiContext } from '../api-context.ts'
import { checkCome, knownUntil } from '../as-of.ts'
import { answerAbout, type ConsentHistory, readStory, type Standing } from '../consents/event-history.ts'
import type { RecordSelector } from '../subject-directory.ts'
import { describeLog, maskCpf, toEntry } from './subject-report.ts'

const provenAtOnce = 50

/**
 * What is asked of a consent: whether it stood at an instant, by what was known at another, or up to a position.
 * Neither may be still to come.
 */
export interface ConsentQuestion {
  readonly consent: RecordSelector
  readonly at: Instant
  /** The same as `at` when absent. */
  readonly knownAt?: Instant | number
}

/**
 * Answers whether a consent stood, with the events that the answer rests on and the proof that they are in the log. A
 * checkpoint is signed for it, unless the newest is over the whole log.
 *
 * @throws {AverbaError} `NOT_FOUND` when nobody is enrolled, or nobody has seen the consent; `INVALID_CPF`,
 * `INVALID_INPUT`
 */
export async function proveConsent(
  context: ApiContext,
  { consent: selector, at, knownAt = at }: ConsentQuestion,
  language: Language,
): Promise<ConsentReport> {
  const { store, subjects, clock } = context
  const words = wordsOf(language)
  await checkCome(context, at, 'at')
  const subject = await subjects.find(selector)
  const known = await knownUntil(context, knownAt)
  const { size, note } = await store.checkpoint()
  const all = await readStory(store, subject, selector.id, { until: size, withUses: true })
  const story = await readStory(store, subject, selector.id, { until: known.position, withUses: true })
  const [appeared] = all.events
  if (appeared?.type !== 'consent.appeared')
    throw new AverbaError('NOT_FOUND', 'Cannot prove the consent: nobody has seen it')
  const log = await describeLog(store, size)
  const told = reliedOn(story)
  const later = reliedOn(all).filter(({ position }) => position > known.position)
  const positions = [1, ...told.map(each => each.position), ...later.map(each => each.position)]
  const events = await proveAll(store, positions, size)
  const { origin = '' } = parseCheckpoint(note) ?? {}
  const key = writeVerifierKey(createVerifierKey(origin, store.vault.keyring.signer.publicKey))
  return {
    format: 'averba consent report 1',
    language,
    log,
    subject,
    cpf: 'cpf' in selector ? maskCpf(parseCpf(selector.cpf)) : null,
    consent: appeared.stream,
    controller: controllerOf(all),
    at,
    knownAt: known.at,
    knownPosition: known.position,
    answer: toAnswer(answerAbout(story, at, known.at, {}, clock), words),
    today: toAnswer(answerAbout(all, at, at > log.at ? at : log.at, {}, clock), words),
    timeline: told.map(event => toEntry(event, words)),
    later: later.map(event => toEntry(event, words)),
    proof: { key, checkpoint: note, events },
    unproven: words.unproven,
  }
}

/** Proves events, some at a time: a consent that is used often has very many, and nothing under a size changes. */
async function proveAll(store: Store, positions: readonly number[], size: number): Promise<InclusionProof[]> {
  const proven: InclusionProof[] = []
  for (let from = 0; from < positions.length; from += provenAtOnce) {
    const some = positions.slice(from, from + provenAtOnce)
    proven.push(...(await store.reader.read(() => proveInclusion(some, size))))
    await yieldToEventLoop()
  }
  return proven
}

/** The consent's own events, and the last list that covers it. */
function reliedOn({ events, synced }: ConsentHistory) {
  return [...events, ...(synced ? [synced] : [])].sort((one, other) => one.position - other.position)
}

function controllerOf({ events }: ConsentHistory): string | null {
  const told = events.findLast(({ type }) => type === 'consent.appeared' || type === 'consent.amended')
  return (told?.data as { controller: string | null } | undefined)?.controller ?? null // Both events have it.
}

function toAnswer(
  { effective, reason, readAt, until, position }: Standing,
  { reasons }: LanguageWords,
): ReportedAnswer {
  const words = reasons[reason]
  return { effective, reason, words, readAt: readAt ?? null, until: until ?? null, position }
}
