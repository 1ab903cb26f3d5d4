/**
 * The codes of averba's errors: promises to hosts, never reused for another meaning.
 *
 * - `MISCONFIGURED`: an option is missing or cannot work.
 * - `SERVICE_NOT_CONFIGURED`: a call to an area whose service has no options.
 * - `INVALID_INPUT`: an argument that no service could accept.
 * - `INVALID_CPF`, `INVALID_CNPJ`: wrong form or check digits.
 * - `PERSONAL_ID`: an id given by the host that holds a CPF.
 * - `NOT_FOUND`: nothing is known under what was given.
 * - `REFUSED`: the state forbids the command; no request has left.
 * - `CONFLICT`: someone appended first, again and again.
 * - `OUTCOME`: an outcome other than `settled`, turned into an error by `valueOf`.
 * - `COMMAND_REUSED`: the command id was used before with another input.
 * - `BUDGET_SPENT`: as many paid calls as the host allows for a day were asked for; no request has left.
 * - `CONSENT_NOT_EFFECTIVE`: data was to be used under a consent that does not stand; the refusal is recorded.
 * - `SUBJECT_ERASED`: the data subject was erased: nothing more is done or told of them.
 * - `STALE_PLAN`, `PLAN_DELETES`: a plan that no longer fits, or that deletes without leave.
 * - `BODY_CONSUMED`, `REMOTE_ADDRESS_MISSING`: the receiver was wired wrongly.
 * - `KEYS_MISSING`, `KEYS_MISMATCH`: the keyring is not there, or belongs to another log.
 * - `STORE_UNSAFE`: the store cannot keep its promise of durability, or a file cannot be read or written.
 * - `STORE_BUSY`: another process kept the file locked for seconds.
 * - `CLOSED`: the log was closed before.
 * - `NOT_OURS`: the file is not a log of averba, or is newer than this version.
 * - `CORRUPT`: the log contradicts itself.
 * - `ROLLED_BACK`: the log is behind its high-water mark, or another than it was then: cut off, put back or replaced.
 * - `PART_DESTROYED`: personal data that is asked for and was destroyed, by retention or with its person.
 * - `VIEW_STOPPED`: a view stands still, and what it shows may be over: nothing is told by it before it runs again.
 * - `ENDLESS`: a simulated clock that was to run until nothing is left, and something always is; it is named.
 * - `NOTHING_DUE`: a simulated clock that was to run until something has happened, and nothing is left that could.
 */
export type ErrorCode =
  | 'MISCONFIGURED'
  | 'SERVICE_NOT_CONFIGURED'
  | 'INVALID_INPUT'
  | 'INVALID_CPF'
  | 'INVALID_CNPJ'
  | 'PERSONAL_ID'
  | 'NOT_FOUND'
  | 'REFUSED'
  | 'CONFLICT'
  | 'OUTCOME'
  | 'COMMAND_REUSED'
  | 'BUDGET_SPENT'
  | 'CONSENT_NOT_EFFECTIVE'
  | 'SUBJECT_ERASED'
  | 'STALE_PLAN'
  | 'PLAN_DELETES'
  | 'BODY_CONSUMED'
  | 'REMOTE_ADDRESS_MISSING'
  | 'KEYS_MISSING'
  | 'KEYS_MISMATCH'
  | 'STORE_UNSAFE'
  | 'STORE_BUSY'
  | 'CLOSED'
  | 'NOT_OURS'
  | 'CORRUPT'
  | 'ROLLED_BACK'
  | 'PART_DESTROYED'
  | 'VIEW_STOPPED'
  | 'ENDLESS'
  | 'NOTHING_DUE'

/**
 * A mistake of the caller or the operator, or damage. What a remote service says is never thrown: it is
 * an outcome. Messages hold no personal data and no secret.
 */
export class AverbaError extends Error {
  override readonly name: string = 'AverbaError'
  readonly code: ErrorCode
  /** What to do next. */
  declare readonly hint?: string
  /** The file that the message names. */
  declare readonly path?: string

  constructor(
    code: ErrorCode,
    message: string,
    options: { hint?: string; cause?: unknown; path?: string } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    if (options.hint !== undefined) this.hint = options.hint
    if (options.path !== undefined) this.path = options.path
  }
}

/** The error for a log that was closed. */
export function closedError(): AverbaError {
  return new AverbaError('CLOSED', 'Cannot use the log: it was closed', {
    hint: 'Open it again with openAverba',
  })
}

/**
 * The words of one of our errors that may be recorded. Where files stand is this machine's own: a log that is copied
 * elsewhere would take it along, and two runs of one simulation would differ in nothing else.
 */
export function recordableMessage({ message, path }: AverbaError): string {
  return path === undefined ? message : message.replaceAll(`"${path}"`, '"…"')
}

/** Work that took longer than it may. */
export class LateError extends Error {
  override readonly name = 'LateError'
}

/** Reports whether something in the file is not what was stored there, or its key is not. */
export function isDamage(error: unknown): error is AverbaError {
  return error instanceof AverbaError && (error.code === 'CORRUPT' || error.code === 'KEYS_MISMATCH')
}
