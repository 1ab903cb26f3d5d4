import type { Effect } from '../message.ts'
import type { ConsentEvent } from './consent-events.ts'
import { type Held, resolution } from './consent-readings.ts'
import type { RequestableStatus } from './consent-status.ts'

/**
 * What became of a change is not known, and found by a reading in full; unless a list has told already, while nobody knew
 * that the process that made it had died.
 */
export function lostChange(
  { reading, isQuiet }: Held,
  { status }: { readonly status?: RequestableStatus },
  read: Effect,
): ConsentEvent {
  const follows = isQuiet ? resolution(reading.status === status) : { effects: [read] }
  return { type: 'consent.changeLost', data: {}, ...follows }
}
