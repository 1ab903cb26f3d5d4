import { GenerationalCache } from '../../runtime/generational-cache.ts'
import type { Store } from '../../store/store.ts'
import type { Outcome } from '../../vocabulary/outcome.ts'
import type { SubjectRef } from '../subject-directory.ts'

/** Of how many data subjects it is remembered: of others one reading more may be made. */
const subjectsMax = 10_000

/**
 * Readings that this process made for answers, and that were put off: nobody asks for their outcome later. A new one
 * takes their place, or every question during an outage would be asked of the service once it is over. The oldest
 * stays, with the time that it has been owed: it is parked when the outage lasts.
 */
export class DeferredReadings {
  readonly #store: Store
  readonly #effects = new GenerationalCache<SubjectRef, readonly string[]>(subjectsMax)

  constructor(store: Store) {
    this.#store = store
  }

  /** Notes what became of a reading. */
  note(subject: SubjectRef, { status, effect }: Pick<Outcome<unknown>, 'status' | 'effect'>): void {
    if (status !== 'deferred') return
    this.#effects.set(subject, [...(this.#effects.get(subject) ?? []), effect])
  }

  /** Those in whose place a new one comes. */
  async replaced(subject: SubjectRef): Promise<{ readonly effects?: readonly string[] }> {
    const noted = this.#effects.get(subject) ?? []
    if (noted.length === 0) return {}
    const owed = await Promise.all(noted.map(id => this.#store.effect(id)))
    const still = noted.filter((_, n) => owed[n]?.state === 'deferred')
    this.#effects.set(subject, still)
    const effects = still.slice(1)
    return effects.length > 0 ? { effects } : {}
  }
}
