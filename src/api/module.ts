import type { ChunkRecorder, Router } from '../engine/performing/effect-runner.ts'
import type { ServiceLimits } from '../engine/performing/throttle.ts'
import type { Clock } from '../runtime/clock.ts'
import { dayMs, isWithin } from '../vocabulary/instant.ts'
import type { Instant } from '../vocabulary/message.ts'
import type { Performers } from '../vocabulary/performer.ts'
import type { HealthChecks } from './check.ts'
import type { Figures } from './figures.ts'
import type { IndexRows } from './keyed-index.ts'

/**
 * An area of the API as the composition knows it: its methods, and what it brings to the loops that perform, run, check
 * and show. No loop names an area.
 */
export interface Module<Methods = unknown> {
  /** Its methods, as members of `Averba`. */
  readonly methods: Methods
  /**
   * Refuses a log that does not fit the options, before anything is written to it.
   *
   * @throws {AverbaError} `MISCONFIGURED`
   */
  readonly checkLog?: () => Promise<void>
  /** What performs its effects, by their type. */
  readonly performers?: Performers
  /** How much of a service is used at most, by the name that its effects begin with. */
  readonly limits?: Readonly<Record<string, ServiceLimits>>
  /** Which streams a fact concerns, by the type of the fact. */
  readonly routers?: Readonly<Record<string, Router>>
  /** What records large answers in portions, by the type of the fact. */
  readonly chunkRecorders?: Readonly<Record<string, ChunkRecorder>>
  /** What is done because time has passed. */
  readonly jobs?: readonly Job[]
  /** What a person has to know by now is told to the logger, once. */
  readonly tell?: () => Promise<void>
  /** What a look at it finds, by the name of the check; `undefined` where the options do not concern it. */
  readonly checks?: HealthChecks
  /** What will happen by itself until an instant. */
  readonly due?: (until: Instant) => Promise<readonly DueItem[]>
  /** Its part of the numbers for metrics. */
  readonly figures?: () => Promise<Partial<Figures>>
  /** Makes, for one rebuild of the keyed index, what each type of its events adds to it. */
  readonly indexRows?: () => Readonly<Record<string, IndexRows>>
}

/**
 * Something that is done because time has passed. When it is due follows from the log, so that it survives everything
 * that the log survives: what was missed while no process ran is done once, at once.
 */
export interface Job {
  readonly name: string
  /** Done once when a process begins to run, before it writes anything else. */
  readonly begin?: () => Promise<void>
  /** Does what is due. Asked every minute while a process runs, and by `settle`. */
  readonly look: () => Promise<void>
}

/** Work that is done at most once a day by this process, however often it is asked for. */
export function daily(clock: Clock, work: () => Promise<unknown>): () => Promise<void> {
  let doneAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (isWithin(dayMs, doneAt, clock.now())) return
    doneAt = clock.now()
    await work()
  }
}

/** Something that will happen by itself if nothing else does. */
export interface DueItem {
  /**
   * - `call`: a call that is owed, or put off, goes.
   * - `sync`: the consents of a person are read again.
   * - `recovery`: the portal's failures and list are read.
   * - `expiry`: a consent's `dataExpiracao` comes.
   * - `deletion`: the portal deletes a subscription that has had nothing but errors (document 3, section 7).
   */
  readonly what: 'call' | 'sync' | 'recovery' | 'expiry' | 'deletion'
  readonly at: Instant
  /** The call's id, or the stream of the consent or the subscription. */
  readonly id: string
}
