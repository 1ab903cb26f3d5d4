import { AverbaError } from '../../vocabulary/errors.ts'

// The mistakes that a host can make in a query of its own.

export function readOnlyError(cannot: string, cause?: unknown): AverbaError {
  const hint = 'Query them with selectFrom or with. Only events of the log change their rows'
  return new AverbaError('INVALID_INPUT', `${cannot}: views can only be read`, { cause, hint })
}

export function unknownNameError(cause: unknown): AverbaError {
  const cannot = 'Cannot run this statement: it names a view or column that does not exist'
  const hint = 'averba doctor lists the views. The type Views has their columns'
  return new AverbaError('INVALID_INPUT', cannot, { cause, hint })
}

/** The error for a parameter that SQLite cannot hold. */
export function parameterError(): AverbaError {
  return new AverbaError('INVALID_INPUT', 'Cannot run this statement: a parameter is no text, number, bytes or null', {
    hint: 'Give an instant as its text, a boolean as 0 or 1, and a whole number of more than 64 bits as its text',
  })
}

/** The error for too few or too many values of parameters. */
export function parameterCountError(cause?: unknown): AverbaError {
  const cannot = 'Cannot run this statement: its parameters and their values differ in number'
  return new AverbaError('INVALID_INPUT', cannot, { cause, hint: 'Give one value for each parameter, in their order' })
}

/** The error for a number in a row that JavaScript cannot hold. */
export function largeNumberError(cause: unknown): AverbaError {
  const hint = 'Select numbers beyond 2 ** 53 as text: cast(<number> as text)'
  return new AverbaError('INVALID_INPUT', 'Cannot run this statement: a number of its result is too large', {
    cause,
    hint,
  })
}

/** The error for wrong syntax, an unknown function, more than one statement, or values that it cannot work with. */
export function malformedError(cause: unknown): AverbaError {
  const hint = 'Pass one query, with functions that the database has. The cause says what is wrong'
  return new AverbaError('INVALID_INPUT', 'Cannot run this statement: the database cannot run it', { cause, hint })
}
