import { AverbaError } from '../../vocabulary/errors.ts'

const hint = 'Check the log with averba doctor --deep, keep the file unchanged and restore a backup beside it'

/** The error for a log that contradicts itself. */
export function damagedLogError(message: string): AverbaError {
  return new AverbaError('CORRUPT', message, { hint })
}

/** One event cannot be read. Work that does not need it can continue. */
export class DamagedEvent extends AverbaError {
  override readonly name = 'DamagedEvent'
  readonly position: number | undefined
  readonly #reason: string

  constructor(reason: string, { cause, position }: { cause?: unknown; position?: number | undefined } = {}) {
    const what = position === undefined ? 'an event' : `the event at position ${position}`
    super('CORRUPT', `Cannot read ${what}: ${reason}`, { ...(cause !== undefined && { cause }), hint })
    this.#reason = reason
    this.position = position
  }

  /** Copies the error with a position, for a caller that knows it. */
  withPosition(position: number | undefined): DamagedEvent {
    return new DamagedEvent(this.#reason, { cause: this, position })
  }
}
