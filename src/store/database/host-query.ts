import { AverbaError } from '../../vocabulary/errors.ts'

// The mistakes that a host can make in a query of its own.

export function readOnlyError(cannot: string, cause?: unknown): AverbaError {
  return new AverbaError('INVALID_INPUT', `${cannot}: views can only be read`, {
    cause,
    hint: 'Query them with selectFrom or with. Only events of the log change their rows',
  })
}

export function unknownNameError(cause: unknown): AverbaError {
  return new AverbaError('INVALID_INPUT', 'Cannot run this statement: it names a view or column that does not exist', {
    cause,
    hint: 'averba doctor lists the views. The type Views has their columns',
  })
}

/** The error for a parameter of a type that SQLite does not have. */
export function parameterError(): AverbaError {
  return new AverbaError('INVALID_INPUT', 'Cannot run this statement: a parameter is no text, number, bytes or null', {
    hint: 'Give an instant as its text, and a boolean as 0 or 1',
  })
}

/** The error for wrong syntax, an unknown function, or more than one statement. */
export function malformedError(cause: unknown): AverbaError {
  return new AverbaError('INVALID_INPUT', 'Cannot run this statement: the database cannot read it', {
    cause,
    hint: 'Pass one query, with functions that the database has. The cause says what it cannot read',
  })
}
