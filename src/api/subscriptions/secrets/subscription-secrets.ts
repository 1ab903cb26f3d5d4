import type { Secrets } from '../../../adapters/portal/protocol.ts'
import type { ReceivedHead } from '../../../adapters/receiver/received-head.ts'
import { matchesSecrets } from '../../../adapters/receiver/sender.ts'
import type { HeldEndpoint } from '../../../machines/subscription/messages.ts'
import { errorName } from '../../../vocabulary/error-words.ts'
import { isWithin } from '../../../vocabulary/instant.ts'
import type { ApiContext } from '../../api-context.ts'
import { createSecrets, type DeclaredSubscriptions, type SecretValues } from '../declared-subscriptions.ts'
import { SecretGenerations } from './generations.ts'
import { SecretHistory } from './history.ts'

/** After this time a notification has the sources read again, without waiting for it. */
const refreshMs = 60_000
/** The least time between two readings because of unknown secrets: anyone may send wrong ones. */
const rereadMinMs = 10_000
/** The least time between two readings of a source that has not worked yet. */
const retryMinMs = 1_000
/** How many generations after the current one are tried to recognise the secrets of another log of ours. */
const generationsTried = 20

/**
 * The secrets of our subscriptions, and those that notifications may carry. The values of their sources are cached;
 * they are read again now and then, and when a notification does not match. A former secret is accepted as long as the
 * portal has it.
 */
export class SubscriptionSecrets {
  readonly #declarations: DeclaredSubscriptions
  readonly #context: ApiContext
  readonly #generations: SecretGenerations
  readonly #history: SecretHistory
  readonly #cache = new Map<string, { readonly values: SecretValues; readonly at: number }>()
  readonly #reading = new Map<string, Promise<SecretValues>>()
  readonly #readAt = new Map<string, number>()
  readonly #errors = new Map<string, { readonly error: unknown; readonly at: number }>()

  constructor(context: ApiContext, declarations: DeclaredSubscriptions) {
    this.#context = context
    this.#declarations = declarations
    this.#generations = new SecretGenerations(context.store, context.clock)
    this.#history = new SecretHistory(context, this.#generations)
  }

  /** The current generation of an event's secrets. */
  generationOf(evento: string): Promise<number> {
    return this.#generations.current(evento)
  }

  /**
   * The secrets of an event's subscription, read from their sources now; empty when the event is not declared. For a
   * call, `requestedAt` is the position of the event that requested it.
   */
  async secretsOf(evento: string, held: HeldEndpoint, requestedAt?: number): Promise<Secrets> {
    return createSecrets(evento, await this.#readSources(evento, requestedAt), held)
  }

  /** The generation of our secrets that a listed subscription has; null when they are not ours. */
  async generationIn(
    evento: string,
    { endpoint, secrets }: { endpoint: string; secrets: Secrets },
  ): Promise<number | null> {
    const current = await this.generationOf(evento)
    const others = Array.from({ length: current + generationsTried }, (_, i) => i + 1)
    const tried = this.#declarations.isDerived(evento) ? [current, ...others] : [current]
    const values = await this.#readSources(evento)
    const found = tried.find(generation => {
      const { chaveSecreta, chaveAutenticacao } = createSecrets(evento, values, { endpoint, generation })
      return chaveSecreta === secrets.chaveSecreta && chaveAutenticacao === secrets.chaveAutenticacao
    })
    return found ?? null
  }

  /** Notes that the portal listed the current secrets of an event. */
  noteSeenAtPortal(evento: string): Promise<void> {
    return this.#history.noteSeenAtPortal(evento)
  }

  /** The known secrets of an event; for an undeclared event, those of all declared ones. */
  async candidatesFor(evento: string): Promise<Secrets[]> {
    const candidates = this.#eventosFor(evento).map(async each =>
      this.#makeCandidates(each, await this.#currentValues(each)),
    )
    return (await Promise.all(candidates)).flat()
  }

  /**
   * Checks unknown secrets of a notification again: they may be newer or former ones. Throws the last error of their
   * source: while it fails, they cannot be called wrong.
   */
  async recheck(head: ReceivedHead): Promise<boolean> {
    const { evento } = head
    for (const each of this.#eventosFor(evento)) if (await this.#history.matches(each, head)) return true
    if (!this.#declarations.isDeclared(evento)) return false
    const isRead = await this.#readAgain(evento)
    const failed = this.#errors.get(evento)
    if (failed) throw failed.error
    if (!isRead) return false
    return matchesSecrets(head, await this.candidatesFor(evento)) || this.#history.matches(evento, head)
  }

  /** The events whose secrets have changed at their source and not at the portal: they need an `apply`. */
  async unapplied(): Promise<string[]> {
    const found: string[] = []
    for (const { evento } of this.#declarations.all) if (await this.#history.needsApply(evento)) found.push(evento)
    return found
  }

  #eventosFor(evento: string): string[] {
    return this.#declarations.isDeclared(evento) ? [evento] : this.#declarations.all.map(each => each.evento)
  }

  /** The secrets that a notification of a declared event may carry. */
  async #makeCandidates(evento: string, values: SecretValues): Promise<Secrets[]> {
    const endpoint = this.#declarations.endpointOf(evento)
    if (!this.#declarations.isDerived(evento)) return [createSecrets(evento, values, { endpoint, generation: 1 })]
    const { current, others } = await this.#generations.accepted(evento)
    const here = [current, current + 1].map(generation => ({ endpoint, generation }))
    return [...here, ...others].map(held => createSecrets(evento, values, held))
  }

  async #currentValues(evento: string): Promise<SecretValues> {
    const now = this.#context.clock.now()
    const known = this.#cache.get(evento)
    if (known) {
      if (!isWithin(refreshMs, known.at, now)) void this.#readAgain(evento)
      return known.values
    }
    const failed = this.#errors.get(evento)
    if (failed && isWithin(retryMinMs, failed.at, now)) throw failed.error
    return this.#readShared(evento)
  }

  /** Reads the sources again. False when they were read a moment ago or one fails: the cached values stay in use. */
  async #readAgain(evento: string): Promise<boolean> {
    const reading = this.#reading.get(evento)
    const readAt = this.#readAt.get(evento)
    if (!reading && readAt !== undefined && isWithin(rereadMinMs, readAt, this.#context.clock.now())) return false
    try {
      await (reading ?? this.#readShared(evento))
      return true
    } catch (error) {
      const message = 'a secret of a subscription could not be read again: the known one stays in use'
      if (!reading) this.#context.log({ message, error: errorName(error) })
      return false
    }
  }

  #readShared(evento: string): Promise<SecretValues> {
    const reading = this.#reading.get(evento)
    if (reading) return reading
    this.#readAt.set(evento, this.#context.clock.now())
    const read = async () => {
      const values = await this.#readSources(evento).catch((error: unknown) => {
        this.#errors.set(evento, { error, at: this.#context.clock.now() })
        throw error
      })
      this.#errors.delete(evento)
      return values
    }
    const begun = this.#context.engine.admit(read).finally(() => this.#reading.delete(evento))
    this.#reading.set(evento, begun)
    return begun
  }

  async #readSources(evento: string, requestedAt?: number): Promise<SecretValues> {
    const values = await this.#declarations.readSources(evento)
    this.#cache.set(evento, { values, at: this.#context.clock.now() })
    await this.#history.noteSources(evento, values, await this.#makeCandidates(evento, values), requestedAt)
    return values
  }
}
