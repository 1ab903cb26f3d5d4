import { toInstant } from '../../clock.ts'
import type { Carried, Outcome } from '../../message.ts'
import { type Answer, conclude, type ExchangeOptions, exchange } from '../exchange.ts'
import type { Performers } from '../performer.ts'
import { type Source, valueFrom } from '../source.ts'
import { type Bearer, readToken, writeRequestToken } from './protocol.ts'

/** Where tokens are issued, and to whom. */
export interface TokenClientOptions extends ExchangeOptions {
  /** The whole address of the token endpoint. */
  readonly url: string
  readonly consumerKey: Source<string>
  readonly consumerSecret: Source<string>
  /** Given the token itself, which goes nowhere else. */
  readonly keep: (bearer: Bearer) => void
}

/** The token endpoint over a way out (document 2, section 4.1). */
export function createTokenClient(options: TokenClientOptions): Performers {
  const lost = () => ({ type: 'tokenService.requestLost', data: {} })
  return {
    'tokenService.requestToken': {
      effectClass: 'idempotent',
      lost,
      async perform(): Promise<Outcome> {
        const key = await valueFrom(options.consumerKey, 'consumer key')
        const secret = await valueFrom(options.consumerSecret, 'consumer secret')
        const result = await exchange(options, 'idempotent', () =>
          writeRequestToken(options.url, key, secret),
        )
        const reading = {
          service: 'token service',
          settled: (text: string) => issued(text, options),
          declined: ({ status }: Answer) => ({
            type: 'tokenService.credentialsRefused',
            data: { httpStatus: status },
          }),
          isSuccess: (status: number) => status === 200,
          lost,
        }
        return conclude(result, 'idempotent', reading, options.clock)
      },
    },
  }
}

function issued(text: string, { keep, clock }: TokenClientOptions): Carried | undefined {
  const bearer = readToken(text)
  if (!bearer) return undefined
  keep(bearer)
  const expiresAt = bearer.lifetimeMs === null ? null : toInstant(clock.now() + bearer.lifetimeMs)
  return { type: 'tokenService.issued', data: { expiresAt } }
}
