import { type SecretSource, secretFrom } from '../credentials/secret.ts'
import { type ExchangeOptions, exchange, type HttpAnswer, isRefusal } from '../http/exchange.ts'
import { readToken, writeRequestToken } from './protocol.ts'
import { refusesCredentials } from './refusal.ts'

/** Asks for a token once, and says in words what came of it. The token is not kept. */
export async function tryCredentials(
  options: ExchangeOptions & {
    readonly url: string
    readonly consumerKey: SecretSource
    readonly consumerSecret: SecretSource
  },
): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const key = await secretFrom(options.consumerKey, 'consumer key')
  const secret = await secretFrom(options.consumerSecret, 'consumer secret')
  const result = await exchange(options, 'once', () => writeRequestToken(options.url, key, secret))
  if (result.status !== 'answered') return { ok: false, detail: result.reason }
  const { status, text } = result.answer
  if (status === 200) {
    const isToken = readToken(text) !== undefined
    return { ok: isToken, detail: isToken ? 'the gateway gave a token' : 'its answer cannot be read' }
  }
  return { ok: false, detail: `the gateway answered ${status}: ${adviceOn(result.answer)}` }
}

function adviceOn(answer: HttpAnswer): string {
  if (refusesCredentials(answer)) return 'correct the consumer key and secret'
  return isRefusal(answer.status)
    ? 'look at tokenService.url, and at what stands before it'
    : 'try again later'
}
