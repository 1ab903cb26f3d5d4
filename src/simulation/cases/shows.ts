import { type Views, views } from '../../views/views.ts'
import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import { checkKnownNames } from '../../vocabulary/known-names.ts'
import type { Instant, RecordedEvent } from '../../vocabulary/message.ts'
import { checkTypes, type MembersOf, typesIn } from './check-case.ts'
import type { GivenEvent } from './decides.ts'
import { type ExpectedValue, meets } from './expectation.ts'

/** An event for a view; its stream and time are made up when absent. */
export type ShownEvent = GivenEvent &
  Partial<Pick<RecordedEvent, 'stream' | 'at' | 'settles' | 'causedBy' | 'actor'>>

/** The rows that a view makes of events. */
export interface ViewCase<N extends keyof Views> {
  readonly view: N
  /** The events, the oldest first. */
  readonly given: readonly ShownEvent[]
  /** Every row, in the order of their first event. */
  readonly expected?: readonly ExpectedValue<Views[N]>[]
}

const caseMembers: MembersOf<keyof ViewCase<never>> = { view: true, given: true, expected: true }
const startsAt: Instant = '2026-11-20T12:00:00.000Z'

/**
 * Folds events into the rows of a view, as an append and a rebuild do, and compares them with those expected. An event
 * without a stream stands on `<machine>-1`; the first is recorded at 2026-11-20T12:00:00.000Z, and each of the others a
 * second after the one before. Returns the rows.
 *
 * @throws {ExpectationError} when the rows are others
 * @throws {TypeError} when there is no such view, or it changes what it was given: a view is pure; and when the case
 * has other members, or an event that no machine records
 *
 * @example
 * ```ts
 * shows({
 *   view: 'tokens',
 *   given: [
 *     { type: 'token.renewed', data: { generation: 1, credential: 'k1', expiresAt: '2026-11-20T13:00:00.000Z' } },
 *   ],
 *   expected: [{ token: 'token-1', state: 'valid' }],
 * })
 * ```
 */
export function shows<N extends keyof Views>(shown: ViewCase<N>): Views[N][] {
  checkKnownNames(shown, Object.keys(caseMembers), { noun: 'member', of: 'a case of shows' })
  const { view: name, given, expected } = shown
  const view = views.find(each => each.name === name)
  if (!view) throw new TypeError(`There is no view ${name}`)
  checkTypes(typesIn(given))
  const rows = new Map<string, object | undefined>()
  for (const event of recorded(given)) {
    const key = view.key(event)
    // A frozen row throws when it is changed.
    if (key !== undefined) rows.set(key, frozen(view.fold(rows.get(key), event)))
  }
  // The view of this name has these rows.
  const made = [...rows.values()].filter(row => row !== undefined) as Views[N][]
  if (expected) meets(`the rows of ${name}`, made, expected)
  return made
}

function recorded(given: readonly ShownEvent[]): RecordedEvent[] {
  const versions = new Map<string, number>()
  let at = fromInstant(startsAt) - 1_000
  return given.map((event, i) => {
    const machine = event.type.slice(0, event.type.indexOf('.'))
    const { stream = `${machine}-1`, causedBy = event.type } = event
    const version = (versions.get(stream) ?? 0) + 1
    versions.set(stream, version)
    at = event.at === undefined ? at + 1_000 : fromInstant(event.at)
    const place = { id: `${stream}/${version}`, position: i + 1, stream, version, at: toInstant(at) }
    return frozen({ ...event, ...place, causedBy, machine: { name: machine, version: 1 } })
  })
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const member of Object.values(value)) frozen(member)
  return Object.freeze(value)
}
