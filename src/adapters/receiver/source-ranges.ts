import { BlockList, isIPv4 } from 'node:net'
import { AverbaError } from '../../vocabulary/errors.ts'

/**
 * Parses source ranges into a check of addresses.
 * @throws {AverbaError} `MISCONFIGURED`
 */
export function parseRanges(sources: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const source of sources) {
    const [network = '', prefix = '32'] = source.split('/')
    if (!isIPv4(network) || !/^\d{1,2}$/.test(prefix) || Number(prefix) > 32) {
      throw new AverbaError('MISCONFIGURED', `Cannot use the source range "${source}"`, {
        hint: 'Give IPv4 ranges, such as 161.148.0.0/16',
      })
    }
    list.addSubnet(network, Number(prefix), 'ipv4')
  }
  // The portal has few addresses and often sends from the same one: remember the last result.
  let [last, isIn] = ['', false]
  return address => {
    if (address === last) return isIn
    const plain = withoutPort(address).replace(/^::ffff:/i, '')
    isIn = isIPv4(plain) && list.check(plain, 'ipv4')
    last = address
    return isIn
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

/** The addresses in a header `X-Forwarded-For`. */
export function forwardedHops(forwarded: string): string[] {
  return forwarded
    .split(',')
    .map(each => each.trim())
    .filter(each => each !== '')
}
