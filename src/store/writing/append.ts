import { logStream, type logTypes } from '../../proof/log-stream.ts'
import type {
  Actor,
  Basis,
  DecisionInput,
  Event,
  Instant,
  Parts,
  RecordedEvent,
  Settlement,
} from '../../vocabulary/message.ts'
import type { EffectMove } from '../ledger/ledger.ts'
import type { DestroyedWith } from './destruction.ts'
import type { RecentDigest } from './recent-digests.ts'

/** What a stream must look like: not there, there, at a version, or anything. */
export type StreamExpectation = 'none' | 'exists' | 'any' | number

/** An event to append, with the parts that go with it. */
interface NewEvent {
  readonly event: Event
  readonly causedBy: string
  /** What replay needs of the command or fact. */
  readonly input?: DecisionInput
  readonly machine: { readonly name: string; readonly version: number }
  readonly parts?: Parts
}

/** A stream with the state that it must be in. A name that was made just now cannot exist yet: it is not looked up. */
export interface ExpectedStream {
  readonly stream: string
  readonly expect: StreamExpectation
  readonly isNew?: boolean
}

/** One indivisible append. */
export interface Append {
  readonly at: Instant
  /** Every stream that is written, and every other one that the decision rests on. */
  readonly streams: readonly ExpectedStream[]
  readonly events: readonly (NewEvent & { readonly stream: string })[]
  readonly about?: { commandId?: string; correlationId?: string; actor?: Actor; basis?: Basis }
  /** What to remember of the command: asked for again, it gives the same answer. */
  readonly receipt?: AskedReceipt
  /** The stream that it is about, where it writes to none. */
  readonly concerns?: string
  /** The effect that the last event ends. It must still be open. */
  readonly settles?: { readonly effect: string; readonly as: Settlement; readonly reason: string }
  /** The effect that the last event puts off, parks, releases, or begins an attempt at. */
  readonly moves?: EffectMove
  /** Keyed digests to be given a value. Each must have the expected value now, or none. */
  readonly claims?: readonly IndexEntry[]
  /** A digest under which nothing may have been recorded recently; a later append under the same fails in turn. */
  readonly recent?: RecentDigest
  /** What is destroyed with it: parts that are there; of an erased person, nothing was recorded meanwhile. */
  readonly destroys?: DestroyedWith
  /**
   * What becomes of a fact whose owner was erased: it conflicts, to be delivered again under another owner, or is
   * recorded without parts and claims. A command is refused.
   */
  readonly whenErased?: 'conflict' | 'bare'
}

/** A keyed digest to be given a value; `replaces` is its value until then. */
export interface IndexEntry {
  readonly kind: string
  readonly digest: Uint8Array
  readonly value: string
  readonly replaces?: string
}

/** What is remembered of a command. */
export interface NewReceipt {
  readonly commandId: string
  readonly digest: Uint8Array
  readonly code: 'accepted' | 'refused'
  /** Why it was refused. */
  readonly detail: string
}

/** The receipt that an append asks for. An id that was made just now cannot be known yet: it is not looked up. */
export type AskedReceipt = NewReceipt & { readonly isNew?: boolean }

/** A receipt as it was kept. `effect` is empty when the command owed none. */
export interface Receipt extends NewReceipt {
  readonly effect: string
  readonly position: number
  /** What the command was about, where it recorded nothing; else empty. */
  readonly stream: string
}

/** What became of an append: done, or why nothing at all was written. */
export type Appended =
  | { readonly status: 'appended'; readonly position: number; readonly events: readonly RecordedEvent[] }
  | { readonly status: 'conflict'; readonly reason: string }
  | { readonly status: 'known'; readonly receipt: Receipt }

/** An event with everything that goes into the tables with it. */
export interface StagedEvent {
  readonly recorded: RecordedEvent
  readonly stream: number
  readonly header: string
  readonly leaf: Uint8Array
  readonly parts: readonly { readonly name: string; readonly owner: number; readonly sealed: Uint8Array }[]
}

type LogEvent = Append['events'][number]

/** An event that the log records of itself, with the command that made it: no chart decides it. */
export function logEvent(type: (typeof logTypes)[number], causedBy: string, data: unknown): LogEvent {
  return { stream: logStream, event: { type, data }, causedBy, machine: { name: 'log', version: 1 } }
}
