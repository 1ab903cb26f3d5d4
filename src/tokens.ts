import { type Source, valueFrom } from './adapters/source.ts'
import type { Bearer } from './adapters/token/protocol.ts'
import type { TokenAnswer, TokenSource } from './adapters/validation/client.ts'
import { type Clock, fromInstant } from './clock.ts'
import type { Engine } from './engine.ts'
import { AverbaError } from './errors.ts'
import type { TokenNeed } from './machines/token.ts'
import type { Store } from './store/store.ts'

/** The contract's way: a token that lives in memory, asked for when there is none, renewed on a 401. */
export class Tokens implements TokenSource {
  readonly #engine: Engine
  readonly #store: Store
  readonly #clock: Clock
  readonly #stream: string
  readonly #credential: () => Promise<string>
  #held: { value: string; generation: number } | undefined
  #received: Bearer | undefined
  #renewal: Promise<TokenAnswer> | undefined

  constructor(
    parts: { engine: Engine; store: Store; clock: Clock },
    options: { consumerKey: Source<string>; consumerSecret: Source<string>; credential?: string },
  ) {
    this.#engine = parts.engine
    this.#store = parts.store
    this.#clock = parts.clock
    this.#stream = `token-${options.credential ?? 'default'}`
    this.#credential = async () => {
      const key = await valueFrom(options.consumerKey, 'consumer key')
      const secret = await valueFrom(options.consumerSecret, 'consumer secret')
      return Buffer.from(parts.store.digest('credential', `${key}\0${secret}`)).toString('hex', 0, 16)
    }
  }

  /** Takes the token from the answer, before the fact that there is one is recorded. */
  receive(bearer: Bearer): void {
    this.#received = bearer
  }

  async current(): Promise<TokenAnswer> {
    return this.#held ? { status: 'held', ...this.#held } : this.#renewOnce(undefined)
  }

  /** Renews only if the rejected token is still the current one: a late 401 gets the newer token. */
  async renew(rejected: { generation: number; value: string }): Promise<TokenAnswer> {
    if (this.#held && this.#held.generation > rejected.generation) return { status: 'held', ...this.#held }
    return this.#renewOnce(rejected)
  }

  #renewOnce(rejected: { generation: number; value: string } | undefined): Promise<TokenAnswer> {
    this.#renewal ??= this.#renew(rejected).finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  async #renew(rejected: { generation: number; value: string } | undefined): Promise<TokenAnswer> {
    if (rejected) {
      this.#held = undefined
      const data = { generation: rejected.generation }
      await this.#engine.record(async () => ({
        targets: [{ stream: this.#stream, message: { type: 'token.reject', data } }],
      }))
    }
    const effect = (await this.#open()) ?? (await this.#request(rejected ? 'rejected' : 'lost'))
    if (typeof effect !== 'string') return effect
    await this.#engine.perform(effect)
    return this.#answerOf(effect, rejected?.value)
  }

  /** A token request that is still owed, from before. */
  async #open(): Promise<string | undefined> {
    const [open] = await this.#store.effects({
      stream: this.#stream,
      states: ['owed', 'deferred', 'started'],
    })
    return open?.id
  }

  async #request(need: TokenNeed): Promise<string | TokenAnswer> {
    const credential = await this.#credential()
    try {
      const message = { type: 'token.request', data: { need, credential } }
      const handled = await this.#engine.handle({ method: 'token.request' }, async () => ({
        targets: [{ stream: this.#stream, message }],
      }))
      return handled.effect
    } catch (error) {
      if (!(error instanceof AverbaError) || error.code !== 'REFUSED') throw error
      return { status: 'locked', httpStatus: 401 }
    }
  }

  async #answerOf(effect: string, rejected: string | undefined): Promise<TokenAnswer> {
    const owed = await this.#store.effect(effect)
    if (owed?.state === 'declined') return { status: 'locked', httpStatus: 401 }
    if (owed?.state !== 'settled' || owed.settledAt === undefined || !this.#received) {
      const dueAt = owed ? fromInstant(owed.dueAt) : 0
      return {
        status: 'deferred',
        because: 'there is no token yet',
        afterMs: Math.max(dueAt - this.#clock.now(), 1_000),
      }
    }
    const { value, lifetimeMs } = this.#received
    this.#received = undefined
    if (value === rejected) {
      // The gateway gives the same token until it ends: asking again before that would be a storm.
      return {
        status: 'deferred',
        because: 'the gateway gave the rejected token again',
        afterMs: lifetimeMs ?? 60_000,
      }
    }
    const renewed = await this.#store.readAt(owed.settledAt)
    const { generation } = (renewed?.data ?? { generation: 0 }) as { generation: number } // token.renewed says so.
    this.#held = { value, generation }
    return { status: 'held', value, generation }
  }
}

/** A token that the host gives: there is nothing to renew, only to ask the host again. */
export function givenToken(bearer: Source<string>): TokenSource {
  const ask = async (generation: number): Promise<TokenAnswer> => {
    return { status: 'held', value: await valueFrom(bearer, 'bearer token'), generation }
  }
  return {
    current: () => ask(1),
    async renew(rejected) {
      const next = await ask(rejected.generation + 1)
      return next.status === 'held' && next.value === rejected.value
        ? { status: 'locked', httpStatus: 401 }
        : next
    },
  }
}
