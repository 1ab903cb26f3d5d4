import { randomBytes } from 'node:crypto'
import type { Clock } from './clock.ts'

/** The only source of randomness: tests replace it. */
export interface Entropy {
  bytes(length: number): Uint8Array
}

const poolBytes = 8_192
let pool = new Uint8Array()

/** The randomness of the operating system, read in large blocks for speed. */
export const systemEntropy: Entropy = {
  bytes(length) {
    if (length > poolBytes) return randomBytes(length)
    if (length > pool.length) pool = randomBytes(poolBytes)
    const taken = Buffer.from(pool.subarray(0, length))
    // No copy of the returned bytes remains in the pool.
    pool.fill(0, 0, length)
    pool = pool.subarray(length)
    return taken
  },
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/**
 * Returns a generator of ids: 26 letters and digits with 48 bits of time, a counter of 15 bits within the millisecond,
 * and 65 random bits. Later ids sort later, so that database indexes grow at their end.
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

/** Returns a random whole number from 1 to a maximum. */
export function randomUpTo(entropy: Entropy, bound: number): number {
  const [high = 0, low = 0] = entropy.bytes(2)
  return Math.ceil(bound * ((high * 256 + low + 1) / 65_536))
}
