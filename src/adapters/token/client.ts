import { backoffMs, toInstant } from '../../clock.ts'
import type { Carried, Outcome, Owed } from '../../message.ts'
import {
  type Answer,
  conclude,
  type Exchange,
  type ExchangeOptions,
  exchange,
  isRefusal,
} from '../exchange.ts'
import type { Performers } from '../performer.ts'
import { type SecretSource, secretFrom } from '../secret.ts'
import { type Bearer, readToken, writeRequestToken } from './protocol.ts'
import { refusesCredentials } from './refusal.ts'

/** Where the token of one credential is kept. It goes nowhere else. */
export interface TokenKeeper {
  /** The token that is kept, in use or rejected. */
  find(): Promise<{ readonly generation: number; readonly value: string } | undefined>
  keep(token: { readonly generation: number; readonly value: string }): Promise<void>
  /** Drops what is older than a generation. */
  drop(before: number): Promise<void>
  /** Names a consumer key and secret without telling them. */
  credentialOf(consumerKey: string, consumerSecret: string): string
}

/** Where tokens are issued, and to whom. */
export interface TokenClientOptions extends ExchangeOptions {
  /** The whole address of the token endpoint. */
  readonly url: string
  readonly consumerKey: SecretSource
  readonly consumerSecret: SecretSource
  readonly keeper: TokenKeeper
  /** Told each time that something answers which is not where tokens are issued. */
  readonly onMisdirected?: (status: number) => void
}

/** A rejected token that comes again without saying how long it lives. */
const unstatedMs = 60_000
/** The validity of a token (document 2, section 8): also of one that says nothing of it, or more. */
const lifetimeMs = 3_600_000
/** The waits for something else than the token endpoint to go away: each twice the one before. */
const slowBaseMs = 60_000
const slowMaxMs = 15 * 60_000

/** The token endpoint over a way out (document 2, section 4.1). */
export function createTokenClient(options: TokenClientOptions): Performers {
  const lost = (owed: Owed) => ({
    type: 'tokenService.requestLost',
    data: { generation: askedBy(owed).generation },
  })
  return {
    'tokenService.requestToken': {
      effectClass: 'idempotent',
      lost,
      async perform(owed): Promise<Outcome> {
        const key = await secretFrom(options.consumerKey, 'consumer key')
        const secret = await secretFrom(options.consumerSecret, 'consumer secret')
        const result = await exchange(options, 'idempotent', () =>
          writeRequestToken(options.url, key, secret),
        )
        const astray = misdirected(result, owed, options)
        if (astray) return astray
        const { generation } = askedBy(owed)
        const asked = { generation, credential: options.keeper.credentialOf(key, secret) }
        let bearer: Bearer | undefined
        const reading = {
          service: 'token service',
          settled(text: string) {
            bearer = readToken(text)
            return bearer && issued(asked, bearer, options)
          },
          declined: ({ status }: Answer) => ({
            type: 'tokenService.credentialsRefused',
            data: { ...asked, httpStatus: status },
          }),
          isSuccess: (status: number) => status === 200,
          lost: () => lost(owed),
        }
        const outcome = conclude(result, 'idempotent', reading, options.clock)
        // A newer one was had by a process that took the request over.
        if (outcome.status === 'declined') await options.keeper.drop(generation)
        return bearer ? kept({ ...askedBy(owed), ...asked }, bearer, outcome, options) : outcome
      },
    },
  }
}

/** What a call that needs the token is told of it, and a health check looks for. */
export const misdirectedCode = 'TOKEN_MISDIRECTED'

/**
 * A no that says nothing about the credentials, such as a proxy's 404: they may be right, and whoever corrects the address
 * has not changed them. It is asked on, ever more seldom.
 */
function misdirected(result: Exchange, owed: Owed, options: TokenClientOptions): Outcome | undefined {
  if (result.status !== 'answered') return undefined
  const { status } = result.answer
  if (!isRefusal(status) || refusesCredentials(result.answer)) return undefined
  options.onMisdirected?.(status)
  const because = `${misdirectedCode}: what answers at the token address answered ${status}, and gives no tokens`
  // Attempts that failed otherwise, as in an outage before, say nothing of this.
  const before = owed.because.startsWith(misdirectedCode) ? owed.attempts - 1 : 0
  return { status: 'deferred', because, afterMs: backoffMs(before, slowBaseMs, slowMaxMs) }
}

/** What a token request is for, and the name of the key and secret that it is made with. */
interface Asked {
  readonly generation: number
  readonly credential: string
}

function askedBy(owed: Owed): { generation: number; need: string } {
  return owed.data as ReturnType<typeof askedBy> // As the machine writes it.
}

function issued(asked: Asked, { lifetimeMs: ms }: Bearer, { clock }: TokenClientOptions): Carried {
  // One that ends at once has to be tried all the same.
  const lastsMs = Math.min(Math.max(ms ?? lifetimeMs, 1_000), lifetimeMs)
  const expiresAt = toInstant(clock.now() + lastsMs)
  return { type: 'tokenService.issued', data: { ...asked, expiresAt } }
}

/**
 * Keeps the token before the fact that there is one is recorded: whoever reads the fact finds it. The rejected one is
 * kept until then, so that it is known when it comes again. One that comes even after it has ended by its own word is tried:
 * a 401 does nothing, and it may have been a slip.
 */
async function kept(
  { need, ...asked }: Asked & ReturnType<typeof askedBy>,
  { value, lifetimeMs: ms }: Bearer,
  outcome: Outcome,
  { keeper, clock }: TokenClientOptions,
): Promise<Outcome> {
  const { generation } = asked
  const before = need === 'rejected' ? await keeper.find() : undefined
  if (before && before.generation < generation && before.value === value) {
    const until = toInstant(clock.now() + Math.min(ms || unstatedMs, lifetimeMs))
    return { status: 'settled', fact: { type: 'tokenService.repeated', data: { ...asked, until } } }
  }
  await keeper.keep({ generation, value })
  return outcome
}
