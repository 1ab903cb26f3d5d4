import { AsyncLocalStorage } from 'node:async_hooks'
import { type Clock, withinTime } from '../../runtime/clock.ts'
import { errorName } from '../../vocabulary/error-words.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { dayMs } from '../../vocabulary/instant.ts'
import type { LogLine } from '../../vocabulary/log-line.ts'

/** What a handler receives besides what it handles. */
export interface HandlerCall {
  /** Aborts when the handler's time is up: the call counts as failed, and the handler is called again later. */
  readonly signal: AbortSignal
}

/** The time limit of a handler call. */
export interface HandlerTime {
  /** A whole number of milliseconds, up to a day; a minute when absent. */
  readonly timeoutMs?: number
}

const timeoutDefaultMs = 60_000
const timeoutMaxMs = dayMs

/** The time limit of a handler in milliseconds. Throws `INVALID_INPUT` when it is out of range. */
export function checkHandlerTime({ timeoutMs = timeoutDefaultMs }: HandlerTime = {}): number {
  if (Number.isSafeInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= timeoutMaxMs) return timeoutMs
  throw new AverbaError('INVALID_INPUT', 'Cannot set the time of a handler: timeoutMs is out of range', {
    hint: 'Give a whole number of milliseconds, 1 to 86400000',
  })
}

/** Calls a handler within its time. Returns why it failed; only `onError` gets the error itself. */
export async function callInTime(
  clock: Clock,
  timeoutMs: number,
  call: (given: HandlerCall) => Promise<void>,
  onError: (error: unknown) => void,
): Promise<string | undefined> {
  try {
    await withinTime(clock, timeoutMs, ({ signal }) => call({ signal }))
    return undefined
  } catch (error) {
    onError(error)
    return errorName(error)
  }
}

/** A call of a host's handler that threw or took too long. The error may quote what was handled: it reaches no log. */
export interface HandlerError {
  /** The name of the handler or follower. */
  readonly handler: string
  /** The notification that it was called for, and its event; absent for a follower. */
  readonly notification?: string
  readonly evento?: string
  /** The position of the event that a follower was called for. */
  readonly position?: number
  readonly error: unknown
}

/** A failed call of a host's handler. */
export interface HandlerFailure {
  /** Counted from 1. */
  readonly attempt: number
  /** The name or code of the error, or a text of our own: nothing of what was handled. */
  readonly reason: string
  /** Whether it stays parked until an operator releases it. */
  readonly isParked: boolean
}

/** The log line of a failure: at the first one, whenever attempts have doubled, and when it is parked. */
export function failureLine(
  { attempt, reason, isParked }: HandlerFailure,
  [failed, parked]: readonly [string, string],
  names: Pick<LogLine, 'evento' | 'handler' | 'notification' | 'follower'>,
): LogLine | undefined {
  const isDoubled = Number.isInteger(Math.log2(attempt))
  if (!isParked && !isDoubled) return undefined
  const why = /^\w+$/.test(reason) ? { error: reason } : { detail: reason }
  const said = isParked ? ({ level: 'error', message: parked } as const) : ({ level: 'warn', message: failed } as const)
  return { ...said, ...names, attempt, ...why }
}

/** Detects whether code runs inside a handler call of a log: such code must not wait for all handlers to end. */
export class HandlerScope {
  readonly #calls = new AsyncLocalStorage<{ isOver: boolean } | undefined>()

  /** Calls a handler. Work that it leaves behind, such as a timer, is outside once the handler has ended. */
  async within<T>(work: () => Promise<T>): Promise<T> {
    const call = { isOver: false }
    try {
      return await this.#calls.run(call, work)
    } finally {
      call.isOver = true
    }
  }

  /** Runs work that a handler caused but does not wait for. */
  outside<T>(work: () => T): T {
    return this.#calls.run(undefined, work)
  }

  get isWithin(): boolean {
    return this.#calls.getStore()?.isOver === false
  }
}
