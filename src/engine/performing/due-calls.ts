import type { Clock } from '../../runtime/clock.ts'
import type { Store } from '../../store/store.ts'
import type { Performers } from '../../vocabulary/performer.ts'

/** What due calls are taken from, and how. */
export interface DueCallsParts {
  /** The oldest that are due. */
  readonly find: (limit: number) => Promise<string[]>
  /** Makes one. True where it may be due again, or still is. */
  readonly make: (id: string) => Promise<boolean>
  /** How many are begun at a time, those that wait for their turn among them. */
  readonly max: number
  /** How long one that was made, and may be due again, is left alone: another process may have it, or it failed. */
  readonly restMs: number
  readonly elapsedMs: () => number
  /** Told what one failed with. It holds up no other. */
  readonly onFailed: (error: unknown) => void
}

/** The calls of one service that come due: each begins as soon as there is room, however long others take. */
export class DueCalls {
  readonly #parts: DueCallsParts
  /** Those that were due at the last look, and have not begun. */
  #found: string[] = []
  readonly #begun = new Map<string, Promise<void>>()
  /** Those left alone, by since when. */
  readonly #resting = new Map<string, number>()
  #toldOfRoom: (() => void) | undefined

  constructor(parts: DueCallsParts) {
    this.#parts = parts
  }

  /** Begins what is due, as far as there is room. Says how many that were. */
  async begin(): Promise<number> {
    const { find, max } = this.#parts
    if (this.#begun.size === max) return 0
    this.#wakeRested()
    if (this.#found.length === 0) {
      // What ends during the look may be found all the same.
      const begun = new Set(this.#begun.keys())
      // Those under way and those left alone may still be due: each look goes further past them than the one before.
      const found = await find(max + 2 * (begun.size + this.#resting.size))
      this.#found = found.filter(id => !begun.has(id) && !this.#resting.has(id))
    }
    const due = this.#found.splice(0, max - this.#begun.size)
    for (const id of due) this.#begun.set(id, this.#make(id))
    return due.length
  }

  /** Begins what is due, and what comes due by it, and waits for all of it. Says how many that were. */
  async makeAll(signal: AbortSignal): Promise<number> {
    for (let made = 0; ; ) {
      const begun = signal.aborted ? 0 : await this.begin()
      made += begun
      if (this.#begun.size > 0) await new Promise<void>(resolve => this.onceRoom(resolve))
      else if (begun === 0) return made
    }
  }

  /**
   * Tells the one who asked last of the next call that ends and leaves at least half of the room. A promise of it would
   * remember, for as long as a service is idle, all who had waited for it.
   */
  onceRoom(tell: () => void): void {
    this.#toldOfRoom = tell
  }

  /** Waits for what is under way. */
  async over(): Promise<void> {
    await Promise.all(this.#begun.values())
  }

  #wakeRested(): void {
    const { elapsedMs, restMs } = this.#parts
    const now = elapsedMs()
    // A host's clock may be set back.
    for (const [id, from] of this.#resting)
      if (now - from >= restMs || from - now > restMs) this.#resting.delete(id)
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
    const tell = this.#toldOfRoom
    this.#toldOfRoom = undefined
    tell?.()
  }
}

/** Where calls that are due stand, and what performs them. */
export interface FindDueParts {
  readonly store: Store
  readonly clock: Clock
  readonly performers: Performers
}

/**
 * Finds calls of some types that are due, the oldest first. Where more are due than are asked for, half of the room is
 * for what is no routine: a revocation that was put off must not wait until everybody's list has been read.
 */
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
