import type { Machine } from '../../machines/definition/machine.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { type ApiContext, readEvents } from '../api-context.ts'
import { checkStream } from '../arguments.ts'
import { resolveKnownAt } from '../as-of.ts'

/** The state of a stream, as its machine has it after the events up to a position. */
export interface StreamState {
  /** The machine, by the name that `drawCharts` knows it by. */
  readonly machine: string
  /** The states that are active in its chart, from the outside in, such as `change.requested`; sorted. */
  readonly states: readonly string[]
  /** The events of the stream that changed its states, at most the newest 500. */
  readonly path: readonly StateStep[]
  /** The position of the last event that counts. */
  readonly position: number
  readonly version: number
}

/** An event that changed the states of its stream, and the states after it. */
export interface StateStep {
  readonly position: number
  readonly at: Instant
  readonly type: string
  readonly states: readonly string[]
}

const stepsMax = 500

/** Replays a stream with its machine. Throws `NOT_FOUND` without an event by then, `INVALID_INPUT` for the future. */
export async function readStreamState(
  context: ApiContext,
  machines: readonly Machine[],
  stream: string,
  knownAt?: Instant | number,
): Promise<StreamState> {
  checkStream(stream)
  const until = knownAt === undefined ? undefined : (await resolveKnownAt(context, knownAt)).position
  const machine = machines.find(({ name }) => name === stream.split('-', 1)[0])
  let state = machine?.initial
  let [position, version, shown] = [0, 0, '']
  const path: StateStep[] = []
  for await (const event of readEvents(context.store, { stream })) {
    if (until !== undefined && event.position > until) break
    state = state && machine?.evolve(state, event)
    ;({ position, version } = event)
    const states = activeStates(state?.value)
    if (states.join() === shown) continue
    shown = states.join()
    path.push({ position, at: event.at, type: event.type, states })
    if (path.length > stepsMax) path.shift()
  }
  if (version > 0) return { machine: machine?.name ?? '', states: activeStates(state?.value), path, position, version }
  const isLater = until !== undefined && (await context.store.lastVersion(stream)) > 0
  throw new AverbaError('NOT_FOUND', `Cannot show the stream: it ${isLater ? 'had no events then' : 'has no events'}`, {
    hint: 'Give the stream of an event, such as consent-…: averba log shows them',
  })
}

/** The paths of the innermost active states: parallel regions have one each. */
function activeStates(value: unknown): string[] {
  const paths = (at: unknown): string[] =>
    typeof at === 'object' && at !== null
      ? Object.entries(at).flatMap(([key, inner]) => paths(inner).map(rest => `${key}.${rest}`))
      : [String(at)]
  return value === undefined || value === '' ? [] : paths(value).sort()
}
