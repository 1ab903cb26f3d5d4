import type { RecordedEvent } from '../../src/vocabulary/message.ts'
import type { ServiceName } from '../../src/vocabulary/names.ts'
import type { SimulatedHost } from './simulated-host.ts'

/** An answered command: its answer must not change. */
export interface AcknowledgedCommand {
  readonly commandId: string
  readonly position: number
  readonly status: string
  /** A person resolved it: a late answer of the service may still change the outcome. */
  readonly isVerdict: boolean
  readonly again: () => Promise<{ readonly position: number; readonly status: string }>
}

/** A notification that the portal sent. `number` identifies it in its body. */
export interface SentNotification {
  /** The recipient, if it is a natural person. */
  readonly cpf: string | undefined
  readonly number: string
  /** The number of subscriptions with a successful and with a failed delivery. */
  readonly delivered: number
  readonly failed: number
}

export interface ConsentUse {
  readonly cpf: string
  readonly id: string
  /** The times of the request and of the answer. */
  readonly began: number
  readonly at: number
  readonly ageMaxMs: number | undefined
}

/** The events of a run, which checks listen to. */
export interface RunEvents {
  /** A service answered, so its work is done, even if the client never gets the answer. */
  served: [service: ServiceName, request: Request, response: Response]
  /** A request ended, as the engine's client saw it. */
  exchanged: [request: Request, response: Response | undefined]
  /** The receiver answered a notification. */
  received: [request: Request, response: Response]
  died: []
  /** The host got the answer of a command. */
  acknowledged: [acknowledged: AcknowledgedCommand]
  /** A reading of all consents of a person succeeded; it began at `since`. */
  read: [cpf: string, since: number]
  used: [used: ConsentUse]
  /** The follower was called; `done` after its work has ended. */
  followed: [event: RecordedEvent, done: boolean]
  /** A notification handler has done its work. */
  handled: [number: string]
  sent: [sent: SentNotification]
  /** An event is in the log; each is reported once, in order. */
  recorded: [event: RecordedEvent]
  /** The text of that event's header. */
  header: [text: string]
  /** A data subject was erased completely. */
  erased: [cpf: string]
  /** The log was restored from a backup, made at a time, with the log up to a position. */
  rolledBack: [to: { readonly position: number; readonly at: number }]
  failed: [error: unknown]
}

export type RunListeners = { readonly [H in keyof RunEvents]?: (...what: RunEvents[H]) => void }

/** A condition that must hold in a run. `end` is called when the faults have ended and everything has settled. */
export type Check = RunListeners & { readonly end?: () => Promise<void> }

/** Creators of the checks of one run, by name. Each calls `report` for each failure. */
export type Checks = Readonly<Record<string, (simulated: SimulatedHost, report: (failure: string) => void) => Check>>
