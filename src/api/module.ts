import type { ChunkRecordersOf, RoutersOf } from '../engine/performing/effect-runner.ts'
import type { ServiceLimits } from '../engine/performing/throttle.ts'
import type { InFlight } from '../engine/recording/recorder.ts'
import type { Clock } from '../runtime/clock.ts'
import { dayMs, isWithin } from '../vocabulary/instant.ts'
import type { EffectState, Instant, Json, RecordedEvent } from '../vocabulary/message.ts'
import type { ServiceName } from '../vocabulary/names.ts'
import type { EffectClass, PerformersOf } from '../vocabulary/performer.ts'
import type { EffectTypes } from './effect-types.ts'
import type { Events, Recorded } from './events.ts'
import type { HandlerTroubles, HealthChecks } from './health-check.ts'

/** An area of the API: its methods, and what it adds to the loops that perform, run and check, which name no module. */
export interface Module<Methods = unknown> {
  /** Its methods, as members of `Averba`. */
  readonly methods: Methods
  /**
   * Checks that the log fits the options, before anything is written to it.
   *
   * @throws {AverbaError} `MISCONFIGURED`
   */
  readonly checkLog?: () => Promise<void>
  /** The performers of its effects, by effect type. */
  readonly performers?: Partial<PerformersOf<EffectTypes>>
  /** The request limits of a service, by the prefix of its effect types. */
  readonly limits?: Readonly<Record<string, ServiceLimits>>
  /** Find the streams that a fact concerns, by fact type. */
  readonly routers?: RoutersOf<EffectTypes>
  /** Record large answers in portions, by fact type. */
  readonly chunkRecorders?: ChunkRecordersOf<EffectTypes>
  readonly jobs?: readonly Job[]
  /** Logs what needs a person's attention, each alert once. */
  readonly logAlerts?: () => Promise<void>
  readonly checks?: HealthChecks
  /** Lists what will happen by itself until an instant. */
  readonly due?: (until: Instant) => Promise<readonly DueItem[]>
  /** Its part of the numbers for metrics. */
  readonly figures?: () => Promise<Partial<Figures>>
  /** Creates, for one rebuild of the keyed index, the row makers by event type. */
  readonly indexRows?: () => IndexRowsByType
}

/** Work that becomes due. The log says when, so what was missed while no process ran is done once, at once. */
export interface Job {
  readonly name: string
  /** Runs once when a process starts, before it writes anything else. */
  readonly begin?: () => Promise<void>
  /** Does what is due. Called by `settle`, and while a process runs, at most once a minute. */
  readonly runDue: () => Promise<void>
  /** When something becomes due without a new event. Without it, that may be noticed ten minutes later. */
  readonly nextAt?: () => Promise<number>
}

export function daily(clock: Clock, work: () => Promise<unknown>): () => Promise<void> {
  let doneAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (isWithin(dayMs, doneAt, clock.now())) return
    doneAt = clock.now()
    await work()
  }
}

/** Something that will happen by itself unless something else happens first. */
export interface DueItem {
  /**
   * - `call`: a pending or deferred call is sent.
   * - `sync`: the consents of a person are read again.
   * - `recovery`: the portal's failures and list are read.
   * - `expiry`: a consent reaches its `dataExpiracao`.
   * - `deletion`: the portal deletes a subscription that has only had errors (document 3, section 7).
   */
  readonly what: 'call' | 'sync' | 'recovery' | 'expiry' | 'deletion'
  readonly at: Instant
  /** The call's id, or the stream of the consent or the subscription. */
  readonly id: string
}

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
  /** Notifications whose handler failed: to be retried, or for a person. Null while their view is stopped. */
  readonly notifications: HandlerTroubles | null
  /** When the portal last delivered to an active subscription of ours, as it was last listed. */
  readonly deliveries: { readonly lastSuccessAt: Instant | null }
  readonly readings: {
    /** The newest reading of any subject's consents. Both are also null while the view of data subjects is stopped. */
    readonly newestAt: Instant | null
    /** The oldest last reading, or enrolment before the first reading, of the subjects that are read on a schedule. */
    readonly oldestAt: Instant | null
  }
}

/** Calls of one service, class and state. */
export interface PendingFigure {
  readonly service: ServiceName | 'other'
  readonly effectClass: EffectClass | 'other'
  readonly state: EffectState
  readonly count: number
}

/** A row of the keyed index, before its text is turned into a digest. */
export interface IndexRow {
  readonly kind: string
  readonly text: string
  readonly value: string
}

/** Opens a part of the event, or of another one; `undefined` when it was destroyed. */
export type Opener = (name: string, of?: string) => Promise<Json | undefined>

export type IndexRows<R extends RecordedEvent = RecordedEvent> = {
  // A method, so that it can be kept among those of other types.
  rows(event: R, open: Opener): readonly IndexRow[] | Promise<readonly IndexRow[]>
}['rows']

export type IndexRowsByType = { readonly [T in keyof Events]?: IndexRows<Recorded<T>> }

/** Returns one row, or none when its text or its value is missing. */
export function indexRow(
  kind: string,
  found: Json | undefined,
  value: string | undefined,
  textOf: (found: string) => string = text => text,
): IndexRow[] {
  return typeof found === 'string' && value !== undefined ? [{ kind, text: textOf(found), value }] : []
}

/** The service's id of a record, as text. */
export function remoteIdIn(record: Json | undefined): string | undefined {
  if (typeof record !== 'object' || record === null || !('id' in record)) return undefined
  const { id } = record
  return typeof id === 'string' || typeof id === 'number' ? String(id) : undefined
}
