import type { Recorded } from '../../api/events.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { checkKnownNames } from '../../vocabulary/known-names.ts'
import { goQuiet, type QuietWorld } from '../world/go-quiet.ts'
import { simulate, type World, type WorldOptions } from '../world/simulate.ts'
import { checkExpectation, checkTypes, type MembersOf, typesIn } from './check-case.ts'
import { ExpectationError, type ExpectedValue, meets, misfitOf } from './expectation.ts'

/** A sentence about the whole: the services, the engine, and the time that passes. */
export interface Scenario<G, R> {
  /** The world in which it takes place: seed, policies, faults, and the engine's options. */
  readonly world?: Omit<WorldOptions, 'crashAt'>
  /** What is there before. The others are given what it returns. */
  readonly given?: (world: World) => G | Promise<G>
  /** What somebody does. Time passes until it has ended, and no longer. */
  readonly when: (world: World, given: G) => R | Promise<R>
  readonly expected?: ScenarioEnding<G, R>
  /**
   * Runs it again for every point at which the engine's process may die meanwhile, and lets it die there. Each time it
   * is started again and does what is left, and `when` is called again, as a host would: give your commands ids.
   */
  readonly survivesCrashes?: boolean
}

/** What has to be true in the end. */
export interface ScenarioEnding<G, R> {
  /** What `when` returns. */
  readonly result?: ExpectedValue<R>
  /** What `when` throws. */
  readonly error?: ExpectedValue<{ name: string; message: string; code: string }>
  /** Events that were recorded since, in this order; others may stand between them. */
  readonly events?: readonly ExpectedValue<Recorded>[]
  /** Types of events of which none was recorded since. */
  readonly without?: readonly Recorded['type'][]
  /** Calls that only a person can still make: none by default. */
  readonly stuck?: number
  /** Handlers and followers that failed until they were parked: none by default. */
  readonly parked?: number
  /** Any further check, also after every crash. */
  readonly always?: (world: World, given: G) => void | Promise<void>
}

const scenarioMembers: MembersOf<keyof Scenario<never, never>> = {
  world: true,
  given: true,
  when: true,
  expected: true,
  survivesCrashes: true,
}
const endingMembers: MembersOf<keyof ScenarioEnding<never, never>> = {
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
  /** At how many points the process died, each in a world of its own. */
  readonly crashes: number
}

/**
 * Plays a scenario in a world of its own, and closes it. Afterwards faults end, what is owed is done, handlers that
 * failed are called again, and whatever the scenario says, this has to hold: every view equals a replay of the log,
 * nothing is owed, and no handler is still to be called again.
 *
 * @throws {ExpectationError} when something came out otherwise: with the seed, and with what was recorded
 * @throws {TypeError} before anything begins, when the scenario has other members, or its `expected` expects nothing,
 * or an event that no machine records
 */
export async function scenario<R, G = undefined>(played: Scenario<G, R>): Promise<ScenarioResult<R>> {
  checkScenario(played)
  const whole = await play(played)
  let crashes = 0
  if (!played.survivesCrashes) return { ...whole, crashes }
  const { from, to } = whole
  for (let fatal = from + 1; fatal <= to; fatal++) {
    await play(played, fatal)
    crashes += 1
  }
  return { result: whole.result, events: whole.events, crashes }
}

/** A test that cannot fail is refused. */
function checkScenario<G, R>(played: Scenario<G, R>): void {
  checkKnownNames(played, Object.keys(scenarioMembers), { noun: 'member', of: 'a scenario' })
  const { expected } = played
  if (expected === undefined) return
  checkExpectation('a scenario', expected, endingMembers, isEmpty)
  checkTypes(typesIn(expected.events))
  checkTypes(expected.without ?? [])
}

/** Others may stand between the events: an empty list of them says nothing. */
function isEmpty(value: unknown, name: string): boolean {
  const isList = name === 'events' || name === 'without'
  return value === undefined || (isList && Array.isArray(value) && value.length === 0)
}

/** One run: through, or with a death at one point. */
async function play<G, R>(
  { world: options = {}, given, when, expected = {} }: Scenario<G, R>,
  fatal?: number,
): Promise<{ result: R | undefined; events: readonly Recorded[]; from: number; to: number }> {
  let points = 0
  const crashAt = ({ number }: { number: number }) => {
    points = number
    return number === fatal
  }
  const world = await simulate({ ...options, crashAt })
  const { clock } = world
  let events: readonly Recorded[] = []
  try {
    const context = (await clock.finish(Promise.resolve(given?.(world)))) as G // Without `given`, G is undefined.
    const from = points
    const begin = await endOf(world)
    const act = async () => when(world, context)
    const ended = await end(world, act)
    const to = points
    if (fatal !== undefined) {
      if (!world.isDown)
        throw new TypeError(`No process died at point ${fatal}: the scenario is not the same in every run`)
      await world.restart()
      await clock.advance(leaseMs + 1)
      await goQuiet(world)
      const again = await end(world, act)
      // What was done before may be refused, or have another outcome; anything else is a mistake of the host.
      const isMistake = 'error' in again && !(again.error instanceof AverbaError)
      if (isMistake && expected.error === undefined) throw again.error
    }
    const quiet = await goQuiet(world)
    events = await since(world, begin)
    if (fatal === undefined) checkEnd(ended, events, expected)
    checkQuiet(quiet)
    if (fatal === undefined) checkPeople(quiet, expected)
    await expected.always?.(world, context)
    return { result: 'result' in ended ? ended.result : undefined, events, from, to }
  } catch (error) {
    throw explained(error, world, events, fatal)
  } finally {
    await world.close()
  }
}

/** How long something taken by a process that died still belongs to it. */
const leaseMs = 60_000

type RunResult<R> = { readonly result: R } | { readonly error: unknown } | { readonly died: true }

/** Lets the work end, or the process that does it. */
async function end<R>(world: World, act: () => Promise<R>): Promise<RunResult<R>> {
  let ended: RunResult<R> | undefined
  const acting = act().then(
    result => {
      ended = { result }
    },
    (error: unknown) => {
      ended = { error }
    },
  )
  const over = world.clock.runUntil(() => ended !== undefined || world.isDown)
  // Where nobody sleeps, the work waits for the outside.
  const isOutside = (error: unknown) => error instanceof AverbaError && error.code === 'NOTHING_DUE'
  await over.catch((error: unknown) => (isOutside(error) ? acting : Promise.reject(error)))
  return ended ?? { died: true }
}

function checkEnd<G, R>(
  ended: RunResult<R>,
  events: readonly Recorded[],
  expected: ScenarioEnding<G, R>,
): void {
  if ('error' in ended && expected.error === undefined) throw ended.error
  if (expected.error !== undefined) {
    const error = 'error' in ended ? ended.error : undefined
    const { name, message } = error instanceof Error ? error : { name: '', message: '' }
    const code = error instanceof AverbaError ? error.code : ''
    meets('what is thrown', error === undefined ? undefined : { name, message, code }, expected.error)
  }
  if (expected.result !== undefined && 'result' in ended) meets('the result', ended.result, expected.result)
  checkOrder(events, expected.events ?? [])
  const unwanted = events.filter(event => expected.without?.includes(event.type))
  meets('the events that must not be', unwanted, [])
}

/** Checks that every expected event is there, in order; others may stand between. */
function checkOrder(events: readonly Recorded[], expected: readonly unknown[]): void {
  let from = 0
  for (const [i, each] of expected.entries()) {
    const found = events.findIndex((event, at) => at >= from && misfitOf(event, each, '') === undefined)
    if (found < 0) {
      throw new ExpectationError(
        `Expected event ${i + 1} of ${expected.length}, which was not recorded, or not in this order`,
        each,
        events.slice(from),
      )
    }
    from = found + 1
  }
}

function checkQuiet({ owed, differences, failing }: QuietWorld): void {
  meets('the views that differ from a replay', differences, [])
  meets('the calls that are owed in the end', owed, [])
  // In a restarted process a handler exists once `when` has registered it.
  meets('the handlers that failed, and that nobody calls again', failing, [])
}

/** Checks what waits for a person. */
function checkPeople(
  { stuck, parked }: QuietWorld,
  expected: Pick<ScenarioEnding<never, never>, 'stuck' | 'parked'>,
): void {
  meets('how many calls need a person', stuck.length, expected.stuck ?? 0)
  const { parked: parkedCount = 0 } = expected
  if (parked.length === parkedCount) return
  const message = `Expected ${parkedCount} handlers to be parked in the end, not ${parked.length}`
  throw new ExpectationError([message, ...parked].join('\n  '), parkedCount, parked)
}

async function endOf({ averba }: World): Promise<number> {
  for await (const event of averba.log.read({ backward: true })) return event.position
  return 0
}

async function since({ averba }: World, position: number): Promise<readonly Recorded[]> {
  const events: Recorded[] = []
  for await (const event of averba.log.read({ after: position })) events.push(event)
  return events
}

/** The same error, which tells how to reproduce it. */
function explained(error: unknown, { seed }: World, events: readonly Recorded[], fatal?: number): unknown {
  if (!(error instanceof Error)) return error
  const died = fatal === undefined ? '' : `, its process dead at point ${fatal}`
  const timeline = events.map(event => `  ${event.position} ${event.at} ${event.type} ${event.stream}`)
  error.message += `\n\nin the world of seed ${seed}${died}\n${timeline.join('\n')}`
  return error
}
