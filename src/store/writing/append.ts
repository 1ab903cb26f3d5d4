import { logStream, type logTypes } from '../../proof/recorded-header.ts'
import type {
  Actor,
  Basis,
  DecisionInput,
  EffectState,
  Event,
  Instant,
  Parts,
  RecordedEvent,
} from '../../vocabulary/message.ts'
import type { AttemptEnd, EffectMove } from '../ledger/effect-row.ts'
import type { IndexValue } from '../log/keyed-index.ts'
import type { Destruction } from './destruction.ts'
import type { RecentDigest } from './writer-cache.ts'

/** The state that a stream must be in: missing, existing, any, or at a version. */
export type StreamExpectation = 'none' | 'exists' | 'any' | number

interface NewEvent {
  readonly stream: string
  readonly event: Event
  readonly causedBy: string
  readonly input?: DecisionInput
  readonly machine: { readonly name: string; readonly version: number }
  readonly parts?: Parts
}

/** A stream with the state that it must be in. With `isNew` its name was just created, so it is not looked up. */
export interface ExpectedStream {
  readonly stream: string
  readonly expect: StreamExpectation
  readonly isNew?: boolean
}

export interface Append {
  readonly at: Instant
  /** Every stream that is written, and every other stream that the decision depends on. */
  readonly streams: readonly ExpectedStream[]
  readonly events: readonly NewEvent[]
  /** The position that the log must end at: it conflicts when anything was recorded since. */
  readonly end?: number
  readonly about?: { commandId?: string; correlationId?: string; actor?: Actor; basis?: Basis }
  /** The receipt to store, so that a repeated command gets the same answer. */
  readonly receipt?: NewReceipt
  /** The stream that an append without events is about. */
  readonly concerns?: string
  /** The effect that ends with the first event of the last decision, and the attempt that ended it: see `canEnd`. */
  readonly settles?: AttemptEnd
  /** The effect that the same event defers, parks, releases, or begins an attempt at. */
  readonly moves?: EffectMove
  /** The states that an effect which an event cancels may be in. By default any in which it has not ended. */
  readonly cancelsFrom?: readonly EffectState[]
  /** Values to store under keyed digests. Each digest must have the value `replaces` now, or none. */
  readonly indexEntries?: readonly IndexEntry[]
  /** A digest for deduplication: the append conflicts when one with the same digest was recorded recently. */
  readonly recent?: RecentDigest
  /** The data to destroy. Its parts must exist, and nothing of an erased person may have been recorded meanwhile. */
  readonly destroys?: Destruction
  /**
   * How to append what has an erased owner: as a conflict, to be recorded again under another owner; not at all, as
   * commands are; or (by default) without parts and index entries.
   */
  readonly whenErased?: 'conflict' | 'refuse'
}

/** A value to store under a keyed digest. `replaces` is its present value. */
export interface IndexEntry extends IndexValue {
  readonly replaces?: string
}

export interface NewReceipt {
  readonly commandId: string
  readonly digest: Uint8Array
  readonly code: 'accepted' | 'refused'
  /** Why it was refused; empty when accepted. */
  readonly detail: string
}

/** A stored receipt. `effect` is the command's first effect; empty without one. */
export interface Receipt extends NewReceipt {
  readonly effect: string
  readonly position: number
  /** The stream that a command without events was about; empty for others. */
  readonly stream: string
}

/** The result of an append. For `conflict` and `known` nothing was written. */
export type Appended =
  | { readonly status: 'appended'; readonly position: number; readonly events: readonly RecordedEvent[] }
  | { readonly status: 'conflict'; readonly reason: string }
  | { readonly status: 'known'; readonly receipt: Receipt }

/** An event ready to insert, with its header, leaf hash and sealed parts. */
export interface StagedEvent {
  readonly recorded: RecordedEvent
  readonly stream: number
  readonly header: string
  readonly leaf: Uint8Array
  readonly tag: string
  readonly parts: readonly { readonly name: string; readonly owner: number; readonly sealed: Uint8Array }[]
}

/** Builds an event about the log itself. No machine decides these. */
export function logEvent(type: (typeof logTypes)[number], causedBy: string, data: unknown): NewEvent {
  return { stream: logStream, event: { type, data }, causedBy, machine: { name: 'log', version: 1 } }
}
