import { hash, timingSafeEqual } from 'node:crypto'
import type { Secrets } from '../portal/protocol.ts'
import type { ReceivedHead } from './received-head.ts'

/**
 * Every secret that a subscription has must match; one without secrets lets everything through. Both are compared at
 * once, as digests, so that the time it takes tells nothing about them.
 */
export function matchesSecrets(
  { secret, authorization }: Pick<ReceivedHead, 'secret' | 'authorization'>,
  candidates: readonly Secrets[],
): boolean {
  if (candidates.length === 0) return true
  const came = digestOf(secret, authorization)
  const fits = candidates.map(({ chaveSecreta = secret, chaveAutenticacao = authorization }) =>
    timingSafeEqual(came, digestOf(chaveSecreta, chaveAutenticacao)),
  )
  return fits.includes(true)
}

function digestOf(secret: string, authorization: string): Buffer {
  // As text: asking for bytes would cost three times as much.
  return Buffer.from(hash('sha256', JSON.stringify([secret, authorization]), 'hex'))
}
