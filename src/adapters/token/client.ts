import { toInstant } from '../../clock.ts'
import type { Outcome } from '../../message.ts'
import { deferral, type ExchangeOptions, exchange, verdictOf } from '../exchange.ts'
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
        if (result.status !== 'answered') return { status: 'deferred', because: result.because }
        const { answer } = result
        const bearer = answer.status === 200 ? readToken(answer.text) : undefined
        if (bearer) {
          options.keep(bearer)
          const expiresAt =
            bearer.lifetimeMs === null ? null : toInstant(options.clock.now() + bearer.lifetimeMs)
          return { status: 'settled', fact: { type: 'tokenService.issued', data: { expiresAt } } }
        }
        const because = `the token service answered ${answer.status}`
        if (answer.status !== 200 && verdictOf(answer, 'idempotent') === 'declined') {
          const fact = { type: 'tokenService.credentialsRefused', data: { httpStatus: answer.status } }
          return { status: 'declined', because, fact }
        }
        return deferral(answer, options.clock, answer.status === 200 ? 'the token cannot be read' : because)
      },
    },
  }
}
