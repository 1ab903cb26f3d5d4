import { BlockList, isIPv4 } from 'node:net'
import { AverbaError } from '../errors.ts'

/**
 * Reads source ranges.
 *
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
  // Who sends has few addresses, and sends from the same one again and again.
  let [last, isIn] = ['', false]
  return address => {
    if (address === last) return isIn
    const plain = address.replace(/^::ffff:/, '')
    isIn = isIPv4(plain) && list.check(plain, 'ipv4')
    last = address
    return isIn
  }
}

/**
 * The address that notified us. Each trusted proxy adds the address that it saw: it is walked back over as many as
 * there are, no further.
 */
export function clientAddress(remoteAddress: string, forwarded: string, trustedProxies: number): string {
  if (trustedProxies === 0) return remoteAddress
  const named = forwarded.split(',').map(each => each.trim())
  const seen = [...named.filter(each => each !== ''), remoteAddress]
  return seen[seen.length - 1 - trustedProxies] ?? ''
}
