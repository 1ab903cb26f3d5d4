import type { Recorded } from '../../api/events.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { checkKnownNames } from '../../vocabulary/known-names.ts'
import { goQuiet, type QuietWorld } from '../world/go-quiet.ts'
import { simulate, type World, type WorldOptions } from '../world/simulate.ts'
import { checkEventTypes, checkExpectation, eventTypesIn, type MemberNames } from './check-case.ts'
import { assertMatches, ExpectationError, type ExpectedValue, findMismatch } from './expectation.ts'

/** A test of the services, the engine and the passing of time together: given, when, expected. */
export interface Scenario<G, R> {
  /** The options of its world: seed, policies, faults, and the engine's options. */
  readonly world?: Omit<WorldOptions, 'crashAt'>
  /** Prepares the world. `when` and `always` receive what it returns. */
  readonly given?: (world: World) => G | Promise<G>
  /** Acts. Time passes until its promise settles. */
  readonly when: (world: World, given: G) => R | Promise<R>
  readonly expected?: ScenarioEnding<G, R>
  /**
   * Repeats the run for every crash point during `when`, and crashes the engine there. Each time the engine restarts
   * and does its pending work, and `when` is called again, as a host would do. So give your commands ids.
   */
  readonly survivesCrashes?: boolean
}

/** What must be true at the end of a scenario. */
export interface ScenarioEnding<G, R> {
  readonly result?: ExpectedValue<R>
  readonly error?: ExpectedValue<{ name: string; message: string; code: string }>
  /** Events recorded since `given`, in this order; other events may lie between them. */
  readonly events?: readonly ExpectedValue<Recorded>[]
  /** Event types that must not have been recorded since `given`. */
  readonly without?: readonly Recorded['type'][]
  /** The number of effects that wait for a person: 0 by default. */
  readonly stuck?: number
  /** The number of parked handlers and followers: 0 by default. */
  readonly parked?: number
  /** A further check, called also after every crash. */
  readonly always?: (world: World, given: G) => void | Promise<void>
}

const scenarioMembers: MemberNames<keyof Scenario<never, never>> = {
  world: true,
  given: true,
  when: true,
  expected: true,
  survivesCrashes: true,
}
const endingMembers: MemberNames<keyof ScenarioEnding<never, never>> = {
  result: true,
  error: true,
  events: true,
  without: true,
  stuck: true,
  parked: true,
  always: true,
}

/** The result of a scenario. */
export interface ScenarioResult<R> {
  /** What `when` returned; `undefined` when it threw. */
  readonly result: R | undefined
  readonly events: readonly Recorded[]
  /** The number of crash points that were tried, each in its own world. */
  readonly crashes: number
}

/**
 * Runs a scenario in its own world, and closes it. After `when`, faults end, pending effects run, and failed handlers
 * are called again. Every scenario then checks that each view equals a replay of the log, that no effect is pending,
 * and that no handler waits for a retry.
 *
 * @throws {ExpectationError} when an expectation is not met: with the seed and the recorded events
 * @throws {TypeError} before the run, when `expected` is empty or names an event that no machine records
 * @throws {AverbaError} `INVALID_INPUT` before the run, when the scenario has an unknown member
 */
export async function scenario<R, G = undefined>(definition: Scenario<G, R>): Promise<ScenarioResult<R>> {
  checkScenario(definition)
  const { result, events, from, to } = await runOnce(definition)
  if (!definition.survivesCrashes) return { result, events, crashes: 0 }
  for (let crashPoint = from + 1; crashPoint <= to; crashPoint++) await runOnce(definition, crashPoint)
  return { result, events, crashes: to - from }
}

function checkScenario<G, R>(definition: Scenario<G, R>): void {
  checkKnownNames(definition, Object.keys(scenarioMembers), { noun: 'member', of: 'a scenario' })
  const { expected } = definition
  if (expected === undefined) return
  checkExpectation('a scenario', expected, endingMembers, isEmptyExpectation)
  checkEventTypes(eventTypesIn(expected.events))
  checkEventTypes(expected.without ?? [])
}

/** An empty list of events expects nothing, as other events are always allowed. */
function isEmptyExpectation(value: unknown, name: string): boolean {
  const isList = name === 'events' || name === 'without'
  return value === undefined || (isList && Array.isArray(value) && value.length === 0)
}

/** Runs a scenario once: without a crash, or with one at the given point. */
async function runOnce<G, R>(
  { world: options = {}, given, when, expected = {} }: Scenario<G, R>,
  crashPoint?: number,
): Promise<{ result: R | undefined; events: readonly Recorded[]; from: number; to: number }> {
  let points = 0
  const crashAt = ({ number }: { number: number }) => {
    points = number
    return number === crashPoint
  }
  const world = await simulate({ ...options, crashAt })
  const { clock } = world
  let events: readonly Recorded[] = []
  try {
    const context = (await clock.finish(Promise.resolve(given?.(world)))) as G // Without `given`, G is undefined.
    const from = points
    const begin = await lastPosition(world)
    const act = async () => when(world, context)
    const ended = await runToEnd(world, act)
    const to = points
    if (crashPoint !== undefined) {
      if (!world.isDown)
        throw new TypeError(
          `The process did not crash at point ${crashPoint}: the scenario is not the same in every run`,
        )
      await world.restart()
      await clock.advance(leaseMs + 1)
      await goQuiet(world)
      const again = await runToEnd(world, act)
      // A repeated command may be refused or have another outcome; any other error is a mistake of the host.
      const isMistake = 'error' in again && !(again.error instanceof AverbaError)
      if (isMistake && expected.error === undefined) throw again.error
    }
    const quiet = await goQuiet(world)
    events = await eventsAfter(world, begin)
    if (crashPoint === undefined) checkEnding(ended, events, expected)
    checkQuiet(quiet)
    if (crashPoint === undefined) checkStuckAndParked(quiet, expected)
    await expected.always?.(world, context)
    return { result: 'result' in ended ? ended.result : undefined, events, from, to }
  } catch (error) {
    throw withReproduction(error, world, events, crashPoint)
  } finally {
    await world.close()
  }
}

/** How long a crashed process still holds its lease on an effect. */
const leaseMs = 60_000

type RunResult<R> = { readonly result: R } | { readonly error: unknown } | { readonly died: true }

/** Lets time pass until the work has ended, or the process has died. */
async function runToEnd<R>(world: World, act: () => Promise<R>): Promise<RunResult<R>> {
  let ended: RunResult<R> | undefined
  const acting = act().then(
    result => {
      ended = { result }
    },
    (error: unknown) => {
      ended = { error }
    },
  )
  const passing = world.clock.runUntil(() => ended !== undefined || world.isDown)
  // Without a sleeper the work waits for something outside the simulation.
  const isOutside = (error: unknown) => error instanceof AverbaError && error.code === 'NOTHING_DUE'
  await passing.catch((error: unknown) => (isOutside(error) ? acting : Promise.reject(error)))
  return ended ?? { died: true }
}

function checkEnding<G, R>(ended: RunResult<R>, events: readonly Recorded[], expected: ScenarioEnding<G, R>): void {
  if ('error' in ended && expected.error === undefined) throw ended.error
  if (expected.error !== undefined) {
    const error = 'error' in ended ? ended.error : undefined
    const { name, message } = error instanceof Error ? error : { name: '', message: '' }
    const code = error instanceof AverbaError ? error.code : ''
    assertMatches('the error', error === undefined ? undefined : { name, message, code }, expected.error)
  }
  if (expected.result !== undefined && 'result' in ended) assertMatches('the result', ended.result, expected.result)
  checkEvents(events, expected.events ?? [])
  const unwanted = events.filter(event => expected.without?.includes(event.type))
  assertMatches('the unwanted events', unwanted, [])
}

/** Checks that every expected event was recorded, in order; other events may lie between them. */
function checkEvents(events: readonly Recorded[], expected: readonly unknown[]): void {
  let from = 0
  for (const [i, each] of expected.entries()) {
    const found = events.findIndex((event, at) => at >= from && findMismatch(event, each, '') === undefined)
    if (found < 0) {
      throw new ExpectationError(
        `Expected event ${i + 1} of ${expected.length}, but it was not recorded, or not in this order`,
        each,
        events.slice(from),
      )
    }
    from = found + 1
  }
}

function checkQuiet({ pending, differences, failing }: QuietWorld): void {
  assertMatches('the views that differ from a replay', differences, [])
  assertMatches('the effects that are still pending', pending, [])
  // In a restarted process a handler exists once `when` has registered it.
  assertMatches('the handlers that failed and were not called again', failing, [])
}

function checkStuckAndParked(
  { stuck, parked }: QuietWorld,
  expected: Pick<ScenarioEnding<never, never>, 'stuck' | 'parked'>,
): void {
  assertMatches('the number of effects that wait for a person', stuck.length, expected.stuck ?? 0)
  const { parked: parkedCount = 0 } = expected
  if (parked.length === parkedCount) return
  const message = `Expected ${parkedCount} handlers to be parked at the end, not ${parked.length}`
  throw new ExpectationError([message, ...parked].join('\n  '), parkedCount, parked)
}

async function lastPosition({ averba }: World): Promise<number> {
  for await (const event of averba.log.read({ backward: true })) return event.position
  return 0
}

async function eventsAfter({ averba }: World, position: number): Promise<readonly Recorded[]> {
  const events: Recorded[] = []
  for await (const event of averba.log.read({ after: position })) events.push(event)
  return events
}

/** Adds to an error's message how to reproduce it: the seed, the crash point and the events. */
function withReproduction(error: unknown, { seed }: World, events: readonly Recorded[], crashPoint?: number): unknown {
  if (!(error instanceof Error)) return error
  const died = crashPoint === undefined ? '' : `, with a crash at point ${crashPoint}`
  const timeline = events.map(event => `  ${event.position} ${event.at} ${event.type} ${event.stream}`)
  error.message += `\n\nin the world of seed ${seed}${died}\n${timeline.join('\n')}`
  return error
}
