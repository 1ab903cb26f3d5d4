import type { Clock } from '../../runtime/clock.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Connection, Steps } from './connection.ts'

/** A table of a server cannot be replaced or dropped while somebody reads it, such as a long report. */
export class TableInUseError extends AverbaError {
  constructor(name: string, cause: unknown) {
    super('STORE_BUSY', `Cannot use ${name}: another session reads or changes a table`, {
      cause,
      hint: 'Wait for the end of a long report, and try again',
    })
  }
}

const triesMax = 600
const pauseMs = 1_000

/**
 * Runs steps in a write transaction, again and again while somebody reads a table that they replace: those who wait
 * behind a transaction must not wait for a report too. Gives up after ten minutes.
 */
export async function transactWhenFree<T>(
  connection: Pick<Connection, 'transact'>,
  clock: Clock,
  steps: () => Steps<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await connection.transact(steps)
    } catch (error) {
      if (!(error instanceof TableInUseError) || tries === triesMax) throw error
      await clock.sleep(pauseMs, undefined, 'the end of a report')
    }
  }
}
