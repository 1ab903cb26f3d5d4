import { hasCode } from '../../vocabulary/errors.ts'
import { backoffMs, isWaitOver } from '../../vocabulary/instant.ts'
import type { View } from '../../vocabulary/view.ts'
import type { StoreOptions } from '../store-options.ts'
import { catchUp, isFailureOfOneView } from './folding.ts'
import { readRunningViews, readViewProgress, type ViewStateListener, viewVersionName } from './projector.ts'
import { buildViews, type RebuildParts } from './rebuilder.ts'

interface StoppedViewsParts extends RebuildParts {
  readonly options: Pick<StoreOptions, 'views' | 'onViewStopped' | 'onViewTaken' | 'onViewBack'>
}

interface RetryState {
  readonly tries: number
  readonly dueAt: number
}

const waitBaseMs = 1_000
const waitMaxMs = 5 * 60_000

/**
 * Makes stopped views running again, outside appends: when a log is opened, and while a process works. It tries at
 * once, then after 1 s, 2 s and so on up to 5 minutes. The count starts over only after a view has run for as long as
 * it would have waited: a view that keeps stopping is not tried all the time.
 */
export class StoppedViews implements ViewStateListener {
  readonly #parts: StoppedViewsParts
  readonly #retries = new Map<string, RetryState>()
  #knownStopped: Set<string> | undefined
  #round: Promise<number> | undefined

  constructor(parts: StoppedViewsParts) {
    this.#parts = parts
  }

  /** Reports views that are no longer running and that this process did not stop: another one did. */
  onRunning(running: ReadonlySet<string>): void {
    for (const view of this.#knownStopped ? this.#parts.options.views : []) {
      if (running.has(viewVersionName(view))) this.#knownStopped?.delete(view.name)
      else if (!this.#knownStopped?.has(view.name)) {
        this.#knownStopped?.add(view.name)
        this.#parts.options.onViewTaken?.(view.name)
      }
    }
  }

  onFailed(view: string): void {
    this.#knownStopped?.add(view)
    this.#parts.options.onViewStopped?.(view)
  }

  /** Lets stopped views catch up. Views that were never built, or have a new version, are built. */
  async restore(): Promise<void> {
    const stopped = await this.#listStopped()
    const unbuilt = stopped.flatMap(({ view, position }) => (position === 0 ? view : []))
    if (unbuilt.length > 0)
      await this.#restart(unbuilt, async () => {
        const { failed } = await buildViews(this.#parts, unbuilt, { compare: false })
        // Another process is building the others.
        for (const { view, error } of failed) if (isFailureOfOneView(error)) this.onFailed(view)
      })
    for (const { view, position } of stopped)
      if (position > 0) await this.#restart([view], () => catchUp(this.#parts, view))
    this.#knownStopped = new Set((await this.#listStopped()).map(({ view }) => view.name))
  }

  /** Tries the views that are due, until the signal, and returns when the next one is. Callers share one round. */
  retryDue(signal: AbortSignal): Promise<number> {
    this.#round ??= this.#retryRound(signal).finally(() => {
      this.#round = undefined
    })
    return this.#round
  }

  async #retryRound(signal: AbortSignal): Promise<number> {
    const { clock, connection, options } = this.#parts
    this.onRunning(await connection.read(readRunningViews))
    const stopped = await this.#listStopped()
    const isStill = (name: string) => stopped.some(({ view }) => view.name === name)
    for (const [name, { dueAt }] of this.#retries)
      if (isWaitOver(dueAt, clock.now(), waitMaxMs) && !isStill(name)) this.#retries.delete(name)
    for (const { view } of stopped) {
      const retry = this.#retries.get(view.name)
      if (signal.aborted) break
      if (retry && !isWaitOver(retry.dueAt, clock.now(), waitMaxMs)) continue
      // Catching up takes nothing from a rebuild of the same view, whereas building would take over its side table.
      await this.#restart([view], async () => {
        if (await catchUp(this.#parts, view, signal)) options.onViewBack?.(view.name)
      })
    }
    const dueTimes = stopped.map(({ view }) => this.#retries.get(view.name)?.dueAt ?? clock.now())
    return Math.min(...dueTimes)
  }

  async #restart(views: readonly View[], work: () => Promise<unknown>): Promise<void> {
    for (const { name } of views) {
      const tries = (this.#retries.get(name)?.tries ?? 0) + 1
      const waitMs = backoffMs(tries - 1, waitBaseMs, waitMaxMs)
      this.#retries.set(name, { tries, dueAt: this.#parts.clock.now() + waitMs })
    }
    try {
      await work()
    } catch (error) {
      // Another process is building it.
      if (hasCode(error, 'STORE_BUSY')) return
      if (!isFailureOfOneView(error)) throw error
      for (const { name } of views) this.onFailed(name)
    }
  }

  async #listStopped(): Promise<{ view: View; position: number }[]> {
    const { connection, options } = this.#parts
    const progress = await connection.read(() => readViewProgress())
    return options.views.flatMap(view => {
      const found = progress.find(each => each.view === view.name && each.version === view.version)
      return found && !found.isRunning ? [{ view, position: found.position }] : []
    })
  }
}
