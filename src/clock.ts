import { randomBytes } from 'node:crypto'
import type { Instant } from './message.ts'

/** The only source of time. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number
  /** Resolves after `ms` milliseconds of this clock, or when the signal aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** The only source of randomness. */
export interface Entropy {
  bytes(length: number): Uint8Array
}

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise(resolve => {
      if (signal?.aborted) return resolve()
      const timer = setTimeout(done, ms)
      function done() {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      signal?.addEventListener('abort', done)
    }),
}

/** The randomness of the operating system. */
export const systemEntropy: Entropy = { bytes: length => randomBytes(length) }

/** Writes milliseconds since 1970 as ISO 8601 text in UTC. */
export function toInstant(ms: number): Instant {
  return new Date(ms).toISOString()
}

/** Reads ISO 8601 text as milliseconds since 1970. */
export function fromInstant(at: Instant): number {
  return Date.parse(at)
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/**
 * Makes an id of 26 letters and digits: 48 bits of time, then 80 random bits. Ids made later sort later,
 * which keeps the indexes of a long log flat.
 */
export function createId(clock: Clock, entropy: Entropy): string {
  let time = clock.now()
  let head = ''
  for (let i = 0; i < 10; i++) {
    head = alphabet[time % 32] + head
    time = Math.floor(time / 32)
  }
  let tail = ''
  for (const byte of entropy.bytes(16)) tail += alphabet[byte % 32]
  return head + tail
}
