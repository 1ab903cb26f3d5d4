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
const askedEveryMs = 60_000
/** How often at most an event's sources are asked again because secrets do not fit: anybody may send wrong ones. */
const askedAgainMs = 10_000
/** How often at most a source that has given nothing yet is asked. */
const askedFirstMs = 1_000

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
  readonly #desired: DeclaredSubscriptions
  readonly #context: ApiContext
  readonly #known = new Map<string, CachedSecrets>()
  readonly #asking = new Map<string, Promise<SecretValues>>()
  readonly #triedAt = new Map<string, number>()
  readonly #failed = new Map<string, { readonly error: unknown; readonly at: number }>()

  constructor(context: ApiContext, desired: DeclaredSubscriptions) {
    this.#context = context
    this.#desired = desired
    const generations = new SecretGenerations(context.store, context.clock)
    this.history = new SecretHistory(context, generations)
    desired.follow(generations, async (evento, values, owedAt) => {
      this.#known.set(evento, { values, at: context.clock.now() })
      await this.history.note(evento, values, await desired.candidatesOf(evento, values), owedAt)
    })
  }

  /** The secrets known for an event; for an event that nobody declared, those of any declared one. */
  async candidatesFor(evento: string): Promise<Secrets[]> {
    const [first, ...others] = this.#meant(evento).map(async each =>
      this.#desired.candidatesOf(each, await this.#valuesOf(each)),
    )
    return others.length === 0 ? (first ?? []) : (await Promise.all([first ?? [], ...others])).flat()
  }

  /**
   * Looks again at a notification whose secrets are unknown: they may be newer, or former ones. Throws the last error
   * of their source: while it fails, nobody can say that they do not fit.
   */
  async recheck(head: ReceivedHead): Promise<boolean> {
    const { evento } = head
    for (const each of this.#meant(evento)) if (await this.history.fits(each, head)) return true
    if (!this.#desired.isDeclared(evento)) return false
    const isAsked = await this.#askAgain(evento)
    const failed = this.#failed.get(evento)
    if (failed) throw failed.error
    if (!isAsked) return false
    return matchesSecrets(head, await this.candidatesFor(evento)) || this.history.fits(evento, head)
  }

  /** The events whose secrets have changed where they come from, and not at the portal: an `apply` is owed. */
  async unapplied(): Promise<string[]> {
    const owed: string[] = []
    for (const { evento } of this.#desired.all) if (await this.history.isApplyOwed(evento)) owed.push(evento)
    return owed
  }

  #meant(evento: string): string[] {
    return this.#desired.isDeclared(evento) ? [evento] : this.#desired.all.map(each => each.evento)
  }

  async #valuesOf(evento: string): Promise<SecretValues> {
    const known = this.#known.get(evento)
    if (!known) return this.#askFirst(evento)
    const now = this.#context.clock.now()
    if (!isWithin(askedEveryMs, known.at, now) && !this.#wasTried(evento, now)) void this.#askAgain(evento)
    return known.values
  }

  /** Nothing is known yet. A flood of notifications while a source fails has it asked once a second at most. */
  async #askFirst(evento: string): Promise<SecretValues> {
    const failed = this.#failed.get(evento)
    if (failed && isWithin(askedFirstMs, failed.at, this.#context.clock.now())) throw failed.error
    return this.#ask(evento)
  }

  /** False when it was asked a moment ago, or the source fails: what is known stays in use. */
  async #askAgain(evento: string): Promise<boolean> {
    const asking = this.#asking.get(evento)
    if (!asking && this.#wasTried(evento, this.#context.clock.now())) return false
    try {
      await (asking ?? this.#ask(evento))
      return true
    } catch (error) {
      const message = 'a secret of a subscription could not be asked for again: the known one stays'
      if (!asking) this.#context.log({ message, error: errorName(error) })
      return false
    }
  }

  #wasTried(evento: string, now: number): boolean {
    const triedAt = this.#triedAt.get(evento)
    return triedAt !== undefined && isWithin(askedAgainMs, triedAt, now)
  }

  /** One request at a time, shared by all that need it. */
  #ask(evento: string): Promise<SecretValues> {
    const asking = this.#asking.get(evento)
    if (asking) return asking
    this.#triedAt.set(evento, this.#context.clock.now())
    const begun = this.#context.engine
      .admit(() => this.#noted(evento))
      .finally(() => this.#asking.delete(evento))
    this.#asking.set(evento, begun)
    return begun
  }

  /** Asks, and keeps the source's error until it works again. */
  async #noted(evento: string): Promise<SecretValues> {
    try {
      const values = await this.#desired.ask(evento)
      this.#failed.delete(evento)
      return values
    } catch (error) {
      this.#failed.set(evento, { error, at: this.#context.clock.now() })
      throw error
    }
  }
}
