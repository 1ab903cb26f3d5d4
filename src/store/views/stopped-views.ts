import type { Clock } from '../../runtime/clock.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { backoffMs, isWaitOver } from '../../vocabulary/instant.ts'
import type { View } from '../../vocabulary/view.ts'
import type { StoreOptions } from '../store-options.ts'
import { type CatchUpParts, catchUp, isOfOneView } from './catch-up.ts'
import { nameOf, readCheckpoints, readRunning, type ViewHearer } from './projector.ts'
import type { Rebuilder } from './rebuilder.ts'

/** What views are brought back with. */
export interface StoppedViewsParts extends CatchUpParts {
  readonly rebuilder: Rebuilder
  readonly clock: Clock
  readonly options: Pick<StoreOptions, 'views' | 'onViewStopped' | 'onViewTaken' | 'onViewBack'>
}

/** How often a view was tried, and when it is tried again at the earliest. */
interface RetryState {
  readonly tries: number
  readonly dueAt: number
}

const waitBaseMs = 1_000
const waitMaxMs = 5 * 60_000

/**
 * Brings views back that stand still, outside appends: when a log is opened, and while a process works. The first try
 * is made at once, the next ones after 1 s, 2 s and so on up to 5 minutes. The tries are forgotten once a view has run
 * for as long as it would have waited, so that a view that stops again and again is not brought back all the time.
 */
export class StoppedViews implements ViewHearer {
  readonly #parts: StoppedViewsParts
  readonly #tried = new Map<string, RetryState>()
  /** Those that stand still, as told; `undefined` until they were restored. */
  #known: Set<string> | undefined
  #looking: Promise<void> | undefined

  constructor(parts: StoppedViewsParts) {
    this.#parts = parts
  }

  /** Hears which views are at the end of the log: those that this process did not stop were stopped by another. */
  hear(running: ReadonlySet<string>): void {
    for (const view of this.#known ? this.#parts.options.views : []) {
      if (running.has(nameOf(view))) this.#known?.delete(view.name)
      else if (!this.#known?.has(view.name)) {
        this.#known?.add(view.name)
        this.#parts.options.onViewTaken?.(view.name)
      }
    }
  }

  /** Hears that a view failed in this process. */
  hearStopped(view: string): void {
    this.#known?.add(view)
    this.#parts.options.onViewStopped?.(view)
  }

  /** Lets a stopped view catch up; one that was never built, or would now be folded differently, is built. */
  async restore(): Promise<void> {
    for (const { view, position } of await this.#listStopped()) {
      await this.#bring(view, () =>
        position === 0 ? this.#parts.rebuilder.build(view, { compare: false }) : catchUp(this.#parts, view),
      )
    }
    this.#known = new Set((await this.#listStopped()).map(({ view }) => view.name))
  }

  /** Tries those that are due, until the signal. One round at a time, shared by all who ask. */
  look(signal: AbortSignal): Promise<void> {
    this.#looking ??= this.#look(signal).finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { clock, connection, options } = this.#parts
    this.hear(await connection.read(readRunning))
    const stopped = await this.#listStopped()
    const isStill = (name: string) => stopped.some(({ view }) => view.name === name)
    for (const [name, { dueAt }] of this.#tried)
      if (isWaitOver(dueAt, clock.now(), waitMaxMs) && !isStill(name)) this.#tried.delete(name)
    for (const { view } of stopped) {
      const tried = this.#tried.get(view.name)
      if (signal.aborted) return
      if (tried && !isWaitOver(tried.dueAt, clock.now(), waitMaxMs)) continue
      // Building it beside the serving rows would take it from another rebuild: this way neither disturbs the other.
      await this.#bring(view, async () => {
        if (await catchUp(this.#parts, view, signal)) options.onViewBack?.(view.name)
      })
    }
  }

  async #bring(view: View, work: () => Promise<unknown>): Promise<void> {
    const { clock } = this.#parts
    const tries = (this.#tried.get(view.name)?.tries ?? 0) + 1
    const waitMs = backoffMs(tries - 1, waitBaseMs, waitMaxMs)
    this.#tried.set(view.name, { tries, dueAt: clock.now() + waitMs })
    try {
      await work()
    } catch (error) {
      // Another process builds it, and lets it rejoin.
      if (error instanceof AverbaError && error.code === 'STORE_BUSY') return
      if (!isOfOneView(error)) throw error
      this.hearStopped(view.name)
    }
  }

  /** The stopped views of this version: those of another version are not ours. */
  async #listStopped(): Promise<{ view: View; position: number }[]> {
    const { connection, options } = this.#parts
    const checkpoints = await connection.read(() => readCheckpoints())
    return options.views.flatMap(view => {
      const found = checkpoints.find(each => each.view === view.name && each.version === view.version)
      return found && !found.isRunning ? [{ view, position: found.position }] : []
    })
  }
}
