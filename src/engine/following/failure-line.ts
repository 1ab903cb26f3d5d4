import type { LogLine } from '../../vocabulary/log-line.ts'

/** A call of a handler of the host that failed. */
export interface HandlerFailure {
  /** Counted from 1. */
  readonly attempt: number
  /** The name or the code of the error, or words of ours: nothing of what was handled. */
  readonly because: string
  /** It is not called again by itself. */
  readonly isParked: boolean
}

/** What the logger is told of a failure: at the first one, whenever attempts have doubled, and when it is given up. */
export function failureLine(
  { attempt, because, isParked }: HandlerFailure,
  [failed, parked]: readonly [string, string],
  names: Pick<LogLine, 'evento' | 'handler' | 'notification' | 'follower'>,
): LogLine | undefined {
  const isDoubled = Number.isInteger(Math.log2(attempt))
  if (!isParked && !isDoubled) return undefined
  const why = /^\w+$/.test(because) ? { error: because } : { detail: because }
  return { message: isParked ? parked : failed, ...names, attempt, ...why }
}
