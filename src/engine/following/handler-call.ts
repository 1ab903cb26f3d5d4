import type { Clock } from '../../runtime/clock.ts'
import { LateError, withinTime } from '../../runtime/within-time.ts'
import { holdsCpf } from '../../vocabulary/cpf.ts'
import { AverbaError } from '../../vocabulary/errors.ts'

/** What a handler is called with beside what it handles. */
export interface HandlerCall {
  /** Aborts when the handler's time is over: the call counts as failed, and the handler is called again later. */
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
 * @throws {AverbaError} `INVALID_INPUT` when it is not a whole number of milliseconds up to a day
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

/**
 * The code or the name of an error, never its message. A host's code may throw anything: a name may change, or throw
 * when it is read.
 */
export function nameOf(error: unknown): string {
  try {
    if (error instanceof LateError) return error.message // Ours: it says the limit.
    const name: unknown = error instanceof AverbaError ? error.code : error instanceof Error && error.name
    if (typeof name === 'string' && /^[A-Za-z]\w{0,59}$/.test(name) && !holdsCpf(name)) return name
  } catch {
    // An error whose name cannot be read has none.
  }
  return 'Error'
}
