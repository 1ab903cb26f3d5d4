import { hash, timingSafeEqual } from 'node:crypto'
import type { Secrets } from './portal/protocol.ts'
import type { ReceivedHead } from './received-head.ts'

/** Every secret that a subscription has must fit; where none has any, there is nothing to check. */
export function isAuthentic(
  { secret, authorization }: Pick<ReceivedHead, 'secret' | 'authorization'>,
  candidates: readonly Secrets[],
): boolean {
  const checks = candidates.map(({ chaveSecreta, chaveAutenticacao }) => {
    const isSecret = chaveSecreta === undefined || isEqual(secret, chaveSecreta)
    const isAuthorization = chaveAutenticacao === undefined || isEqual(authorization, chaveAutenticacao)
    return isSecret && isAuthorization
  })
  return checks.length === 0 || checks.includes(true)
}

function isEqual(a: string, b: string): boolean {
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'))
}
