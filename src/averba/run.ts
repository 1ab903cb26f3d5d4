import type { ApiContext } from '../api/api-context.ts'
import type { Module } from '../api/module.ts'
import type { AttemptCounts } from '../engine/engine.ts'
import { runSequentially } from '../runtime/event-loop.ts'
import { LogLimiter } from '../runtime/log-limiter.ts'
import { errorName } from '../vocabulary/error-words.ts'
import { AverbaError } from '../vocabulary/errors.ts'

/** How often the ledger is searched for due calls, including those that another process left. */
const lookEveryMs = 1_000
const scheduleEveryMs = 60_000
/** How long work in progress is waited for after the signal. */
const endWaitMs = 15_000

/** Does what is due now. After the time limit, it begins nothing more and no longer waits for work in progress. */
export async function settleAll(
  context: ApiContext,
  modules: readonly Module[],
  timeoutMs: number | undefined,
): Promise<AttemptCounts> {
  const { engine, followers, store, clock } = context
  const counts = { settled: 0, deferred: 0, unknown: 0 }
  const [over, done] = [new AbortController(), new AbortController()]
  // A failure of one, such as a damaged event, does not stop the others.
  const work = (closing: AbortSignal) =>
    runSequentially(
      () => store.retryStoppedViews(AbortSignal.any([closing, over.signal])),
      () => runDueJobs(context, modules),
      () => engine.settle(counts, over.signal),
      () => reportToModules(modules),
      () => followers.settle(over.signal),
    )
  const settling = engine.admit(work)
  try {
    if (timeoutMs === undefined) await settling
    else await Promise.race([settling, clock.sleep(timeoutMs, done.signal)])
  } finally {
    // A timer left running would keep a script from ending.
    done.abort()
    over.abort()
    // Later failures are reported when the work is tried again.
    settling.catch(() => undefined)
  }
  return { ...counts }
}

/** Runs the jobs that are due because time has passed. A failing job stops no other. */
async function runDueJobs({ options }: ApiContext, modules: readonly Module[]): Promise<void> {
  if (options.schedules === false) return
  await runSequentially(...modules.flatMap(({ jobs = [] }) => jobs.map(job => () => job.runDue())))
}

async function beginJobs({ options }: ApiContext, modules: readonly Module[]): Promise<void> {
  if (options.schedules === false) return
  await runSequentially(...modules.flatMap(({ jobs = [] }) => jobs.map(job => async () => job.begin?.())))
}

async function reportToModules(modules: readonly Module[]): Promise<void> {
  await runSequentially(...modules.map(each => async () => each.logAlerts?.()))
}

interface RunEnd {
  readonly signal: AbortSignal
  /** Ends all waiting, even for work in progress: the store closes. */
  readonly over: AbortSignal
}

/**
 * Performs due calls, runs schedules, restarts views and calls followers, until the signal. Services run independently,
 * and failures are logged and retried. After the signal, work in progress is waited for, up to a limit; calls that have
 * not ended by then stay in the ledger as begun.
 */
export async function runAll(context: ApiContext, modules: readonly Module[], { signal, over }: RunEnd): Promise<void> {
  const { engine, followers, store, clock, log } = context
  const limiter = new LogLimiter(clock)
  /** Logs each failure at most once a minute: most work is tried again every second. */
  const logFailure = (what: string) => (error: unknown) => {
    // Work that outlives the store ends as if its process had died.
    if (signal.aborted && error instanceof AverbaError && error.code === 'CLOSED') return
    limiter.log(`${what} ${errorName(error)}`, times =>
      log({ message: 'part of run failed; it continues', detail: what, error: errorName(error), times }),
    )
  }
  const every = (what: string, work: () => Promise<unknown>, everyMs = lookEveryMs) =>
    repeatUntil(work, () => clock.sleep(everyMs, signal, `run: ${what}`), signal, logFailure(what))
  const begin = () => engine.admit(() => beginJobs(context, modules))
  // Before anything is written, since jobs need to know where the log ended.
  await begin().catch(logFailure('schedules'))
  const work = Promise.all([
    ...engine.services.map(service => makeCalls(context, service, signal, logFailure(`calls of ${service}`))),
    every('schedules', () => engine.admit(() => runDueJobs(context, modules)), scheduleEveryMs),
    every('subscriptions', () => engine.admit(() => reportToModules(modules)), scheduleEveryMs),
    every('views', () => engine.admit(closing => store.retryStoppedViews(AbortSignal.any([closing, signal])))),
    every('followers', () => followers.run(signal)),
  ])
  const ended = new AbortController()
  const bound = async () => {
    await whenAborted(signal)
    const noted = [engine.noteInFlight(), followers.noteInFlight()]
    await clock.sleep(endWaitMs, ended.signal, 'the end of run')
    // After an abort, `close` need not wait again for the same work.
    if (!ended.signal.aborted) for (const each of noted) each()
  }
  await Promise.race([work, bound(), whenAborted(over)])
  ended.abort()
}

/** Makes the calls of one service as they become due. */
async function makeCalls(
  { engine, clock }: ApiContext,
  service: string,
  signal: AbortSignal,
  logFailure: (error: unknown) => void,
): Promise<void> {
  const calls = engine.callsOf(service, signal, logFailure)
  let roomFree = new AbortController()
  const begin = () => {
    // Registered before `begin`: a call that ends meanwhile makes room too.
    roomFree = new AbortController()
    calls.onceRoom(() => roomFree.abort())
    return engine.admit(() => calls.begin())
  }
  const rest = () => clock.sleep(lookEveryMs, AbortSignal.any([signal, roomFree.signal]), `run: calls of ${service}`)
  await repeatUntil(begin, rest, signal, logFailure)
  await calls.waitForAll()
}

function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

async function repeatUntil(
  work: () => Promise<unknown>,
  rest: () => Promise<void>,
  signal: AbortSignal,
  logFailure: (error: unknown) => void,
): Promise<void> {
  while (!signal.aborted) {
    await work().catch(logFailure)
    await rest()
  }
}
