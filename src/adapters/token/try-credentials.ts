import { type SecretSource, secretFrom } from '../credentials/secret.ts'
import { type ExchangeOptions, type HttpAnswer, isRefusal, sendRequest } from '../http/exchange.ts'
import { readToken, writeRequestToken } from './protocol.ts'
import { refusesCredentials } from './refusal.ts'

/** Requests a token once and reports the result. The token is not stored. */
export async function tryCredentials(
  options: ExchangeOptions & {
    readonly url: string
    readonly consumerKey: SecretSource
    readonly consumerSecret: SecretSource
  },
): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const key = await secretFrom(options.consumerKey, 'consumer key')
  const secret = await secretFrom(options.consumerSecret, 'consumer secret')
  const result = await sendRequest(options, 'once', () => writeRequestToken(options.url, key, secret))
  if (result.status !== 'answered') return { ok: false, detail: result.reason }
  const { status, text } = result.answer
  if (status === 200) {
    const isToken = readToken(text) !== undefined
    return { ok: isToken, detail: isToken ? 'the gateway issued a token' : 'its answer cannot be read' }
  }
  return { ok: false, detail: `the gateway answered ${status}: ${credentialAdvice(result.answer)}` }
}

function credentialAdvice(answer: HttpAnswer): string {
  if (refusesCredentials(answer)) return 'correct the consumer key and secret'
  return isRefusal(answer.status) ? 'check tokenService.url and any proxy in front of it' : 'try again later'
}
