/** The points at which the engine can crash. */
export const crashPoints = [
  /** A transaction is about to begin. */
  'append.before',
  /** Everything is written, but not durable yet. */
  'append.unfinished',
  /** It is durable, but not reported yet. */
  'append.after',
  /** A request is about to be sent. */
  'request.before',
  /** The service has answered, but the answer is not read yet. */
  'request.after',
  /** A follower is about to be called for an event. */
  'follower.before',
  /** A follower has done its work, but its position is not saved yet. */
  'follower.after',
  /** The same for a handler of notifications. */
  'handler.before',
  'handler.after',
  /** A notification has arrived. */
  'delivery.before',
  /** It is stored, but the portal has no answer yet. */
  'delivery.after',
] as const

export type CrashPoint = (typeof crashPoints)[number]

/** A planned crash: its point, and how often the engine passes it before. */
export interface Crash {
  readonly point: CrashPoint
  readonly skip: number
}
