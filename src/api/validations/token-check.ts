import { misdirectedCode } from '../../adapters/token/client.ts'
import { remainingMs } from '../../machines/token.ts'
import type { TokenRow } from '../../views/tokens.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import type { CheckResult } from '../check.ts'

/** How the token stands: refused credentials, a wait, or an address that gives no tokens. */
export async function checkToken(
  { store, rows, clock }: ApiContext,
  { credential = 'default' }: { readonly credential?: string },
): Promise<CheckResult> {
  const stream = streamOf('token', credential)
  const row = await rows.find('tokens', stream)
  const wrong = row && wrongOf(row, toInstant(clock.now()))
  if (wrong !== undefined) return { ok: false, detail: wrong }
  const [asked] = await store.effects({ stream, states: ['deferred'] })
  if (!asked?.reason.startsWith(misdirectedCode)) return { ok: true, detail: 'not locked' }
  return {
    ok: false,
    detail: `${asked.reason}: correct tokenService.url, then effects.retry("${asked.id}")`,
  }
}

/** What is wrong with a token, in words. Once a wait is over, the next call asks. */
function wrongOf({ state, waits_until }: TokenRow, now: Instant): string | undefined {
  if (state !== 'locked' && remainingMs(waits_until ?? '', now) === 0) return undefined
  const wait = `nobody asks for another before ${waits_until}: find out why calls are answered 401`
  if (state === 'locked') return 'the gateway refused the consumer key and secret: correct them'
  if (state === 'repeated') return `the gateway gave the rejected token again, and ${wait}`
  if (state === 'rejected')
    return `one token after the other is refused soon after the gateway gives it, and ${wait}`
  return undefined
}
