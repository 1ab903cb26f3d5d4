import { hash } from 'node:crypto'
import type { Entropy } from '../../runtime/entropy.ts'

/**
 * Creates repeatable randomness: the same seed and name give the same bytes. Never use it for keys that protect data.
 */
export function seededEntropy(seed: number, name = ''): Entropy {
  let counter = 0
  let pool = Buffer.alloc(0)
  return {
    bytes(length) {
      while (pool.length < length) {
        counter += 1
        pool = Buffer.concat([pool, hash('sha256', `averba ${seed} ${name}${counter}`, 'buffer')])
      }
      const taken = pool.subarray(0, length)
      pool = pool.subarray(length)
      return taken
    },
  }
}
