import type { ChunkRecorder, Router } from '../engine/performing/effect-runner.ts'
import type { ServiceLimits } from '../engine/performing/throttle.ts'
import type { Clock } from '../runtime/clock.ts'
import { dayMs, isWithin } from '../vocabulary/instant.ts'
import type { Instant } from '../vocabulary/message.ts'
import type { Performers } from '../vocabulary/performer.ts'
import type { Figures } from './figures.ts'
import type { HealthChecks } from './health-check.ts'
import type { IndexRows } from './keyed-index.ts'

/**
 * An area of the API: its methods, and what it contributes to the loops that perform, run and check. The loops go over
 * all modules and name none.
 */
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
  readonly performers?: Performers
  /** The request limits of a service, by the prefix of its effect types. */
  readonly limits?: Readonly<Record<string, ServiceLimits>>
  /** Find the streams that a fact concerns, by fact type. */
  readonly routers?: Readonly<Record<string, Router>>
  /** Record large answers in portions, by fact type. */
  readonly chunkRecorders?: Readonly<Record<string, ChunkRecorder>>
  readonly jobs?: readonly Job[]
  /** Logs what needs a person's attention, each alert once. */
  readonly logAlerts?: () => Promise<void>
  readonly checks?: HealthChecks
  /** Lists what will happen by itself until an instant. */
  readonly due?: (until: Instant) => Promise<readonly DueItem[]>
  /** Its part of the numbers for metrics. */
  readonly figures?: () => Promise<Partial<Figures>>
  /** Creates, for one rebuild of the keyed index, the row makers by event type. */
  readonly indexRows?: () => Readonly<Record<string, IndexRows>>
}

/**
 * Work that becomes due with time. The log says when it is due, so a restart loses nothing: what was missed while no
 * process ran is done once, at once.
 */
export interface Job {
  readonly name: string
  /** Runs once when a process starts, before it writes anything else. */
  readonly begin?: () => Promise<void>
  /** Does what is due. Called every minute while a process runs, and by `settle`. */
  readonly runDue: () => Promise<void>
}

/** Limits work to once a day in this process. */
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
