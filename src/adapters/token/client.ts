import { foreignAdvice } from '../../vocabulary/foreign-answer.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { AttemptOutcome, Fact, Instant, PendingEffect } from '../../vocabulary/message.ts'
import type { EffectClass, MaySend, PerformersOf } from '../../vocabulary/performer.ts'
import { type SecretSource, secretFrom } from '../credentials/secret.ts'
import { declaredMeaning, meaningOf } from '../http/answer-meaning.ts'
import { type AnswerReader, type ExchangeOptions, type HttpAnswer, sendRequest, toOutcome } from '../http/exchange.ts'
import { type Bearer, readToken, refusesCredentials, writeRequestToken } from './protocol.ts'

export interface TokenKeeper {
  readonly stream: string
  /** The stored token, in use or rejected. */
  find(): Promise<{ readonly generation: number; readonly value: string } | undefined>
  keep(token: { readonly generation: number; readonly value: string }): Promise<void>
  /** Deletes a token of an older generation. */
  drop(before: number): Promise<void>
  /** Returns names for the contract of a consumer key, and for the key with its secret, that do not reveal them. */
  nameCredential(
    consumerKey: string,
    consumerSecret: string,
  ): { readonly contract: string; readonly credential: string }
}

interface CredentialOptions extends ExchangeOptions {
  readonly url: string
  readonly consumerKey: SecretSource
  readonly consumerSecret: SecretSource
}

export interface TokenClientOptions extends CredentialOptions {
  readonly keeper: TokenKeeper
}

/** The effect of the token service: its data, and the facts of its outcomes. */
export type TokenEffects = { 'tokenService.requestToken': { readonly data: TokenRequest; readonly fact: TokenFact } }

interface TokenRequest {
  readonly generation: number
  readonly need: string
}

/** The generation of a token request, and the names of the credentials that it uses. */
type NamedRequest = ReturnType<TokenKeeper['nameCredential']> & { readonly generation: number }

type TokenFact =
  | Fact<
      'tokenService.issued',
      NamedRequest & { readonly issuedAt: Instant; readonly expiresAt: Instant; readonly scope?: string }
    >
  | Fact<'tokenService.repeated', NamedRequest & { readonly issuedAt: Instant; readonly until: Instant }>
  | Fact<'tokenService.credentialsRefused', NamedRequest & { readonly httpStatus: number }>
  | Fact<'tokenService.requestLost', { readonly generation: number }>

/** Assumed lifetime of a rejected token that is issued again without a lifetime. */
const unstatedLifetimeMs = 60_000
/** The lifetime of a token (document 2, section 8), also if the gateway states none, or a longer one. */
const defaultLifetimeMs = 3_600_000

/** Creates the performer of token requests (document 2, section 4.1). */
export function createTokenClient(options: TokenClientOptions): PerformersOf<TokenEffects> {
  const lost = ({ data: { generation } }: PendingEffect<string, TokenRequest>): TokenFact => ({
    type: 'tokenService.requestLost',
    data: { generation },
  })
  return {
    'tokenService.requestToken': {
      effectClass: 'idempotent',
      // A credential of another name may belong to another contract, and its generations count other tokens.
      takes: ({ stream }) => stream === options.keeper.stream,
      lostFact: lost,
      async perform(pending, _, maySend) {
        const { key, secret, result } = await requestToken(options, 'idempotent', maySend)
        const { generation } = pending.data
        const asked = { generation, ...options.keeper.nameCredential(key, secret) }
        let bearer: Bearer | undefined
        const reader: AnswerReader<TokenFact> = {
          service: 'tokenService',
          settled(text) {
            bearer = readToken(text)
            return bearer && issuedFact(asked, bearer, options)
          },
          unreadable: noBearer,
          // A 404 of a gateway in front of it says nothing of the credentials, in whatever form.
          isAboutCall: refusesCredentials,
          declined: ({ status }) => ({
            type: 'tokenService.credentialsRefused',
            data: { ...asked, httpStatus: status },
          }),
          lost: () => lost(pending),
        }
        const outcome = await toOutcome(result, 'idempotent', reader, options, pending)
        // `drop` keeps a newer token: another process may have taken the request over and got one.
        if (outcome.status === 'declined') await options.keeper.drop(generation)
        return bearer ? keepToken({ ...pending.data, ...asked }, bearer, outcome, options) : outcome
      },
    },
  }
}

/** Another type of token would be sent in another way, and fail at every call. */
const noBearer = 'its answer has no bearer token'

/** Reads the consumer key and secret. Throws as `secretFrom`. */
export async function credentialFrom(from: Pick<CredentialOptions, 'consumerKey' | 'consumerSecret'>) {
  const key = await secretFrom(from.consumerKey, 'consumer key')
  return { key, secret: await secretFrom(from.consumerSecret, 'consumer secret') }
}

async function requestToken(options: CredentialOptions, effectClass: EffectClass, maySend?: MaySend) {
  const { key, secret } = await credentialFrom(options)
  const result = await sendRequest(options, effectClass, () => writeRequestToken(options.url, key, secret), maySend)
  return { key, secret, result }
}

function issuedFact(asked: NamedRequest, { lifetimeMs: ms, scope }: Bearer, { clock }: TokenClientOptions): TokenFact {
  // A token whose lifetime is 0 is still tried.
  const lastsMs = Math.min(Math.max(ms ?? defaultLifetimeMs, 1_000), defaultLifetimeMs)
  const now = clock.now()
  const times = { issuedAt: toInstant(now), expiresAt: toInstant(now + lastsMs) }
  const data = { ...asked, ...times, ...(scope !== null && { scope }) }
  return { type: 'tokenService.issued', data }
}

/**
 * Stores the token before its fact is recorded, so that readers of the fact find it. Until then the rejected token
 * stays stored, to recognise it if the gateway issues it again. After its stated end it is tried: a 401 does no harm.
 */
async function keepToken(
  { need, ...asked }: NamedRequest & TokenRequest,
  { value, lifetimeMs: ms }: Bearer,
  outcome: AttemptOutcome<TokenFact>,
  { keeper, clock }: TokenClientOptions,
): Promise<AttemptOutcome<TokenFact>> {
  const { generation } = asked
  const before = need === 'rejected' ? await keeper.find() : undefined
  if (before && before.generation < generation && before.value === value) {
    const now = clock.now()
    const until = toInstant(now + Math.min(ms || unstatedLifetimeMs, defaultLifetimeMs))
    await keeper.keep({ generation, value })
    const data = { ...asked, issuedAt: toInstant(now), until }
    return { status: 'settled', fact: { type: 'tokenService.repeated', data } }
  }
  await keeper.keep({ generation, value })
  return outcome
}

/** Requests a token once and reports the result. The token is not stored. */
export async function tryCredentials(
  options: CredentialOptions,
): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const { result } = await requestToken(options, 'once')
  if (result.status !== 'answered') return { ok: false, detail: result.reason }
  const { status, text } = result.answer
  if (status === 200) {
    const isToken = readToken(text) !== undefined
    return { ok: isToken, detail: isToken ? 'the gateway issued a token' : noBearer }
  }
  return { ok: false, detail: `the gateway answered ${status}: ${credentialAdvice(result.answer, options)}` }
}

function credentialAdvice(answer: HttpAnswer, { answers }: CredentialOptions): string {
  const meaning = declaredMeaning(answer, answers) ?? meaningOf(answer, 'tokenService')
  if (meaning === 'deferred' || meaning === 'unknown') return 'try again later'
  if (meaning !== 'declined') return `${meaning}: ${foreignAdvice[meaning]}`
  return refusesCredentials(answer) ? 'correct the consumer key and secret' : foreignAdvice.SERVICE_MISDIRECTED
}
