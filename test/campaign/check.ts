import type { RecordedEvent } from '../../src/vocabulary/message.ts'
import type { ServiceName } from '../../src/vocabulary/service-name.ts'
import type { Box } from './box.ts'

/** A command that was answered: from then on the answer stands. */
export interface Acknowledged {
  readonly commandId: string
  readonly position: number
  readonly status: string
  /** It rests on what a person found out: an answer that comes late is believed all the same. */
  readonly isVerdict: boolean
  /** The same command once more. */
  readonly again: () => Promise<{ readonly position: number; readonly status: string }>
}

/** A notification that the portal sent: `number` is in its body, and in no other. */
export interface Sent {
  /** The person whom it was for, where it was one. */
  readonly cpf: string | undefined
  readonly number: string
  readonly evento: string
  /** Of the subscriptions that it went to, how many took it and how many did not. */
  readonly delivered: number
  readonly failed: number
}

/** A use of a consent that was let through. */
export interface Used {
  readonly cpf: string
  readonly id: string
  /** When it was asked for, and when it was let through. */
  readonly began: number
  readonly at: number
  readonly ageMaxMs: number | undefined
}

/** What a run tells its checks of, as it happens. */
export interface Happenings {
  /** A service answered: the work is done there, whoever hears of it. */
  served: [service: ServiceName, request: Request, response: Response]
  /** A request of the engine ended as its client saw it. */
  exchanged: [request: Request, response: Response | undefined]
  /** The receiver answered. */
  received: [request: Request, response: Response]
  /** The engine died. */
  died: []
  /** The host was told that a command is done. */
  acknowledged: [acknowledged: Acknowledged]
  /** A reading of all consents of a person ended well that began at a time. */
  read: [cpf: string, since: number]
  used: [used: Used]
  /** A follower was called; `done` when its work has ended. */
  followed: [name: string, event: RecordedEvent, done: boolean]
  /** A handler of notifications has done its work. */
  handled: [number: string]
  sent: [sent: Sent]
  /** An event stands in the log; told once, in their order. */
  recorded: [event: RecordedEvent]
  /** The same, byte for byte. */
  header: [text: string]
  /** A data subject was erased, with everything there was. */
  erased: [cpf: string]
  /** A backup that was made at a time, with the log up to a position, was put in the place of the log. */
  rolledBack: [to: { readonly position: number; readonly at: number }]
  /** The host caught an error of ours. */
  failed: [error: unknown]
}

/** Something that has to hold: what happens is told to it, and in the end it looks for itself. */
export interface Check extends Listeners {
  /** Called when the faults are over and everything has settled. */
  readonly end?: () => Promise<void>
}

export type Listeners = { readonly [H in keyof Happenings]?: (...what: Happenings[H]) => void }

/** Makes a check for one run. What it finds wrong it says, in words. */
export type MakeCheck = (box: Box, say: (wrong: string) => void) => Check
