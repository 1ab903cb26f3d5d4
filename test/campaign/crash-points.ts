/** Where the engine can be made to die, by name. */
export const crashPoints = [
  /** A transaction is about to begin. */
  'append.before',
  /** Everything is written and nothing is durable. */
  'append.unfinished',
  /** It is durable, and nobody has been told. */
  'append.after',
  /** A request is about to leave. */
  'request.before',
  /** The service has answered, and the answer has not been looked at. */
  'request.after',
  /** A follower is about to be called for an event. */
  'follower.before',
  /** A follower has done its work, and its place is where it was. */
  'follower.after',
  /** The same for a handler of notifications. */
  'handler.before',
  'handler.after',
  /** A notification has arrived. */
  'delivery.before',
  /** It is stored, and the portal has not been answered. */
  'delivery.after',
] as const

export type CrashPoint = (typeof crashPoints)[number]

/** Which crash is to come: where, and how often that place is passed before. */
export interface Crash {
  readonly point: CrashPoint
  readonly skip: number
}

/** The crash that is to come, if any. */
export class CrashPoints {
  #coming: { point: CrashPoint; left: number } | undefined
  readonly #onHit: (point: CrashPoint) => void

  constructor(onHit: (point: CrashPoint) => void) {
    this.#onHit = onHit
  }

  arm({ point, skip }: Crash): void {
    this.#coming = { point, left: skip }
  }

  disarm(): void {
    this.#coming = undefined
  }

  /** Reports whether the engine dies here. */
  isHit(point: CrashPoint): boolean {
    const coming = this.#coming
    if (coming?.point !== point) return false
    if (coming.left > 0) {
      coming.left -= 1
      return false
    }
    this.#coming = undefined
    this.#onHit(point)
    return true
  }
}
