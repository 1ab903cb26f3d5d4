import type { ApiContext } from '../api/api-context.ts'
import type { Job, Module } from '../api/module.ts'
import type { AttemptCounts } from '../engine/engine.ts'
import { cancelReason, monotonicClock, waitAtMost } from '../runtime/clock.ts'
import { runSequentially } from '../runtime/event-loop.ts'
import { LogLimiter } from '../runtime/log-limiter.ts'
import { errorName } from '../vocabulary/error-words.ts'
import { hasCode } from '../vocabulary/errors.ts'

/** How often each loop looks for work at most, and how often other processes are asked for theirs. */
const lookEveryMs = 1_000
const scheduleEveryMs = 60_000
const never = Number.POSITIVE_INFINITY
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
  const over = new AbortController()
  // A failure of one, such as a damaged event, does not stop the others.
  const work = (closing: AbortSignal) =>
    runSequentially(
      () => store.retryStoppedViews(AbortSignal.any([closing, over.signal])),
      () => runDueJobs(jobsOf(context, modules)),
      () => engine.settle(counts, over.signal),
      () => reportToModules(modules),
      () => followers.settle(over.signal),
    )
  const settling = engine.admit(work)
  try {
    if (timeoutMs === undefined) await settling
    else await waitAtMost(clock, timeoutMs, settling)
  } finally {
    over.abort()
    // Later failures are reported when the work is tried again.
    settling.catch(() => undefined)
  }
  return { ...counts }
}

function jobsOf({ options }: ApiContext, modules: readonly Module[]): Job[] {
  return options.schedules === false ? [] : modules.flatMap(({ jobs = [] }) => jobs)
}

/** Runs the jobs that are due because time has passed. A failing job stops no other. */
async function runDueJobs(jobs: readonly Job[]): Promise<void> {
  await runSequentially(...jobs.map(job => () => job.runDue()))
}

async function reportToModules(modules: readonly Module[]): Promise<void> {
  await runSequentially(...modules.map(each => async () => each.logAlerts?.()))
}

interface Look {
  readonly nextAt: number
  readonly hastens?: AbortSignal
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
    if (signal.aborted && hasCode(error, 'CLOSED')) return
    limiter.log(`${what} ${errorName(error)}`, times =>
      log({
        level: 'error',
        message: 'part of run failed; it continues',
        detail: what,
        error: errorName(error),
        times,
      }),
    )
  }
  /** Looks for work after each commit, at most once in `everyMs`, and when the look before, or its signal, says so. */
  const repeat = async (what: string, everyMs: number, look: () => Promise<Look>) => {
    while (!signal.aborted) {
      const [{ count }, began] = [store.changes, clock.now()]
      const { nextAt, hastens } = await look().catch((error: unknown): Look => {
        logFailure(what)(error)
        return { nextAt: began + everyMs }
      })
      const over = hastens ? AbortSignal.any([signal, hastens]) : signal
      await store.changes.rest(count, nextAt, over, `run: ${what}`)
      const leftMs = Math.min(everyMs, began + everyMs - clock.now())
      if (leftMs > 0) await clock.sleep(leftMs, over, `run: ${what}`)
    }
  }
  const jobs = jobsOf(context, modules)
  const begin = () => engine.admit(() => runSequentially(...jobs.map(job => async () => job.begin?.())))
  // Before anything is written, since jobs need to know where the log ended.
  await begin().catch(logFailure('schedules'))
  const makeCalls = async (service: string) => {
    const what = `calls of ${service}`
    const due = engine.callsOf(service, signal, logFailure(what))
    await repeat(what, lookEveryMs, async () => {
      const room = new AbortController()
      // Registered before `begin`: a call that ends meanwhile makes room too.
      due.onceRoom(() => room.abort(cancelReason))
      await engine.admit(() => due.begin())
      return { nextAt: await due.nextAt(), hastens: room.signal }
    })
    await due.waitForAll()
  }
  const work = Promise.all([
    ...engine.services.map(makeCalls),
    repeat('schedules', scheduleEveryMs, async () => {
      await engine.admit(() => runDueJobs(jobs))
      return { nextAt: Math.min(...(await Promise.all(jobs.map(job => job.nextAt?.() ?? never)))) }
    }),
    repeat('subscriptions', scheduleEveryMs, async () => {
      await engine.admit(() => reportToModules(modules))
      return { nextAt: never }
    }),
    repeat('views', lookEveryMs, async () => {
      const nextAt = await engine.admit(closing => store.retryStoppedViews(AbortSignal.any([closing, signal])))
      return { nextAt }
    }),
    repeat('followers', lookEveryMs, async () => {
      await followers.run(signal)
      return { nextAt: never }
    }),
    store.isShared && wakeForOthers(context, signal),
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

/** Looks every second whether another process has written, or the system's clock was set: either may make work due. */
async function wakeForOthers({ store, clock }: ApiContext, signal: AbortSignal): Promise<void> {
  const elapsedMs = monotonicClock(clock)
  let offset = clock.now() - elapsedMs()
  while (!signal.aborted) {
    await store.watch().catch(() => undefined) // Each loop reports that the store cannot be read.
    const now = clock.now() - elapsedMs()
    if (Math.abs(now - offset) > lookEveryMs) store.changes.wake()
    offset = now
    await clock.sleep(lookEveryMs, signal, 'run: a look for other processes')
  }
}

function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
