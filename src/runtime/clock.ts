import { randomBytes } from 'node:crypto'
import type { Instant } from '../vocabulary/message.ts'

/** The only source of time. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number
  /**
   * Resolves after `ms` milliseconds of this clock, or when the signal aborts. Never rejects. `what` says what is
   * waited for, to whoever watches the clock.
   */
  sleep(ms: number, signal?: AbortSignal, what?: string): Promise<void>
}

/** The only source of randomness. */
export interface Entropy {
  bytes(length: number): Uint8Array
}

/** The reason for ending a wait that is no longer needed: without one, `abort()` builds an error with its stack. */
export const calledOff = 'called off'

/** What a timer can hold: about 24 days. */
const timerMaxMs = 2 ** 31 - 1

/** The clock of the operating system. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise(resolve => {
      if (signal?.aborted) return resolve()
      const timer = setTimeout(done, Math.min(ms, timerMaxMs))
      function done() {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      signal?.addEventListener('abort', done)
    }),
}

/**
 * Whether less than `ms` lies between two instants, in either order: one from a clock that ran ahead must not stay
 * fresh.
 */
export function isWithin(ms: number, at: number, now: number): boolean {
  return Math.abs(now - at) < ms
}

/** A wait that doubles with each failure before it, up to a bound. */
export function backoffMs(failures: number, baseMs: number, maxMs: number): number {
  return Math.min(baseMs * 2 ** failures, maxMs)
}

/** How far the clock of a process may be behind those of others that share its store. */
export const clocksDifferMaxMs = 10 * 60_000

/**
 * Whether a wait of at most `waitMaxMs` is over: its end has come, or lies so far ahead that it came from a clock that
 * was ahead and has been put right since. Otherwise it would last for as long as that clock was ahead.
 */
export function isWaitOver(until: number, now: number, waitMaxMs: number): boolean {
  return until <= now || until > now + waitMaxMs + clocksDifferMaxMs
}

/**
 * A stopwatch in milliseconds, with fractions. For the system's clock it is one that never goes back; for any other,
 * that clock itself.
 */
export function stopwatchOf(clock: Clock): () => number {
  return clock === systemClock ? () => performance.now() : () => clock.now()
}

const poolBytes = 8_192
let pool = new Uint8Array()

/** As they were when this was loaded: a test runner may put its own in their place, which wait for it. */
const [nextTurn, cancelTurn] = [setImmediate, clearImmediate]

/** How many waits for a turn of the event loop there are. */
let turnsAwaited = 0

/**
 * Does the work when the event loop has turned. Every wait for it goes through here: `whenQuiet` counts them.
 *
 * @returns what calls the work off, as long as it has not begun
 */
export function afterTurn(work: () => void): () => void {
  turnsAwaited += 1
  let isAwaited = true
  const end = () => {
    if (isAwaited) turnsAwaited -= 1
    isAwaited = false
  }
  const turn = nextTurn(() => {
    end()
    work()
  })
  return () => {
    end()
    cancelTurn(turn)
  }
}

/**
 * Lets the event loop turn once. Awaiting what is ready does not: work that goes on page by page has to give way, or
 * timers, sockets and signals wait for its end.
 */
export function giveWay(): Promise<void> {
  return new Promise(resolve => afterTurn(resolve))
}

/**
 * Resolves when everything has happened that needs nothing but memory: all that is left waits for a clock or for the
 * outside. When the event loop turns, no promise is left that could go on, and what waits for a turn is counted.
 */
export async function whenQuiet(): Promise<void> {
  do await new Promise<void>(resolve => nextTurn(resolve))
  while (turnsAwaited > 0)
}

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

let lastMs = Number.NaN
let lastInstant = ''

/** The first and the last instant with a year of four digits: only those are in order as texts. */
const firstMs = Date.parse('0000-01-01T00:00:00.000Z')
const endMs = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * Writes milliseconds since 1970 as ISO 8601 text in UTC: what lies outside the years 0000 to 9999 as their first or
 * last instant, since instants are compared as texts. Many ask within the same millisecond.
 */
export function toInstant(ms: number): Instant {
  if (ms !== lastMs) {
    lastInstant = new Date(Math.min(Math.max(ms, firstMs), endMs)).toISOString()
    lastMs = ms
  }
  return lastInstant
}

/** Reads ISO 8601 text as milliseconds since 1970. */
export function fromInstant(at: Instant): number {
  return Date.parse(at)
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
    let id = encode(time, 10) + encode(count, 3)
    for (const byte of entropy.bytes(13)) id += alphabet[byte % 32]
    return id
  }
}

function encode(value: number, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest = Math.floor(rest / 32)) text = alphabet[rest % 32] + text
  return text
}
