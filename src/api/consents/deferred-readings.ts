import { GenerationalCache } from '../../runtime/generational-cache.ts'
import type { Store } from '../../store/store.ts'
import type { Outcome } from '../../vocabulary/outcome.ts'
import type { SubjectRef } from '../subject-directory.ts'

/** Beyond that many data subjects, one reading too many may be made. */
const subjectsMax = 10_000

/**
 * Deferred readings whose callers do not come back for the outcome. A new reading replaces them, so that an outage does
 * not collect one per question. The oldest stays: it is parked when the outage lasts.
 */
export class DeferredReadings {
  readonly #store: Store
  readonly #effects = new GenerationalCache<SubjectRef, readonly string[]>(subjectsMax)

  constructor(store: Store) {
    this.#store = store
  }

  noteOutcome(subject: SubjectRef, { status, effect }: Pick<Outcome<unknown>, 'status' | 'effect'>): void {
    if (status !== 'deferred') return
    this.#effects.set(subject, [...(this.#effects.get(subject) ?? []), effect])
  }

  async findReplaced(subject: SubjectRef): Promise<{ readonly effects?: readonly string[] }> {
    const remembered = this.#effects.get(subject) ?? []
    if (remembered.length === 0) return {}
    const known = await Promise.all(remembered.map(id => this.#store.effect(id)))
    const deferred = remembered.filter((_, n) => known[n]?.state === 'deferred')
    this.#effects.set(subject, deferred)
    const effects = deferred.slice(1)
    return effects.length > 0 ? { effects } : {}
  }
}
