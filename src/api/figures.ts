import type { InFlight } from '../engine/recording/recorder.ts'
import type { EffectState, Instant } from '../vocabulary/message.ts'
import type { EffectClass } from '../vocabulary/performer.ts'
import type { ServiceName } from '../vocabulary/service-name.ts'

/** The state of averba in numbers, for metrics. It contains no personal data. */
export interface Figures {
  /** The end of the log. */
  readonly position: number
  /** Calls that have not ended. `other` counts those that this process does not know or is not configured for. */
  readonly effects: readonly PendingFigure[]
  /** Commands and facts that this process is recording or has queued. At `max` more are refused or wait. */
  readonly underWay: InFlight
  /** How many events each view is behind the log. */
  readonly views: readonly { readonly view: string; readonly behind: number; readonly isRunning: boolean }[]
  readonly followers: { readonly count: number; readonly parked: number; readonly behindMax: number }
  /**
   * Notifications for which a handler failed: those to be retried, and those that wait for a person. Null while their
   * view is stopped.
   */
  readonly notifications: HandlerTroubles | null
  readonly readings: {
    /** The newest reading of any subject's consents. Both are also null while the view of data subjects is stopped. */
    readonly newestAt: Instant | null
    /** The oldest last reading, or enrolment before the first reading, of the subjects that are read on a schedule. */
    readonly oldestAt: Instant | null
  }
}

/** How many notifications a handler failed for. */
export interface HandlerTroubles {
  readonly failing: number
  readonly parked: number
}

/** Calls of one service, class and state. */
export interface PendingFigure {
  readonly service: ServiceName | 'other'
  readonly effectClass: EffectClass | 'other'
  readonly state: EffectState
  readonly count: number
}
