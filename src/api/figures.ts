import type { InFlight } from '../engine/recording/recorder.ts'
import type { EffectState, Instant } from '../vocabulary/message.ts'
import type { EffectClass } from '../vocabulary/performer.ts'
import type { ServiceName } from '../vocabulary/service-name.ts'

/** Where averba stands, in numbers: for metrics. Nothing in it names anybody. */
export interface Figures {
  /** The end of the log. */
  readonly position: number
  /** Calls that have not ended. `other` is what this process does not know or is not configured for. */
  readonly effects: readonly PendingFigure[]
  /** Commands and facts that this process records, or that wait for it. At `max` they are turned away or wait. */
  readonly underWay: InFlight
  /** How many events each view is behind the log. */
  readonly views: readonly { readonly view: string; readonly behind: number; readonly isRunning: boolean }[]
  readonly followers: { readonly count: number; readonly parked: number; readonly behindMax: number }
  /**
   * Notifications that a handler failed at: those that are tried again, and those that wait for a person; null while
   * their view stands still.
   */
  readonly notifications: HandlerTroubles | null
  readonly readings: {
    /** When consents were last read, of anybody. Both are null while the view of data subjects stands still, too. */
    readonly newestAt: Instant | null
    /**
     * The reading, or the enrolment of a subject never read, that is the longest ago among those that are read by
     * themselves.
     */
    readonly oldestAt: Instant | null
  }
}

/** How many notifications a handler failed at. */
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
