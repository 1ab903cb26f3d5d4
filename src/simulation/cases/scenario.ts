import assert, { AssertionError } from 'node:assert/strict'
import { inspect } from 'node:util'
import type { Recorded } from '../../api/events.ts'
import { AverbaError, hasCode } from '../../vocabulary/errors.ts'
import { checkKnownNames } from '../../vocabulary/names.ts'
import { goQuiet, type QuietWorld, settleAll } from '../world/go-quiet.ts'
import { simulate, type World, type WorldOptions } from '../world/simulate.ts'
import type { CrashPoint } from '../world/simulated-process.ts'
import { assertExpected, assertNamed, checkEventTypes, checkExpectation, type ExpectedValue } from './expectation.ts'

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
  /** The error of `when`, as `assert.throws` takes it: its members, or a function that returns true. */
  readonly error?:
    | { readonly name?: string; readonly message?: string | RegExp; readonly code?: string }
    | ((error: unknown) => boolean)
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

type ScenarioMember = keyof Scenario<never, never>
const scenarioMembers: readonly ScenarioMember[] = ['world', 'given', 'when', 'expected', 'survivesCrashes']
type EndingMember = keyof ScenarioEnding<never, never>
const endingMembers: readonly EndingMember[] = ['result', 'error', 'events', 'without', 'stuck', 'parked', 'always']

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
 * @throws {AssertionError} of `node:assert`, when an expectation is not met: with the seed and the recorded events
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
  checkKnownNames(definition, scenarioMembers, { noun: 'member', of: 'a scenario' })
  const { expected } = definition
  if (expected === undefined) return
  checkExpectation('a scenario', expected, endingMembers, isEmptyExpectation)
  checkEventTypes(expected.events)
  checkEventTypes(expected.without?.map(type => ({ type })))
}

/** An empty list of events expects nothing, as other events are always allowed. */
function isEmptyExpectation(value: unknown, name: string): boolean {
  const isList = name === 'events' || name === 'without'
  return value === undefined || (isList && Array.isArray(value) && value.length === 0)
}

/** How long a crashed process still holds its lease on an effect. */
const leaseMs = 60_000

/** Runs a scenario once: without a crash, or with one at the given point. */
async function runOnce<G, R>(
  { world: options = {}, given, when, expected = {} }: Scenario<G, R>,
  crashPoint?: number,
): Promise<{ result: R | undefined; events: readonly Recorded[]; from: number; to: number }> {
  let points = 0
  const crashAt = ({ number }: CrashPoint) => {
    points = number
    return number === crashPoint
  }
  const world = await simulate({ ...options, crashAt })
  let events: readonly Recorded[] = []
  try {
    const context = (await world.clock.finish(Promise.resolve(given?.(world)))) as G // Without `given`, G is undefined.
    const from = points
    const { position } = await world.averba.figures()
    const act = async () => when(world, context)
    const ended = await runToEnd(world, act)
    const to = points
    if (crashPoint !== undefined) {
      const message = `The process did not crash at point ${crashPoint}: the scenario is not the same in every run`
      if (!world.isDown) throw new TypeError(message)
      await world.restart()
      await world.clock.advance(leaseMs + 1)
      // No view is rebuilt before the end: that would hide from the comparison there what the crash left wrong.
      await settleAll(world)
      const again = await runToEnd(world, act)
      // A repeated command may be refused or have another outcome; any other error is a mistake of the host.
      const isMistake = 'error' in again && !(again.error instanceof AverbaError)
      if (isMistake && expected.error === undefined) throw again.error
    }
    const quiet = await goQuiet(world)
    events = await Array.fromAsync(world.averba.log.read({ after: position }))
    if (crashPoint === undefined) checkEnding(ended, events, expected)
    checkQuiet(quiet, crashPoint === undefined ? expected : undefined)
    await expected.always?.(world, context)
    return { result: 'result' in ended ? ended.result : undefined, events, from, to }
  } catch (error) {
    throw withReproduction(error, world, events, crashPoint)
  } finally {
    await world.close()
  }
}

type RunResult<R> = { readonly result: R } | { readonly error: unknown } | { readonly died: true }

/** Lets time pass until the work has ended, or the process has died. */
async function runToEnd<R>(world: World, act: () => Promise<R>): Promise<RunResult<R>> {
  let ended: RunResult<R> | undefined
  const acting = act()
    .then(
      result => ({ result }),
      (error: unknown) => ({ error }),
    )
    .then(end => {
      ended = end
    })
  await world.clock
    .runUntil(() => ended !== undefined || world.isDown)
    .catch((error: unknown) => {
      // Without a sleeper the work waits for something outside the simulation.
      if (hasCode(error, 'NOTHING_DUE')) return acting
      throw error
    })
  return ended ?? { died: true }
}

function checkEnding<G, R>(ended: RunResult<R>, events: readonly Recorded[], expected: ScenarioEnding<G, R>): void {
  const { error: expectedError } = expected
  if ('error' in ended && expectedError === undefined) throw ended.error
  if (expectedError !== undefined) {
    const rethrow = () => {
      if ('error' in ended) throw ended.error
    }
    assertNamed('the error', () => assert.throws(rethrow, expectedError))
  }
  if (expected.result !== undefined && 'result' in ended) assertExpected('the result', ended.result, expected.result)
  checkEvents(events, expected.events ?? [])
  const unwanted = events.filter(event => expected.without?.includes(event.type))
  assertExpected('the unwanted events', unwanted, [])
}

/** Checks that every expected event was recorded, in order; other events may lie between them. */
function checkEvents(events: readonly Recorded[], expected: readonly unknown[]): void {
  let from = 0
  for (const [i, each] of expected.entries()) {
    const found = events.findIndex((event, at) => at >= from && isExpected(event, each))
    if (found < 0) {
      const what = `event ${i + 1} of ${expected.length}`
      const message = `Expected ${what}, but it was not recorded, or not in this order: ${inspect(each, { depth: null })}`
      throw new AssertionError({ message, actual: events.slice(from), expected: each })
    }
    from = found + 1
  }
}

function isExpected(event: Recorded, expected: unknown): boolean {
  try {
    assertExpected('an event', event, expected)
    return true
  } catch {
    return false
  }
}

/** Checks the quiet world. After a crash other effects and handlers may have failed than without one. */
function checkQuiet(quiet: QuietWorld, expected?: Pick<ScenarioEnding<never, never>, 'stuck' | 'parked'>): void {
  assertExpected('the views that differ from a replay', quiet.differences, [])
  assertExpected('the effects that are still pending', quiet.pending, [])
  // In a restarted process a handler exists once `when` has registered it.
  assertExpected('the handlers that failed and were not called again', quiet.failing, [])
  if (!expected) return
  const { stuck = 0, parked = 0 } = expected
  assertExpected('the number of effects that wait for a person', quiet.stuck.length, stuck)
  const message = `Expected ${parked} handlers to be parked at the end, not ${quiet.parked.length}`
  assert.equal(quiet.parked.length, parked, [message, ...quiet.parked].join('\n  '))
}

/** Adds to an error's message how to reproduce it: the seed, the crash point and the events. */
function withReproduction(error: unknown, { seed }: World, events: readonly Recorded[], crashPoint?: number): unknown {
  if (!(error instanceof Error)) return error
  const died = crashPoint === undefined ? '' : `, with a crash at point ${crashPoint}`
  const timeline = events.map(event => `  ${event.position} ${event.at} ${event.type} ${event.stream}`)
  const { message } = error
  error.message += `\n\nin the world of seed ${seed}${died}\n${timeline.join('\n')}`
  // Some test runners show only the stack, which has the message as it was.
  if (error.stack !== undefined) error.stack = error.stack.replace(message, () => error.message)
  return error
}
