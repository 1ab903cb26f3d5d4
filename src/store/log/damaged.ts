import { AverbaError } from '../../vocabulary/errors.ts'

const hint = 'Look at it with averba doctor --deep, keep the file as it is, and restore a backup beside it'

/** The error for a log that contradicts itself. */
export function damaged(message: string): AverbaError {
  return new AverbaError('CORRUPT', message, { hint })
}

/** One event cannot be read: what does without it goes on. */
export class DamagedEvent extends AverbaError {
  override readonly name = 'DamagedEvent'
  /** Where it stands, as far as that is known. */
  readonly position: number | undefined
  readonly #why: string

  constructor(why: string, { cause, position }: { cause?: unknown; position?: number | undefined } = {}) {
    const which = position === undefined ? 'an event' : `the event at position ${position}`
    super('CORRUPT', `Cannot read ${which}: ${why}`, { ...(cause !== undefined && { cause }), hint })
    this.#why = why
    this.position = position
  }

  /** The same, with the position, for whoever knows it. */
  at(position: number | undefined): DamagedEvent {
    return new DamagedEvent(this.#why, { cause: this, position })
  }
}
