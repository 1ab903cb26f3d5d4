import { AverbaError } from '../../vocabulary/errors.ts'

/** The error for what would do anything with views but read them. */
export function onlyRead(cannot: string): AverbaError {
  return new AverbaError('INVALID_INPUT', `${cannot}: views can only be read`, {
    hint: 'Query them with selectFrom or with: what they show is changed by the events of the log alone',
  })
}
