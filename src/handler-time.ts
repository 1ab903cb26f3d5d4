import { LateError, withinTime } from './adapters/within-time.ts'
import type { Clock } from './clock.ts'
import { AverbaError } from './errors.ts'

/** What a handler is called with beside what it handles. */
export interface HandlerCall {
  /** Aborts when the handler's time is over: what it is at counts as failed, and it is called again later. */
  readonly signal: AbortSignal
}

/** How long one call of a handler may take. */
export interface HandlerTime {
  /** A whole number of milliseconds, up to a day; a minute when absent. */
  readonly timeoutMs?: number
}

const timeoutDefaultMs = 60_000
const timeoutMaxMs = 86_400_000

/**
 * How long a handler may take.
 *
 * @throws {AverbaError} `INVALID_INPUT` when it is no whole number of milliseconds up to a day
 */
export function checkHandlerTime({ timeoutMs = timeoutDefaultMs }: HandlerTime = {}): number {
  if (Number.isSafeInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= timeoutMaxMs) return timeoutMs
  throw new AverbaError('INVALID_INPUT', 'Cannot give a handler this time: timeoutMs is out of range', {
    hint: 'Give a whole number of milliseconds, 1 to 86400000',
  })
}

/** Calls a handler within its time. Says why it failed, in words of ours: never the message of its error. */
export async function callInTime(
  clock: Clock,
  timeoutMs: number,
  call: (given: HandlerCall) => Promise<void>,
): Promise<string | undefined> {
  try {
    await withinTime(clock, timeoutMs, ({ signal }) => call({ signal }))
    return undefined
  } catch (error) {
    return nameOf(error)
  }
}

/** The code or the name of an error, never its message. */
export function nameOf(error: unknown): string {
  if (error instanceof LateError) return error.message // Ours: it says the limit.
  if (error instanceof AverbaError) return error.code
  return error instanceof Error && /^\w{1,60}$/.test(error.name) ? error.name : 'Error'
}
