import type { Secrets } from '../../../adapters/portal/protocol.ts'
import { matchesSecrets } from '../../../adapters/receiver/match-secrets.ts'
import type { ReceivedHead } from '../../../adapters/receiver/received-head.ts'
import { errorName } from '../../../vocabulary/error-words.ts'
import { isWithin } from '../../../vocabulary/instant.ts'
import type { ApiContext } from '../../api-context.ts'
import type { DeclaredSubscriptions, SecretValues } from '../declared-subscriptions.ts'
import { SecretGenerations } from './generations.ts'
import { SecretHistory } from './history.ts'

/**
 * How old what a source gave may be before it is asked again, while notifications come. No notification waits for it.
 */
const refreshMs = 60_000
/** How often at most an event's sources are asked again because secrets do not fit: anybody may send wrong ones. */
const rereadMinMs = 10_000
/** How often at most a source that has given nothing yet is asked. */
const firstReadRetryMs = 1_000

/** What one event's sources gave last. */
interface CachedSecrets {
  readonly values: SecretValues
  readonly at: number
}

/**
 * The secrets that notifications may carry. Their sources are not asked at each: what they gave is known, and asked for
 * again now and then, and where what comes does not fit. A former secret is taken for as long as the portal has it.
 */
export class AcceptedSecrets {
  readonly history: SecretHistory
  readonly #declarations: DeclaredSubscriptions
  readonly #context: ApiContext
  readonly #cache = new Map<string, CachedSecrets>()
  readonly #reading = new Map<string, Promise<SecretValues>>()
  readonly #readAt = new Map<string, number>()
  readonly #failures = new Map<string, { readonly error: unknown; readonly at: number }>()

  constructor(context: ApiContext, declarations: DeclaredSubscriptions) {
    this.#context = context
    this.#declarations = declarations
    const generations = new SecretGenerations(context.store, context.clock)
    this.history = new SecretHistory(context, generations)
    declarations.connect(generations, async (evento, values, effectPosition) => {
      this.#cache.set(evento, { values, at: context.clock.now() })
      await this.history.noteSources(
        evento,
        values,
        await declarations.candidateSecrets(evento, values),
        effectPosition,
      )
    })
  }

  /** The secrets known for an event; for an event that nobody declared, those of any declared one. */
  async candidatesFor(evento: string): Promise<Secrets[]> {
    const [first, ...others] = this.#eventosFor(evento).map(async each =>
      this.#declarations.candidateSecrets(each, await this.#currentValues(each)),
    )
    return others.length === 0 ? (first ?? []) : (await Promise.all([first ?? [], ...others])).flat()
  }

  /**
   * Looks again at a notification whose secrets are unknown: they may be newer, or former ones. Throws the last error
   * of their source: while it fails, nobody can say that they do not fit.
   */
  async recheck(head: ReceivedHead): Promise<boolean> {
    const { evento } = head
    for (const each of this.#eventosFor(evento)) if (await this.history.matches(each, head)) return true
    if (!this.#declarations.isDeclared(evento)) return false
    const isAsked = await this.#readAgain(evento)
    const failed = this.#failures.get(evento)
    if (failed) throw failed.error
    if (!isAsked) return false
    return matchesSecrets(head, await this.candidatesFor(evento)) || this.history.matches(evento, head)
  }

  /** The events whose secrets have changed where they come from, and not at the portal: an `apply` is owed. */
  async unapplied(): Promise<string[]> {
    const owed: string[] = []
    for (const { evento } of this.#declarations.all)
      if (await this.history.needsApply(evento)) owed.push(evento)
    return owed
  }

  #eventosFor(evento: string): string[] {
    return this.#declarations.isDeclared(evento) ? [evento] : this.#declarations.all.map(each => each.evento)
  }

  async #currentValues(evento: string): Promise<SecretValues> {
    const known = this.#cache.get(evento)
    if (!known) return this.#readFirst(evento)
    const now = this.#context.clock.now()
    if (!isWithin(refreshMs, known.at, now) && !this.#wasRead(evento, now)) void this.#readAgain(evento)
    return known.values
  }

  /** Nothing is known yet. A flood of notifications while a source fails has it asked once a second at most. */
  async #readFirst(evento: string): Promise<SecretValues> {
    const failed = this.#failures.get(evento)
    if (failed && isWithin(firstReadRetryMs, failed.at, this.#context.clock.now())) throw failed.error
    return this.#readShared(evento)
  }

  /** False when it was asked a moment ago, or the source fails: what is known stays in use. */
  async #readAgain(evento: string): Promise<boolean> {
    const reading = this.#reading.get(evento)
    if (!reading && this.#wasRead(evento, this.#context.clock.now())) return false
    try {
      await (reading ?? this.#readShared(evento))
      return true
    } catch (error) {
      const message = 'a secret of a subscription could not be asked for again: the known one stays'
      if (!reading) this.#context.log({ message, error: errorName(error) })
      return false
    }
  }

  #wasRead(evento: string, now: number): boolean {
    const readAt = this.#readAt.get(evento)
    return readAt !== undefined && isWithin(rereadMinMs, readAt, now)
  }

  /** One request at a time, shared by all that need it. */
  #readShared(evento: string): Promise<SecretValues> {
    const reading = this.#reading.get(evento)
    if (reading) return reading
    this.#readAt.set(evento, this.#context.clock.now())
    const begun = this.#context.engine
      .admit(() => this.#readSources(evento))
      .finally(() => this.#reading.delete(evento))
    this.#reading.set(evento, begun)
    return begun
  }

  /** Asks, and keeps the source's error until it works again. */
  async #readSources(evento: string): Promise<SecretValues> {
    try {
      const values = await this.#declarations.readSources(evento)
      this.#failures.delete(evento)
      return values
    } catch (error) {
      this.#failures.set(evento, { error, at: this.#context.clock.now() })
      throw error
    }
  }
}
