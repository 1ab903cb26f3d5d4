import type { ApiContext } from '../api/api-context.ts'
import type { Module } from '../api/module.ts'
import type { AttemptCounts } from '../engine/engine.ts'
import { runSequentially } from '../runtime/event-loop.ts'
import { LogLimiter } from '../runtime/log-limiter.ts'
import { errorName } from '../vocabulary/error-words.ts'
import { AverbaError } from '../vocabulary/errors.ts'

/** How often the ledger is searched for what came due, or was left by another process. */
const lookEveryMs = 1_000
/** How often schedules are checked. */
const scheduleEveryMs = 60_000
/** How long what is under way is waited for after the signal. */
const endWaitMs = 15_000

/**
 * Does what is due now, within a time: then nothing more is begun, and what is under way goes on by itself, no longer
 * waited for.
 */
export async function settleAll(
  context: ApiContext,
  modules: readonly Module[],
  timeoutMs: number | undefined,
): Promise<AttemptCounts> {
  const { engine, followers, store, clock } = context
  const counts = { settled: 0, deferred: 0, unknown: 0 }
  const [over, done] = [new AbortController(), new AbortController()]
  // What fails in one of them, such as at a damaged event, holds up none of the others.
  const work = (closing: AbortSignal) =>
    runSequentially(
      () => store.retryStoppedViews(AbortSignal.any([closing, over.signal])),
      () => doJobs(context, modules),
      () => engine.settle(counts, over.signal),
      () => tellAll(modules),
      () => followers.settle(over.signal),
    )
  const settling = engine.admit(work)
  try {
    if (timeoutMs === undefined) await settling
    else await Promise.race([settling, clock.sleep(timeoutMs, done.signal)])
  } finally {
    // A timer that is left running would keep a script from ending.
    done.abort()
    over.abort()
    // Later failures are told when they are tried again.
    settling.catch(() => undefined)
  }
  return { ...counts }
}

/** Does what is due because time has passed. What fails in one job holds up no other. */
async function doJobs({ options }: ApiContext, modules: readonly Module[]): Promise<void> {
  if (options.schedules === false) return
  await runSequentially(...modules.flatMap(({ jobs = [] }) => jobs.map(job => () => job.look())))
}

/** Does what a process does once, when it begins to run. */
async function beginJobs({ options }: ApiContext, modules: readonly Module[]): Promise<void> {
  if (options.schedules === false) return
  await runSequentially(...modules.flatMap(({ jobs = [] }) => jobs.map(job => async () => job.begin?.())))
}

async function tellAll(modules: readonly Module[]): Promise<void> {
  await runSequentially(...modules.map(each => async () => each.tell?.()))
}

/** Until when a process runs. */
interface RunEnd {
  readonly signal: AbortSignal
  /** Says that nothing more is waited for, whatever is under way: the store closes. */
  readonly over: AbortSignal
}

/**
 * Performs what comes due, keeps to the schedules, brings views back and calls followers, until the signal. Each
 * service is served by itself: one that hangs holds up no other. Failures are told, and tried again. Nothing more is
 * begun once the signal has come. What is under way then is waited for, within a bound: what has not ended by then
 * stays in the ledger as begun.
 */
export async function runAll(
  context: ApiContext,
  modules: readonly Module[],
  { signal, over }: RunEnd,
): Promise<void> {
  const { engine, followers, store, clock, log } = context
  const seldom = new LogLimiter(clock)
  /** Tells why something failed once a minute: most of it is tried again every second. */
  const failed = (what: string) => (error: unknown) => {
    // What outlives the store ends as if its process had died.
    if (signal.aborted && error instanceof AverbaError && error.code === 'CLOSED') return
    seldom.log(`${what} ${errorName(error)}`, times =>
      log({ message: 'running failed, and goes on', detail: what, error: errorName(error), times }),
    )
  }
  const again = (what: string, work: () => Promise<unknown>, everyMs = lookEveryMs) =>
    repeat(work, () => clock.sleep(everyMs, signal, `run: ${what}`), signal, failed(what))
  const begin = () => engine.admit(() => beginJobs(context, modules))
  // Before anything else is written: it needs to know where the log ended.
  await begin().catch(failed('schedules'))
  const work = Promise.all([
    ...engine.services.map(service => serve(context, service, signal, failed(`calls of ${service}`))),
    again('schedules', () => engine.admit(() => doJobs(context, modules)), scheduleEveryMs),
    again('subscriptions', () => engine.admit(() => tellAll(modules)), scheduleEveryMs),
    again('views', () =>
      engine.admit(closing => store.retryStoppedViews(AbortSignal.any([closing, signal]))),
    ),
    again('followers', () => followers.run(signal)),
  ])
  const ended = new AbortController()
  const bound = async () => {
    await aborted(signal)
    const haveHadTheirTime = [engine.noteUnderWay(), followers.noteUnderWay()]
    await clock.sleep(endWaitMs, ended.signal, 'the end of run')
    // After an abort, closing need not wait again for what was waited for here.
    if (!ended.signal.aborted) for (const each of haveHadTheirTime) each()
  }
  await Promise.race([work, bound(), aborted(over)])
  ended.abort()
}

/** Makes the calls of one service as they come due. */
async function serve(
  { engine, clock }: ApiContext,
  service: string,
  signal: AbortSignal,
  failed: (error: unknown) => void,
): Promise<void> {
  const calls = engine.callsOf(service, signal, failed)
  let room = new AbortController()
  const begin = () => {
    // Asked for first: what ends while others begin leaves room as well.
    room = new AbortController()
    calls.onceRoom(() => room.abort())
    return engine.admit(() => calls.begin())
  }
  const rest = () =>
    clock.sleep(lookEveryMs, AbortSignal.any([signal, room.signal]), `run: calls of ${service}`)
  await repeat(begin, rest, signal, failed)
  await calls.over()
}

/** Resolves when the signal comes. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

async function repeat(
  work: () => Promise<unknown>,
  rest: () => Promise<void>,
  signal: AbortSignal,
  failed: (error: unknown) => void,
): Promise<void> {
  while (!signal.aborted) {
    await work().catch(failed)
    await rest()
  }
}
