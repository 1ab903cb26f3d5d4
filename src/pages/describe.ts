import type { PendingEffect, RecordedEvent } from '../vocabulary/message.ts'
import type { DataSource, LanguageWords } from './words.ts'

export function describeEvent({ type, data }: Pick<RecordedEvent, 'type' | 'data'>, words: LanguageWords): string {
  const events: Readonly<Record<string, ((data: never) => string) | undefined>> = words.events
  const name = type.endsWith('.unexpected') ? 'unexpected' : type
  return events[name]?.(data as never) ?? words.otherEvent(type) // The text of a type takes the data of that type.
}

/** Says the state of a call. Its reason tells what cancelled it, and whether the service itself ended it. */
export function describeState(
  { state, reason }: Pick<PendingEffect, 'state' | 'reason'>,
  { callEndings, effectStates }: LanguageWords,
): string {
  const byType: Readonly<Record<string, string | undefined>> = callEndings
  if (state === 'cancelled') return byType[reason.replace('cancelled by ', '')] ?? effectStates[state]
  const isByService = state === 'declined' ? / answered \d+$/.test(reason) : state !== 'settled' || reason === ''
  return isByService ? effectStates[state] : callEndings.ended
}

/** Describes the outcome of a call. `ending` is the event that ended it, when it ended without an answer. */
export function describeCall(
  { state }: Pick<PendingEffect, 'state'>,
  ending: Pick<RecordedEvent, 'type' | 'resolves' | 'data'> | undefined,
  { callEndings, effectStates }: LanguageWords,
): string {
  const isEnded = state === 'settled' || state === 'declined' || state === 'cancelled'
  if (ending === undefined || !isEnded) return effectStates[state]
  const byType: Readonly<Record<string, string | undefined>> = callEndings
  const found = state === 'declined' ? 'found not done' : 'found done'
  return byType[callEndingKey(ending)] ?? (ending.resolves ? callEndings[found] : effectStates[state])
}

/** The key of `callEndings` for the event that ended a call: its type, and whether it was sent before or done. */
function callEndingKey({ type, data }: Pick<RecordedEvent, 'type' | 'data'>): string {
  const { sentBefore, isDone }: { sentBefore?: unknown; isDone?: unknown } = data ?? {}
  return `${type}${sentBefore ? ', sent before' : ''}${isDone ? ', done' : ''}`
}

/** Returns the name of a kind of sealed data. */
export function describeKind(kind: string, { kinds }: LanguageWords): string {
  return kinds[kind] ?? kinds[kind.slice(kind.indexOf('/') + 1)] ?? kind
}

/** Kinds of sealed data that averba writes itself. */
const writtenByAverba: ReadonlySet<string> = new Set([
  'validation.withheld/problem',
  'validation.resolved/problem',
  'consent.changeWithheld/problem',
])

const givenByServices: ReadonlySet<string> = new Set(['record', 'detail', 'unreadable', 'address', 'result', 'problem'])

/** Finds who gave a kind of sealed data (`<event type>/<part name>`): a service, otherwise the host. */
export function findDataSource(kind: string): DataSource {
  const machine = kind.slice(0, kind.indexOf('.'))
  const name = kind.slice(kind.indexOf('/') + 1)
  // All sealed data of these machines comes from the portal.
  if (machine === 'portal' || machine === 'subscription' || machine === 'notification') return 'portal'
  if (writtenByAverba.has(kind) || !givenByServices.has(name)) return 'host'
  return machine === 'validation' ? 'validationService' : 'consentService'
}
