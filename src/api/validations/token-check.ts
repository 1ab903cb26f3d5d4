import { misdirectedCode } from '../../adapters/token/client.ts'
import { remainingMs } from '../../machines/token.ts'
import type { TokenRow } from '../../views/tokens.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import type { CheckResult } from '../health-check.ts'

/** Checks the token: refused credentials, a wait, or an address that returns no tokens. */
export async function checkToken(
  { store, rows, clock }: ApiContext,
  { credential = 'default' }: { readonly credential?: string },
): Promise<CheckResult> {
  const stream = streamOf('token', credential)
  const row = await rows.find('tokens', stream)
  const wrong = row && findTokenTrouble(row, toInstant(clock.now()))
  if (wrong !== undefined) return { ok: false, detail: wrong }
  const [request] = await store.effects({ stream, states: ['deferred'] })
  if (!request?.reason.startsWith(misdirectedCode)) return { ok: true, detail: 'not locked' }
  return {
    ok: false,
    detail: `${request.reason}: correct tokenService.url, then effects.retry("${request.id}")`,
  }
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
