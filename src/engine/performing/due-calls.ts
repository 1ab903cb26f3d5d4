import type { Clock } from '../../runtime/clock.ts'
import type { Store } from '../../store/store.ts'
import type { Performers } from '../../vocabulary/performer.ts'

export interface DueCallsParts {
  readonly find: (limit: number) => Promise<string[]>
  readonly nextDueAt: () => Promise<number>
  /** Makes one call. True when it may still be due, or due again. */
  readonly make: (id: string) => Promise<boolean>
  /** How many calls are begun at a time, including those that wait for the throttle. */
  readonly max: number
  /** How long a call that may still be due is left alone: another process may have it, or it failed. */
  readonly restMs: number
  readonly elapsedMs: () => number
  readonly now: () => number
  readonly onFailed: (error: unknown) => void
}

/** Makes the due calls of one service. Each begins as soon as there is room, however long others take. */
export class DueCalls {
  readonly #parts: DueCallsParts
  /** Found due by the last search, and not begun. */
  #due: string[] = []
  readonly #begun = new Map<string, Promise<void>>()
  readonly #resting = new Map<string, number>()
  #onRoom: (() => void) | undefined

  constructor(parts: DueCallsParts) {
    this.#parts = parts
  }

  /** Begins due calls while there is room. Returns how many it began. */
  async begin(): Promise<number> {
    const { find, max } = this.#parts
    if (this.#begun.size === max) return 0
    this.#wakeRested()
    if (this.#due.length === 0) {
      // Taken before the search: a call that ends during it may still be found.
      const begun = new Set(this.#begun.keys())
      // Calls in progress and those left alone may still be due, so each search reads further past them.
      const found = await find(max + 2 * (begun.size + this.#resting.size))
      this.#due = found.filter(id => !begun.has(id) && !this.#resting.has(id))
    }
    const due = this.#due.splice(0, max - this.#begun.size)
    for (const id of due) this.#begun.set(id, this.#make(id))
    return due.length
  }

  /** When there may be more to begin, unless a commit or a call that ends makes it earlier. */
  async nextAt(): Promise<number> {
    const { max, now, elapsedMs, restMs, nextDueAt } = this.#parts
    if (this.#begun.size === max) return Number.POSITIVE_INFINITY
    if (this.#due.length > 0) return now()
    const rested = [...this.#resting.values()].map(from => now() + restMs - (elapsedMs() - from))
    return Math.min(await nextDueAt(), ...rested)
  }

  /** Makes due calls and those that become due by them, and waits for all. Returns how many there were. */
  async makeAll(signal: AbortSignal): Promise<number> {
    for (let made = 0; ; ) {
      const begun = signal.aborted ? 0 : await this.begin()
      made += begun
      if (this.#begun.size > 0) await new Promise<void>(resolve => this.onceRoom(resolve))
      else if (begun === 0) return made
    }
  }

  /** Calls the last `onRoom`, once, when half of the room is free. Promises would keep all waiters in memory. */
  onceRoom(onRoom: () => void): void {
    this.#onRoom = onRoom
  }

  async waitForAll(): Promise<void> {
    await Promise.all(this.#begun.values())
  }

  #wakeRested(): void {
    const { elapsedMs, restMs } = this.#parts
    const now = elapsedMs()
    // A host's clock may be set back.
    for (const [id, from] of this.#resting) if (now - from >= restMs || from - now > restMs) this.#resting.delete(id)
  }

  async #make(id: string): Promise<void> {
    const { make, max, elapsedMs, onFailed } = this.#parts
    let mayBeDue = true
    try {
      mayBeDue = await make(id)
    } catch (error) {
      onFailed(error)
    }
    if (mayBeDue) this.#resting.set(id, elapsedMs())
    this.#begun.delete(id)
    if (this.#begun.size > max / 2) return
    const onRoom = this.#onRoom
    this.#onRoom = undefined
    onRoom?.()
  }
}

export interface FindDueParts {
  readonly store: Store
  readonly clock: Clock
  readonly performers: Performers
}

/** Finds due calls, oldest first. Of too many, half are not routine: a revocation must not wait for every list. */
export async function findDue(
  { store, clock, performers }: FindDueParts,
  types: readonly string[],
  limit: number,
): Promise<string[]> {
  const due = await store.dueEffects(clock.now(), { types, limit })
  const first = types.filter(type => !performers[type]?.isRoutine)
  if (due.length < limit || first.length === 0 || first.length === types.length) return due
  const ofFirst = await store.dueEffects(clock.now(), { types: first, limit: Math.ceil(limit / 2) })
  return [...new Set([...ofFirst, ...due])]
}
