import type { ForeignCode } from '../vocabulary/foreign-answer.ts'
import type { RecordedEvent } from '../vocabulary/message.ts'
import type { EffectClass } from '../vocabulary/performer.ts'
import type { HandlerError } from './following/handler-call.ts'

/** What averba reports about its own work, besides events: for screens and metrics in this process. */
export interface EngineEvents {
  /** An event that this process recorded. */
  recorded: RecordedEvent
  /** A transaction that this process committed. It blocked the event loop for this long. */
  committed: { readonly ms: number }
  attempted: AttemptReport
  /** A handler of the host threw or took too long, in this process. */
  handlerFailed: HandlerError
  /** A request to the receiver was answered with this HTTP status. */
  answered: { readonly status: number; readonly ms: number }
}

const names: Readonly<Record<keyof EngineEvents, true>> = {
  recorded: true,
  committed: true,
  attempted: true,
  handlerFailed: true,
  answered: true,
}

export function isEngineEvent(name: string): name is keyof EngineEvents {
  return Object.hasOwn(names, name)
}

/** How one attempt at a call ended. */
export interface AttemptReport {
  /** The type of the effect, such as `consentService.changeStatus`. */
  readonly operation: string
  readonly effectClass: EffectClass
  /** Counted from 1. */
  readonly attempt: number
  /** The attempt before it has no outcome in the log: its process stood still, for example. */
  readonly isTakenOver: boolean
  /** `deferred` was certainly not done, `unknown` perhaps. */
  readonly outcome: 'settled' | 'declined' | 'deferred' | 'unknown'
  /** Whose answer was not understood: somebody else's, by its code, or `other`. Absent when there is none. */
  readonly unread?: ForeignCode | 'other'
  /** Absent when nothing was sent now: an earlier attempt never reported back, or the call is from before a restore. */
  readonly ms?: number
}
