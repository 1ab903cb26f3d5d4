import { type SecretSource, secretFrom } from '../../adapters/credentials/secret.ts'
import type { TokenKeeper } from '../../adapters/token/client.ts'
import type { TokenAnswer, TokenSource, TokenUnavailable } from '../../adapters/token/with-token.ts'
import type { Engine } from '../../engine/engine.ts'
import { type Holder, remainingMs, type TokenNeed } from '../../machines/token.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Store } from '../../store/store.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { fromInstant, isWithin, toInstant } from '../../vocabulary/instant.ts'
import type { Message, RecordedEvent } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'

/** How often to look whether another process has its answer. */
const pollMs = 50
const pollsMax = 300
/** How often the newest facts are looked at before a call is put off: each further look follows a change. */
const turnsMax = 20
/** How many refused credentials of a name are known: each was another key or secret. */
const refusalsMax = 1_000

/** How often this process takes the place of another contract within ten minutes before it does so once a minute. */
const exchangesMax = 10
const [exchangedMs, exchangeEveryMs] = [600_000, 60_000]

/** A token that an operation answered 401 to, with the code that said why. */
interface RejectedToken {
  readonly value: string
  readonly code: string | undefined
}

type TokenLocked = RecordedEvent<'token.locked', Holder & { httpStatus: number }>

/** What the log last says of the token. */
type TokenState =
  | RecordedEvent<'token.requested'>
  | RecordedEvent<'token.renewed', Holder & { generation: number }>
  | RecordedEvent<'token.rejected', Holder & { times: number; until?: string; code?: string }>
  | RecordedEvent<'token.repeated', Holder & { until: string; code?: string }>
  | TokenLocked
  | RecordedEvent<'token.requestFailed'>

/**
 * The contract's way: one token for one credential, used until an operation answers 401 to it. It is held in memory,
 * and sealed in the store for the other processes of the file; the log says how it stands, never what it is.
 */
export class Tokens implements TokenSource {
  /** Where the token stands for every process of the file. */
  readonly keeper: TokenKeeper
  readonly #engine: Engine
  readonly #store: Store
  readonly #clock: Clock
  readonly #stream: string
  readonly #holder: () => Promise<Holder>
  #held: { readonly status: 'held'; readonly value: string } | undefined
  /** The token that an operation was given last. */
  #served: string | undefined
  #renewal: Promise<TokenAnswer> | undefined
  /** When this process last asked for a token of its own contract in place of another's. */
  #exchanges: readonly number[] = []

  constructor(
    parts: { engine: Engine; store: Store; clock: Clock },
    options: { url: string; consumerKey: SecretSource; consumerSecret: SecretSource; credential?: string },
  ) {
    this.#engine = parts.engine
    this.#store = parts.store
    this.#clock = parts.clock
    const stream = streamOf('token', options.credential ?? 'default')
    this.#stream = stream
    const { secrets } = parts.store
    // However it is spelled, it is one gateway.
    const url = new URL(options.url).href
    const digestOf = (what: string, ...texts: string[]) =>
      short(parts.store.digest(what, [url, ...texts].join('\0')))
    this.keeper = {
      stream,
      find: () => secrets.find(stream),
      keep: token => secrets.keep(stream, token),
      drop: before => secrets.drop(stream, before),
      nameCredential: (key, secret) => ({
        contract: digestOf('contract', key),
        credential: digestOf('credential', key, secret),
      }),
    }
    this.#holder = async () => {
      const key = await secretFrom(options.consumerKey, 'consumer key')
      const secret = await secretFrom(options.consumerSecret, 'consumer secret')
      return this.keeper.nameCredential(key, secret)
    }
  }

  current(): TokenAnswer | Promise<TokenAnswer> {
    return this.#held ?? this.#renewOnce(undefined)
  }

  /** Renews only if the rejected token is still the current one: a late 401 gets the newer token. */
  async renew(value: string, code?: string): Promise<TokenAnswer> {
    if (this.#held && this.#held.value !== value) return this.#held
    const answer = await this.#renewOnce({ value, code })
    // A renewal that was under way already may not know of the rejection.
    return answer.status === 'held' && answer.value === value ? this.#renewOnce({ value, code }) : answer
  }

  reportAccepted(token: string): void {
    if (this.#held?.value === token) this.#served = token
  }

  /** Rejects the newer token too. A still newer one is for the next attempt: no call goes in circles. */
  async giveUp(rejected: string, code?: string): Promise<TokenUnavailable> {
    const answer = await this.renew(rejected, code)
    return answer.status === 'held' ? deferred('the newer token was answered 401 too') : answer
  }

  #renewOnce(rejected: RejectedToken | undefined): Promise<TokenAnswer> {
    this.#renewal ??= this.#renew(rejected).finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  /** Does what the newest fact asks for, until there is a token or a reason why there is none. */
  async #renew(rejected: RejectedToken | undefined): Promise<TokenAnswer> {
    this.#held = undefined
    for (let turns = 0; turns < turnsMax; turns++) {
      const answer = await this.#turn(await this.#standing(), rejected)
      if (!answer) continue
      if (answer.status === 'held') this.#held = answer
      return answer
    }
    return deferred('other processes ask for tokens all the time', pollMs)
  }

  async #turn(
    standing: TokenState | undefined,
    rejected: RejectedToken | undefined,
  ): Promise<TokenAnswer | undefined> {
    switch (standing?.type) {
      case 'token.requested':
        return this.#await(`${standing.id}/0`)
      case 'token.renewed': {
        const { generation } = standing.data
        if (await this.#isOther(standing)) return this.#exchange()
        const kept = await this.keeper.find()
        if (kept?.generation !== generation) return this.#replace(standing, kept?.generation)
        if (kept.value !== rejected?.value) return { status: 'held', value: kept.value }
        await this.#reject(generation, rejected)
        return undefined
      }
      case 'token.rejected': {
        const { times, until = '', code } = standing.data
        const afterMs = remainingMs(until, toInstant(this.#clock.now()))
        if (await this.#isOther(standing)) return this.#exchange()
        if (afterMs === 0) return this.#request('rejected')
        return deferred(`TOKEN_REJECTED: ${times} tokens in a row were answered 401${told(code)}`, afterMs)
      }
      case 'token.repeated': {
        if (await this.#isOther(standing)) return this.#exchange()
        const afterMs = remainingMs(standing.data.until, toInstant(this.#clock.now()))
        if (afterMs === 0) return this.#request('repeated')
        return deferred(`the gateway gave the rejected token again${told(standing.data.code)}`, afterMs)
      }
      case 'token.locked':
        return (await this.#isRefused(standing)) ? locked(standing) : this.#request('changed')
      default:
        return this.#request('absent')
    }
  }

  /** Replaces the token that the log tells of and that is not there: one that nobody recorded would shadow the next. */
  async #replace({ id }: TokenState, found: number | undefined): Promise<TokenUnavailable | undefined> {
    // Another process may have recorded it meanwhile.
    if ((await this.#standing())?.id !== id) return undefined
    if (found !== undefined) await this.keeper.drop(found + 1)
    return this.#request('lost')
  }

  /** Whether a fact is about another contract than the one in use. */
  async #isOther({ data }: { readonly data: Holder }): Promise<boolean> {
    return (await this.#holder()).contract !== data.contract
  }

  /** Whether a refusal is of the very key and secret in use. */
  async #isRefused({ data }: { readonly data: Holder }): Promise<boolean> {
    return (await this.#holder()).credential === data.credential
  }

  /** What the log last says; what another process learned too late does not count for the token in use. */
  async #standing(): Promise<TokenState | undefined> {
    const newest = await this.#store.read({ stream: this.#stream, backward: true, limit: 10 })
    return newest.find(event => event.anomaly === undefined) as TokenState | undefined // The stream has no others.
  }

  /** Performs a token request that is owed, or waits for the process that does. */
  async #await(effect: string): Promise<TokenAnswer | undefined> {
    for (let polls = 0; polls < pollsMax; polls++) {
      await this.#engine.perform(effect)
      const pending = await this.#store.effect(effect)
      if (!pending || pending.settledAt !== undefined) return undefined
      if (pending.state === 'deferred') {
        return deferred(pending.reason, Math.max(fromInstant(pending.dueAt) - this.#clock.now(), 1_000))
      }
      if (pending.state === 'parked') return deferred('the token request is parked: effects.retry lets it go')
      await this.#clock.sleep(pollMs, undefined, 'a look at the token that another process asks for')
    }
    return deferred('another process asks for a token, and has no answer yet', 1_000)
  }

  async #reject(generation: number, { value, code }: RejectedToken): Promise<void> {
    const at = toInstant(this.#clock.now())
    const data = { generation, at, hasServed: value === this.#served, ...(code !== undefined && { code }) }
    this.#served = undefined // It may be given again.
    await this.#engine.record(async () => this.#deliver({ type: 'token.reject', data }))
  }

  /** Two contracts under one name would take the token from each other at each call, where a new one ends the older. */
  async #exchange(): Promise<TokenUnavailable | undefined> {
    const now = this.#clock.now()
    this.#exchanges = this.#exchanges.filter(at => isWithin(exchangedMs, at, now))
    const last = this.#exchanges.at(-1) ?? Number.NEGATIVE_INFINITY
    if (this.#exchanges.length >= exchangesMax && isWithin(exchangeEveryMs, last, now))
      return deferred(
        'another contract takes the token of this name in turn: tokenService.credential gives each its own',
        exchangeEveryMs - Math.abs(now - last),
      )
    this.#exchanges = [...this.#exchanges, now]
    return this.#request('changed')
  }

  /**
   * Requests a token, unless our credentials were refused before: others may have had one since. Refused when another
   * process was faster: then the newest fact says what to do.
   */
  async #request(need: TokenNeed): Promise<TokenUnavailable | undefined> {
    const holder = await this.#holder()
    const refusals = await this.#refusals()
    const own = refusals.find(({ anomaly, data }) => !anomaly && data.credential === holder.credential)
    if (own) return locked(own)
    const data = { need, ...holder, at: toInstant(this.#clock.now()) }
    try {
      await this.#engine.handle({ method: 'token.request' }, async () =>
        this.#deliver({ type: 'token.request', data }),
      )
    } catch (error) {
      if (!(error instanceof AverbaError) || error.code !== 'REFUSED') throw error
    }
    return undefined
  }

  /** The newest refusals of credentials: those of other processes, or of a secret before, may lie between ours. */
  async #refusals(): Promise<readonly TokenLocked[]> {
    const filter = { stream: this.#stream, types: ['token.locked'], backward: true, limit: refusalsMax }
    // Of the type that is asked for.
    return (await this.#store.read(filter)) as readonly RecordedEvent[] as readonly TokenLocked[]
  }

  #deliver(message: Message) {
    return { targets: [{ stream: this.#stream, message }] }
  }
}

/** A token that the host gives: it is not renewed, only asked for again. */
export function givenToken(bearer: SecretSource): TokenSource {
  const refused = deferred(
    'CREDENTIALS_REFUSED: the service answered 401 to the bearer token that it was given',
  )
  const ask = async (): Promise<TokenAnswer> => {
    return { status: 'held', value: await secretFrom(bearer, 'bearer token') }
  }
  return {
    current: ask,
    async renew(rejected) {
      const next = await ask()
      return next.status === 'held' && next.value !== rejected ? next : refused
    },
    giveUp: async () => refused,
    reportAccepted: () => undefined,
  }
}

function told(code: string | undefined): string {
  return code === undefined ? '' : `: ${code}`
}

function short(digest: Uint8Array): string {
  return Buffer.from(digest).toString('hex', 0, 16)
}

function locked({ data }: TokenLocked): TokenUnavailable {
  return deferred(
    `CREDENTIALS_REFUSED: the gateway answered ${data.httpStatus} to the consumer key and secret`,
  )
}

function deferred(reason: string, afterMs?: number): TokenUnavailable {
  return { status: 'deferred', reason, ...(afterMs !== undefined && { afterMs }) }
}
