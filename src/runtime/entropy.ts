import { randomBytes } from 'node:crypto'
import type { Clock } from './clock.ts'

/** The only source of randomness. */
export interface Entropy {
  bytes(length: number): Uint8Array
}
const poolBytes = 8_192
let pool = new Uint8Array()
/** The randomness of the operating system, fetched for many askers at once. */
export const systemEntropy: Entropy = {
  bytes(length) {
    if (length > poolBytes) return randomBytes(length)
    if (length > pool.length) pool = randomBytes(poolBytes)
    const taken = Buffer.from(pool.subarray(0, length))
    // What was handed out stays nowhere else.
    pool.fill(0, 0, length)
    pool = pool.subarray(length)
    return taken
  },
}
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/**
 * Makes ids of 26 letters and digits: 48 bits of time, 15 bits that count within the millisecond, 65 random
 * bits. Ids made later sort later, which keeps the indexes of a long log flat.
 */
export function createIds(clock: Clock, entropy: Entropy): () => string {
  let time = 0
  let count = 0
  return () => {
    const now = clock.now()
    count = now > time ? 0 : count + 1
    time = Math.max(now, time)
    let id = encodeBase32(time, 10) + encodeBase32(count, 3)
    for (const byte of entropy.bytes(13)) id += alphabet[byte % 32]
    return id
  }
}

function encodeBase32(value: number, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest = Math.floor(rest / 32)) text = alphabet[rest % 32] + text
  return text
}

/** Any whole number from 1 up to a bound. */
export function randomUpTo(entropy: Entropy, bound: number): number {
  const [high = 0, low = 0] = entropy.bytes(2)
  return Math.ceil(bound * ((high * 256 + low + 1) / 65_536))
}
