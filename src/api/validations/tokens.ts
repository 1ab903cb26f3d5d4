import { type SecretSource, secretFrom } from '../../adapters/credentials/secret.ts'
import { credentialFrom, type TokenKeeper } from '../../adapters/token/client.ts'
import type { Rejection, TokenAnswer, TokenSource, TokenUnavailable } from '../../adapters/token/with-token.ts'
import { type Holder, remainingMs, type TokenNeed } from '../../machines/token.ts'
import { cancelReason } from '../../runtime/clock.ts'
import { GenerationalCache } from '../../runtime/generational-cache.ts'
import type { TokenRow } from '../../views/tokens.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { foreignAdvice, foreignCodeIn } from '../../vocabulary/foreign-answer.ts'
import { fromInstant, isWithin, toInstant } from '../../vocabulary/instant.ts'
import type { Instant, Message } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import { isBy, type LogStore, type Recorded, type RecordedBy } from '../events.ts'
import type { CheckResult } from '../health-check.ts'

/** How long a call waits for the token request of another process. */
const othersWaitMs = 15_000
/** How many steps a renewal may take before the call is deferred; each step follows a new event. */
const stepsMax = 20
const refusedCallsMin = 1_000
/** So many calls may be refused for themselves before it is the token. */
const servedRejectionsMax = 3
/** After so many requests in a row without a token, it is no passing trouble. */
const failedAttemptsMax = 5
/** How many refusals of credentials are read; each is of another key or secret. */
const refusalsMax = 1_000

/** After so many changes from another contract within ten minutes, this process makes at most one a minute. */
const exchangesMax = 10
const [exchangeWindowMs, exchangeEveryMs] = [600_000, 60_000]

type RejectedToken = Rejection & { readonly value: string; isRecorded?: boolean }

type TokenContext = Pick<ApiContext, 'engine' | 'store' | 'clock'>
type TokenOptions = NonNullable<ApiContext['options']['tokenService']>
type TokenLocked = Recorded<'token.locked'>
type TokenState = RecordedBy<'token'>

/**
 * One token for one credential, used until an operation answers 401, as the contract says. It is held in memory and
 * sealed in the store for the other processes of the store; the log has its state, never its value.
 */
export class Tokens implements TokenSource {
  readonly keeper: TokenKeeper
  readonly #context: TokenContext
  readonly #options: TokenOptions
  #held: { readonly status: 'held'; readonly value: string } | undefined
  /** The last token that an operation accepted. */
  #served: string | undefined
  /** How often it was rejected since. */
  #rejections = 0
  /** The calls that two tokens were refused for. */
  readonly #refused = new GenerationalCache<string, true>(refusedCallsMin)
  #renewal: Promise<TokenAnswer> | undefined
  /** When this process replaced the token of another contract with one of its own. */
  #exchanges: readonly number[] = []

  constructor(context: TokenContext, options: TokenOptions) {
    this.#context = context
    this.#options = options
    this.keeper = createKeeper(context.store, options)
  }

  current(): TokenAnswer | Promise<TokenAnswer> {
    return this.#held ?? this.#renewOnce(undefined)
  }

  /**
   * Renews the token, unless it was already renewed since: a late 401 gets the newer token. A call that two tokens were
   * refused for rejects no more of them before their end: the reason may be the call, and others would wait for it.
   */
  async renew(value: string, by: Rejection): Promise<TokenAnswer> {
    if (this.#held && this.#held.value !== value) return this.#held
    const isRefused = by.isRefused || this.#refused.get(by.call)
    if (isRefused && !(await this.#isOver())) return refusedTwice(by)
    const rejected: RejectedToken = { ...by, value }
    const isSame = (answer: TokenAnswer) => answer.status === 'held' && answer.value === value
    let answer = await this.#renewOnce(rejected)
    // The joined renewal may have begun before the rejection.
    if (isSame(answer) && !rejected.isRecorded) answer = await this.#renewOnce(rejected)
    if (answer.status === 'held' && !isSame(answer)) return answer
    // Its next token will be the second one.
    this.#refused.set(by.call, true)
    return answer.status === 'held' ? refusedTwice(by) : answer
  }

  reportAccepted(token: string, call: string): void {
    this.#refused.delete(call)
    if (this.#held?.value !== token) return
    this.#served = token
    this.#rejections = 0
  }

  /** Rejects the newer token too, and defers the call: a still newer one is for the next attempt. */
  async giveUp(rejected: string, by: Rejection): Promise<TokenUnavailable> {
    const answer = await this.renew(rejected, by)
    this.#refused.set(by.call, true)
    return answer.status === 'held' ? refusedTwice(by) : answer
  }

  /** Whether the token in use has reached the end that the gateway stated. */
  async #isOver(): Promise<boolean> {
    const latest = await this.#latestState()
    return latest?.type !== 'token.renewed' || latest.data.expiresAt <= toInstant(this.#context.clock.now())
  }

  #renewOnce(rejected: RejectedToken | undefined): Promise<TokenAnswer> {
    this.#renewal ??= this.#renew(rejected).finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  /** Acts on the latest event, until there is a token or a reason to defer the call. */
  async #renew(rejected: RejectedToken | undefined): Promise<TokenAnswer> {
    this.#held = undefined
    for (let steps = 0; steps < stepsMax; steps++) {
      const answer = await this.#step(await this.#latestState(), rejected)
      if (!answer) continue
      if (answer.status === 'held') this.#held = answer
      return answer
    }
    return deferral('other processes keep requesting tokens', 50)
  }

  async #step(latest: TokenState | undefined, rejected: RejectedToken | undefined): Promise<TokenAnswer | undefined> {
    switch (latest?.type) {
      case 'token.requested':
        return this.#awaitRequest(`${latest.id}/0`)
      case 'token.renewed':
      case 'token.rejected':
      case 'token.repeated':
        if ((await this.#holder()).contract !== latest.data.contract) return this.#requestForOwnContract()
        return latest.type === 'token.renewed' ? this.#useRenewed(latest, rejected) : this.#requestAfter(latest)
      case 'token.locked': {
        const isOurs = (await this.#holder()).credential === latest.data.credential
        return isOurs ? credentialsRefused(latest) : this.#request('changed')
      }
      default:
        return this.#request('absent')
    }
  }

  async #useRenewed(
    latest: Recorded<'token.renewed'>,
    rejected: RejectedToken | undefined,
  ): Promise<TokenAnswer | undefined> {
    const { generation } = latest.data
    const kept = await this.keeper.find()
    if (kept?.generation !== generation) return this.#replaceLost(latest, kept?.generation)
    // One that the gateway has returned again is for others, who may be answered with it.
    if (kept.value !== rejected?.value || rejected.isRecorded) return { status: 'held', value: kept.value }
    await this.#reject(generation, rejected)
    rejected.isRecorded = true
    return undefined
  }

  /** Requests a newer token, once the wait since the rejection is over. */
  async #requestAfter({ type, data }: Recorded<'token.rejected' | 'token.repeated'>): Promise<TokenAnswer | undefined> {
    const afterMs = remainingMs(data.until ?? '', toInstant(this.#context.clock.now()))
    const isRepeated = type === 'token.repeated'
    if (afterMs === 0) return this.#request(isRepeated ? 'repeated' : 'rejected')
    const reason = isRepeated
      ? 'the gateway returned the rejected token again'
      : `TOKEN_REJECTED: ${data.times} tokens in a row were answered 401`
    return deferral(data.code === undefined ? reason : `${reason}: ${data.code}`, afterMs)
  }

  /** Requests a new token when the recorded one is missing. An unrecorded one is dropped: it would shadow the next. */
  async #replaceLost({ id }: TokenState, found: number | undefined): Promise<TokenUnavailable | undefined> {
    // Another process may have recorded it meanwhile.
    if ((await this.#latestState())?.id !== id) return undefined
    if (found !== undefined) await this.keeper.drop(found + 1)
    return this.#request('lost')
  }

  async #holder(): Promise<Holder> {
    const { key, secret } = await credentialFrom(this.#options)
    return this.keeper.nameCredential(key, secret)
  }

  /** The latest event, without anomalies: those came too late to concern the token in use. */
  async #latestState(): Promise<TokenState | undefined> {
    const newest = await this.#context.store.read({ stream: this.keeper.stream, backward: true, limit: 10 })
    return newest.filter(event => isBy(event, 'token')).find(event => event.anomaly === undefined)
  }

  async #awaitRequest(effect: string): Promise<TokenAnswer | undefined> {
    const { clock, engine, store } = this.#context
    const over = new AbortController()
    const late = clock.sleep(othersWaitMs, over.signal, 'the token request of another process')
    void late.then(() => over.abort(cancelReason))
    await engine.perform(effect, over.signal).finally(() => over.abort(cancelReason))
    const pending = await store.effect(effect)
    if (!pending || pending.settledAt !== undefined) return undefined
    if (pending.state === 'parked') return deferral('the token request is parked: release it with effects.retry')
    if (pending.state !== 'deferred' || !pending.dueAt) return deferral('another process is requesting a token', 1_000)
    // The code of an answer to the token request is not one of the call that waits for it.
    const reason = foreignCodeIn(pending.reason) ? `no token: ${pending.reason}` : pending.reason
    return deferral(reason, Math.max(fromInstant(pending.dueAt) - clock.now(), 1_000))
  }

  async #reject(generation: number, { value, code }: RejectedToken): Promise<void> {
    const at = toInstant(this.#context.clock.now())
    // The gateway may return the same token again: several calls that it is refused for say more than one.
    const hasServed = value === this.#served && this.#rejections < servedRejectionsMax
    this.#rejections += 1
    const data = { generation, at, hasServed, ...(code !== undefined && { code }) }
    await this.#context.engine.record(async () => this.#toRequest({ type: 'token.reject', data }))
  }

  /** Requests a token for our contract. Limited: two contracts under one name would replace each other's token. */
  async #requestForOwnContract(): Promise<TokenUnavailable | undefined> {
    const now = this.#context.clock.now()
    this.#exchanges = this.#exchanges.filter(at => isWithin(exchangeWindowMs, at, now))
    const last = this.#exchanges.at(-1) ?? Number.NEGATIVE_INFINITY
    if (this.#exchanges.length >= exchangesMax && isWithin(exchangeEveryMs, last, now))
      return deferral(
        'another contract uses the same credential name: give each its own tokenService.credential',
        exchangeEveryMs - Math.abs(now - last),
      )
    this.#exchanges = [...this.#exchanges, now]
    return this.#request('changed')
  }

  /** Requests a token, unless our credentials were refused before. The next step reads what others recorded. */
  async #request(need: TokenNeed): Promise<TokenUnavailable | undefined> {
    const holder = await this.#holder()
    // Also those of the credentials of other processes, and of former secrets.
    const filter = { stream: this.keeper.stream, backward: true, limit: refusalsMax }
    const refusals = await this.#context.store.read({ ...filter, types: ['token.locked'] })
    const own = refusals.find(({ anomaly, data }) => !anomaly && data.credential === holder.credential)
    if (own) return credentialsRefused(own)
    const data = { need, ...holder, askedAt: toInstant(this.#context.clock.now()) }
    try {
      await this.#context.engine.handle({ method: 'token.request' }, async () =>
        this.#toRequest({ type: 'token.request', data }),
      )
    } catch (error) {
      if (!(error instanceof AverbaError) || error.code !== 'REFUSED') throw error
    }
    return undefined
  }

  #toRequest(message: Message) {
    return { targets: [{ stream: this.keeper.stream, message }] }
  }
}

/** The source of a bearer token given by the host: it is read again, never renewed. */
export function hostToken(bearer: SecretSource): TokenSource {
  const refused = deferral('CREDENTIALS_REFUSED: the service answered 401 to validationService.bearer')
  const current = async (): Promise<TokenAnswer> => {
    return { status: 'held', value: await secretFrom(bearer, 'bearer token') }
  }
  return {
    current,
    async renew(rejected) {
      const next = await current()
      return next.status === 'held' && next.value !== rejected ? next : refused
    },
    giveUp: async () => refused,
    reportAccepted: () => undefined,
  }
}

function createKeeper(store: LogStore, { url, credential = 'default' }: TokenOptions): TokenKeeper {
  const stream = streamOf('token', credential)
  // Normalized: different spellings of the address are one gateway.
  const gateway = new URL(url).href
  const digestOf = (what: string, ...texts: string[]) =>
    store.digestHex(what, [gateway, ...texts].join('\0')).slice(0, 32)
  return {
    stream,
    find: () => store.secrets.find(stream),
    async keep(token) {
      // Another process that took the request over has got a newer one.
      const renewed = await store.readLast({ stream, types: ['token.renewed'] })
      if ((renewed?.data.generation ?? 0) < token.generation) await store.secrets.keep(stream, token)
    },
    drop: before => store.secrets.drop(stream, before),
    nameCredential: (key, secret) => ({
      contract: digestOf('contract', key),
      credential: digestOf('credential', key, secret),
    }),
  }
}

function refusedTwice({ code }: Rejection): TokenUnavailable {
  const reason = 'CALL_UNAUTHORIZED: the call was answered 401 with more than one token'
  return deferral(code === undefined ? reason : `${reason}: ${code}`)
}

function credentialsRefused({ data }: TokenLocked): TokenUnavailable {
  return deferral(`CREDENTIALS_REFUSED: the gateway answered ${data.httpStatus} to the consumer key and secret`)
}

function deferral(reason: string, afterMs?: number): TokenUnavailable {
  return { status: 'deferred', reason, ...(afterMs !== undefined && { afterMs }) }
}

/** Checks the token: credentials that are refused or cannot be read, a wait, or an address that returns no tokens. */
export async function checkToken(
  { store, rows, clock }: ApiContext,
  { credential = 'default', ...options }: TokenOptions,
): Promise<CheckResult> {
  // Without them every call waits, and nothing is requested that could fail.
  await credentialFrom(options)
  const stream = streamOf('token', credential)
  const row = await rows.find('tokens', stream)
  const wrong = row && findTokenTrouble(row, toInstant(clock.now()))
  if (wrong !== undefined) return { ok: false, detail: wrong }
  const [request] = await store.effects({ stream, states: ['deferred'] })
  if (!request) return { ok: true, detail: 'not locked' }
  const code = foreignCodeIn(request.reason)
  if (code === undefined && request.attempts < failedAttemptsMax) return { ok: true, detail: 'not locked' }
  const advice = foreignAdvice[code ?? 'SERVICE_MISDIRECTED']
  return { ok: false, detail: `${request.reason}: ${advice}, then effects.retry("${request.id}")` }
}

/** Describes what is wrong with a token. A wait that is over is fine: the next call requests a token. */
function findTokenTrouble({ state, waits_until }: TokenRow, now: Instant): string | undefined {
  if (state !== 'locked' && remainingMs(waits_until ?? '', now) === 0) return undefined
  const wait = `the next request is not before ${waits_until}: find out why calls are answered 401`
  if (state === 'locked') return 'the gateway refused the consumer key and secret: correct them'
  if (state === 'repeated') return `the gateway returned the rejected token again; ${wait}`
  if (state === 'rejected') return `several tokens in a row were refused soon after they were issued; ${wait}`
  return undefined
}
