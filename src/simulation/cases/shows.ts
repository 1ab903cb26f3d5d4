import { type Views, views } from '../../views/views.ts'
import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Instant, RecordedEvent } from '../../vocabulary/message.ts'
import { checkKnownNames } from '../../vocabulary/names.ts'
import type { GivenEvent } from './decides.ts'
import { assertExpected, checkEventTypes, type ExpectedValue } from './expectation.ts'

/** An event for a view; `shows` fills in an absent stream and time. */
export type ShownEvent = GivenEvent & Partial<Pick<RecordedEvent, 'stream' | 'at' | 'settles' | 'causedBy' | 'actor'>>

/** The events and the expected rows of a view, for `shows`. */
export interface ViewCase<N extends keyof Views> {
  readonly view: N
  readonly given: readonly ShownEvent[]
  /** All rows, in the order of their first event. */
  readonly expected?: readonly ExpectedValue<Views[N]>[]
}

const viewCaseMembers: readonly (keyof ViewCase<never>)[] = ['view', 'given', 'expected']
const startsAt: Instant = '2026-11-20T12:00:00.000Z'

/**
 * Folds events into the rows of a view, as an append and a rebuild do, compares the rows with the expected ones, and
 * returns them. The default stream is `<machine>-1`. The default time of the first event is 2026-11-20T12:00:00.000Z,
 * and of each other event a second after the event before.
 *
 * @throws {AssertionError} of `node:assert`, when the rows differ
 * @throws {TypeError} for an unknown view, for a view that changes its input, and for an event that no machine records
 * @throws {AverbaError} `INVALID_INPUT` when the case has an unknown member
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
export function shows<N extends keyof Views>(viewCase: ViewCase<N>): Views[N][] {
  checkKnownNames(viewCase, viewCaseMembers, { noun: 'member', of: 'a case of shows' })
  const { view: name, given, expected } = viewCase
  const view = views.find(each => each.name === name)
  if (!view) throw new TypeError(`Unknown view ${name}`)
  checkEventTypes(given)
  const rows = new Map<string, object | undefined>()
  for (const event of toRecordedEvents(given)) {
    const key = view.key(event)
    // A view must be pure: changing a frozen row throws.
    if (key !== undefined) rows.set(key, deepFreeze(view.fold(rows.get(key), event)))
  }
  // The view named `name` has rows of this type.
  const result = [...rows.values()].filter(row => row !== undefined) as Views[N][]
  if (expected) assertExpected(`the rows of ${name}`, result, expected)
  return result
}

function toRecordedEvents(given: readonly ShownEvent[]): RecordedEvent[] {
  const versions = new Map<string, number>()
  let at = fromInstant(startsAt) - 1_000
  return given.map((event, i) => {
    const machine = event.type.slice(0, event.type.indexOf('.'))
    const { stream = `${machine}-1`, causedBy = event.type } = event
    const version = (versions.get(stream) ?? 0) + 1
    versions.set(stream, version)
    at = event.at === undefined ? at + 1_000 : fromInstant(event.at)
    const place = { id: `${stream}/${version}`, position: i + 1, stream, version, at: toInstant(at) }
    return deepFreeze({ ...event, ...place, causedBy, machine: { name: machine, version: 1 } })
  })
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}
