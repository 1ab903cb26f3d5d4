import { hash, timingSafeEqual } from 'node:crypto'
import type { Secrets } from '../portal/protocol.ts'
import type { ReceivedHead } from './received-head.ts'

/**
 * Reports whether a notification has every secret of one candidate. A candidate without secrets accepts everything.
 * Both secrets are compared at once, as digests, so that the time taken reveals nothing.
 */
export function matchesSecrets(
  { secret, authorization }: Pick<ReceivedHead, 'secret' | 'authorization'>,
  candidates: readonly Secrets[],
): boolean {
  if (candidates.length === 0) return true
  const received = digestSecrets(secret, authorization)
  const matches = candidates.map(({ chaveSecreta = secret, chaveAutenticacao = authorization }) =>
    timingSafeEqual(received, digestSecrets(chaveSecreta, chaveAutenticacao)),
  )
  return matches.includes(true)
}

function digestSecrets(secret: string, authorization: string): Buffer {
  // Hex text, because `hash` takes three times as long to return bytes.
  return Buffer.from(hash('sha256', JSON.stringify([secret, authorization]), 'hex'))
}
