import { hash, timingSafeEqual } from 'node:crypto'
import { BlockList, isIPv4 } from 'node:net'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Secrets } from '../portal/protocol.ts'
import type { ReceivedHead } from './received-head.ts'

/** Parses source ranges into a check of addresses. Throws `MISCONFIGURED`. */
export function parseRanges(sources: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const source of sources) {
    const [network = '', prefix = '32'] = source.split('/')
    if (!isIPv4(network) || !/^\d{1,2}$/.test(prefix) || Number(prefix) > 32)
      throw new AverbaError('MISCONFIGURED', `Cannot use the source range "${source}"`, {
        hint: 'Give IPv4 ranges, such as 161.148.0.0/16',
      })
    list.addSubnet(network, Number(prefix), 'ipv4')
  }
  return address => {
    const plain = withoutPort(address).replace(/^::ffff:/i, '')
    return isIPv4(plain) && list.check(plain, 'ipv4')
  }
}

/** Removes the port that some proxies add: `161.148.1.1:54321`, `[::ffff:161.148.1.1]:54321`. */
function withoutPort(address: string): string {
  const [, bracketed, ipv4] = /^(?:\[(.*)\](?::\d+)?|([\d.]+):\d+)$/.exec(address) ?? []
  return bracketed ?? ipv4 ?? address
}

/** The sender's address: each trusted proxy adds the one that it saw, so as many are skipped. */
export function clientAddress(remoteAddress: string, forwarded: string, trustedProxies: number): string {
  if (trustedProxies === 0) return remoteAddress
  const seen = [...forwardedHops(forwarded), remoteAddress]
  return seen[seen.length - 1 - trustedProxies] ?? ''
}

export function forwardedHops(forwarded: string): string[] {
  return forwarded
    .split(',')
    .map(each => each.trim())
    .filter(each => each !== '')
}

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

/** Checks that a candidate has a secret, which a notification must show. */
export function needsSecret({ chaveSecreta, chaveAutenticacao }: Secrets): boolean {
  return chaveSecreta !== undefined || chaveAutenticacao !== undefined
}

function digestSecrets(secret: string, authorization: string): Buffer {
  // Hex text, because `hash` takes three times as long to return bytes.
  return Buffer.from(hash('sha256', JSON.stringify([secret, authorization]), 'hex'))
}
