import { hash, timingSafeEqual } from 'node:crypto'
import type { Secrets } from './portal/protocol.ts'
import type { ReceivedHead } from './received-head.ts'

/**
 * Every secret that a subscription has must fit; where none has any, there is nothing to check. Both at once, as digests:
 * how long it takes tells nothing of them.
 */
export function isAuthentic(
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
  // As text, which costs a third of asking for bytes.
  return Buffer.from(hash('sha256', JSON.stringify([secret, authorization]), 'hex'))
}
