import { type Source, valueFrom } from './adapters/source.ts'
import type { Bearer } from './adapters/token/protocol.ts'
import type { TokenAnswer, TokenSource } from './adapters/validation/client.ts'
import { type Clock, fromInstant } from './clock.ts'
import type { Engine } from './engine.ts'
import { AverbaError } from './errors.ts'
import type { TokenNeed } from './machines/token.ts'
import type { Recorded } from './message.ts'
import type { Store } from './store/store.ts'

const sameTokenWaitMs = 60_000

/** The contract's way: a token that lives in memory, asked for when there is none, renewed on a 401. */
export class Tokens implements TokenSource {
  readonly #engine: Engine
  readonly #store: Store
  readonly #clock: Clock
  readonly #stream: string
  readonly #credential: () => Promise<string>
  #held: (Bearer & { readonly generation: number }) | undefined
  #received: Bearer | undefined
  /** The gateway gave a rejected token again: until it ends, asking would only give it once more. */
  #barredUntil = 0
  #renewal: Promise<TokenAnswer> | undefined

  constructor(
    parts: { engine: Engine; store: Store; clock: Clock },
    options: { consumerKey: Source<string>; consumerSecret: Source<string>; credential?: string },
  ) {
    this.#engine = parts.engine
    this.#store = parts.store
    this.#clock = parts.clock
    this.#stream = `token-${options.credential ?? 'default'}`
    parts.engine.on('token.renewed', event => this.#take(event))
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

  /** The fact is recorded: the token that came with it is the current one, under its generation. */
  #take(event: Recorded): void {
    if (event.stream !== this.#stream || !this.#received) return
    const { generation } = event.data as { generation: number } // token.renewed says so.
    this.#held = { ...this.#received, generation }
    this.#received = undefined
  }

  async current(): Promise<TokenAnswer> {
    if (this.#held) return { status: 'held', ...this.#held }
    return this.#bar() ?? this.#renewOnce(undefined)
  }

  /** Renews only if the rejected token is still the current one: a late 401 gets the newer token. */
  async renew(rejected: { generation: number; value: string }): Promise<TokenAnswer> {
    const isNewer = this.#held && this.#held.generation > rejected.generation
    if (this.#held && isNewer && this.#held.value !== rejected.value) return { status: 'held', ...this.#held }
    return this.#bar() ?? this.#renewOnce(rejected)
  }

  #renewOnce(rejected: { generation: number; value: string } | undefined): Promise<TokenAnswer> {
    this.#renewal ??= this.#renew(rejected).finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  async #renew(rejected: { generation: number; value: string } | undefined): Promise<TokenAnswer> {
    const isRejected = rejected !== undefined && (await this.#reject(rejected.generation))
    this.#held = undefined
    const effect = (await this.#open()) ?? (await this.#request(isRejected ? 'rejected' : 'lost'))
    if (typeof effect !== 'string') return effect
    await this.#engine.perform(effect)
    return this.#answerOf(effect, rejected?.value)
  }

  #bar(): TokenAnswer | undefined {
    const afterMs = this.#barredUntil - this.#clock.now()
    if (afterMs <= 0) return undefined
    return { status: 'deferred', because: 'the gateway gave the rejected token again', afterMs }
  }

  /** What `#take` took while the effect was performed. */
  #current(): (Bearer & { readonly generation: number }) | undefined {
    return this.#held
  }

  /** Records the 401. False when the log knows of a newer token, which this process does not hold. */
  async #reject(generation: number): Promise<boolean> {
    const message = { type: 'token.reject', data: { generation } }
    const targets = [{ stream: this.#stream, message }]
    return (await this.#engine.record(async () => ({ targets }))).length > 0
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
      return (await this.#lock()) ?? { status: 'deferred', because: error.message }
    }
  }

  /** Why nothing is asked any more, when the gateway refused the credentials. */
  async #lock(): Promise<TokenAnswer | undefined> {
    const [last] = await this.#store.read({ stream: this.#stream, backward: true, limit: 1 })
    if (last?.type !== 'token.locked') return undefined
    const { httpStatus } = last.data as { httpStatus: number } // token.locked says so.
    return { status: 'locked', httpStatus }
  }

  async #answerOf(effect: string, rejected: string | undefined): Promise<TokenAnswer> {
    const held = this.#current()
    if (held && held.value !== rejected) return { status: 'held', ...held }
    if (held) {
      this.#held = undefined
      this.#barredUntil = this.#clock.now() + (held.lifetimeMs ?? sameTokenWaitMs)
      return this.#bar() ?? { status: 'deferred', because: 'there is no token yet' }
    }
    const lock = await this.#lock()
    if (lock) return lock
    const owed = await this.#store.effect(effect)
    const dueAt = owed ? fromInstant(owed.dueAt) : 0
    const because = owed?.because || 'there is no token yet'
    return { status: 'deferred', because, afterMs: Math.max(dueAt - this.#clock.now(), 1_000) }
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
