import { backoffMs, toInstant } from '../../vocabulary/instant.ts'
import type { AttemptOutcome, MessageWithParts, PendingEffect } from '../../vocabulary/message.ts'
import type { Performers } from '../../vocabulary/performer.ts'
import { type SecretSource, secretFrom } from '../credentials/secret.ts'
import {
  conclude,
  type Exchange,
  type ExchangeOptions,
  exchange,
  type HttpAnswer,
  isRefusal,
} from '../http/exchange.ts'
import { type Bearer, readToken, writeRequestToken } from './protocol.ts'
import { refusesCredentials } from './refusal.ts'

/** Where the token of one credential is kept. It goes nowhere else. */
export interface TokenKeeper {
  /** The stream of the credential. */
  readonly stream: string
  /** The token that is kept, in use or rejected. */
  find(): Promise<{ readonly generation: number; readonly value: string } | undefined>
  keep(token: { readonly generation: number; readonly value: string }): Promise<void>
  /** Drops what is older than a generation. */
  drop(before: number): Promise<void>
  /** Names the contract of a consumer key, and the key with its secret, without revealing them. */
  holderOf(
    consumerKey: string,
    consumerSecret: string,
  ): { readonly contract: string; readonly credential: string }
}

/** Where tokens are issued, and to whom. */
export interface TokenClientOptions extends ExchangeOptions {
  /** The whole address of the token endpoint. */
  readonly url: string
  readonly consumerKey: SecretSource
  readonly consumerSecret: SecretSource
  readonly keeper: TokenKeeper
  /** Told each time that something other than a token endpoint answers. */
  readonly onMisdirected?: (status: number) => void
}

/** How long a rejected token lives that comes again without saying so. */
const unstatedMs = 60_000
/** The validity of a token (document 2, section 8), also of one that states none, or more. */
const lifetimeMs = 3_600_000
/** The waits while something else answers in place of the token endpoint: each twice the former one. */
const slowBaseMs = 60_000
const slowMaxMs = 15 * 60_000

/** The token endpoint over a way out (document 2, section 4.1). */
export function createTokenClient(options: TokenClientOptions): Performers {
  const lost = (pending: PendingEffect) => ({
    type: 'tokenService.requestLost',
    data: { generation: askedBy(pending).generation },
  })
  return {
    'tokenService.requestToken': {
      effectClass: 'idempotent',
      // Of another name, it may be of another contract; its generations number other tokens.
      takes: ({ stream }) => stream === options.keeper.stream,
      lostFact: lost,
      async perform(pending): Promise<AttemptOutcome> {
        const key = await secretFrom(options.consumerKey, 'consumer key')
        const secret = await secretFrom(options.consumerSecret, 'consumer secret')
        const result = await exchange(options, 'idempotent', () =>
          writeRequestToken(options.url, key, secret),
        )
        const astray = misdirected(result, pending, options)
        if (astray) return astray
        const { generation } = askedBy(pending)
        const asked = { generation, ...options.keeper.holderOf(key, secret) }
        let bearer: Bearer | undefined
        const reading = {
          service: 'token service',
          settled(text: string) {
            bearer = readToken(text)
            return bearer && issued(asked, bearer, options)
          },
          declined: ({ status }: HttpAnswer) => ({
            type: 'tokenService.credentialsRefused',
            data: { ...asked, httpStatus: status },
          }),
          isSuccess: (status: number) => status === 200,
          lost: () => lost(pending),
        }
        const outcome = conclude(result, 'idempotent', reading, options.clock)
        // A process that took the request over got a newer one.
        if (outcome.status === 'declined') await options.keeper.drop(generation)
        return bearer ? kept({ ...askedBy(pending), ...asked }, bearer, outcome, options) : outcome
      },
    },
  }
}

/** The code for calls that need the token, which a health check looks for. */
export const misdirectedCode = 'TOKEN_MISDIRECTED'

/**
 * A refusal that says nothing about the credentials, such as a proxy's 404: they may be right, and correcting the
 * address does not change them. The tries go on, ever more seldom.
 */
function misdirected(
  result: Exchange,
  pending: PendingEffect,
  options: TokenClientOptions,
): AttemptOutcome | undefined {
  if (result.status !== 'answered') return undefined
  const { status } = result.answer
  if (!isRefusal(status) || refusesCredentials(result.answer)) return undefined
  options.onMisdirected?.(status)
  const reason = `${misdirectedCode}: what answers at the token address answered ${status}, and gives no tokens`
  // Attempts that failed otherwise, as in an outage before, do not count.
  const before = pending.reason.startsWith(misdirectedCode) ? pending.attempts - 1 : 0
  return { status: 'deferred', reason, afterMs: backoffMs(before, slowBaseMs, slowMaxMs) }
}

/** What a token request is for, and the names of the credentials that it is made with. */
type TokenPurpose = ReturnType<TokenKeeper['holderOf']> & { readonly generation: number }

function askedBy(pending: PendingEffect): { generation: number; need: string } {
  return pending.data as ReturnType<typeof askedBy> // As the machine writes it.
}

function issued(
  asked: TokenPurpose,
  { lifetimeMs: ms }: Bearer,
  { clock }: TokenClientOptions,
): MessageWithParts {
  // A token that ends at once has to be tried all the same.
  const lastsMs = Math.min(Math.max(ms ?? lifetimeMs, 1_000), lifetimeMs)
  const now = clock.now()
  const data = { ...asked, issuedAt: toInstant(now), expiresAt: toInstant(now + lastsMs) }
  return { type: 'tokenService.issued', data }
}

/**
 * Keeps the token before its fact is recorded, so that whoever reads the fact finds it. The rejected token is kept
 * until then, so that it is recognised when it comes again. One that comes again after its stated end is tried: a 401
 * does no harm, and the first may have been a slip.
 */
async function kept(
  { need, ...asked }: TokenPurpose & ReturnType<typeof askedBy>,
  { value, lifetimeMs: ms }: Bearer,
  outcome: AttemptOutcome,
  { keeper, clock }: TokenClientOptions,
): Promise<AttemptOutcome> {
  const { generation } = asked
  const before = need === 'rejected' ? await keeper.find() : undefined
  if (before && before.generation < generation && before.value === value) {
    const until = toInstant(clock.now() + Math.min(ms || unstatedMs, lifetimeMs))
    return { status: 'settled', fact: { type: 'tokenService.repeated', data: { ...asked, until } } }
  }
  await keeper.keep({ generation, value })
  return outcome
}
