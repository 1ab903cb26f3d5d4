import type { RecordedEvent } from '../vocabulary/message.ts'
import type { EffectClass } from '../vocabulary/performer.ts'

/** What averba tells of its own work while it does it, beside events: for screens and metrics, in this process. */
export interface EngineEvents {
  /** Any event that this process recorded. */
  recorded: RecordedEvent
  /** A transaction that this process committed. The event loop stood still for that time. */
  committed: { readonly ms: number }
  /** An attempt at a call that ended. */
  attempted: AttemptReport
  /** A request to the receiver that was answered, with its HTTP status. */
  answered: { readonly status: number; readonly ms: number }
}

/** How one attempt at a call ended. */
export interface AttemptReport {
  /** The type of the effect, such as `consentService.changeStatus`. */
  readonly operation: string
  readonly effectClass: EffectClass
  /** Counted from 1. */
  readonly attempt: number
  /** `deferred` is certainly not done, `unknown` perhaps. */
  readonly outcome: 'settled' | 'declined' | 'deferred' | 'unknown'
  /** Absent where the attempt never reported back. */
  readonly ms?: number
}
