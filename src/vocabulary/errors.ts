/**
 * The codes of averba's errors. They are part of the API: a code never gets another meaning.
 *
 * - `MISCONFIGURED`: an option is missing or cannot work.
 * - `SERVICE_NOT_CONFIGURED`: the call needs a service that has no options.
 * - `INVALID_INPUT`: an argument is invalid.
 * - `INVALID_CPF`, `INVALID_CNPJ`: wrong form or check digits.
 * - `PERSONAL_ID`: an id of the host contains a CPF.
 * - `NOT_FOUND`: the log has no such record.
 * - `REFUSED`: the current state forbids the command; no request was sent.
 * - `CONFLICT`: other writers appended to the stream first, on every retry.
 * - `OUTCOME`: an outcome other than `settled`, turned into an error by `valueOf`.
 * - `COMMAND_REUSED`: the command id was used before with different input.
 * - `BUDGET_SPENT`: the host's daily limit of paid calls is reached; no request was sent.
 * - `CONSENT_NOT_EFFECTIVE`: the consent for a use of data is not effective; the refusal is recorded.
 * - `SUBJECT_ERASED`: the data subject was erased: averba no longer acts for them or shows their data.
 * - `STALE_PLAN`, `PLAN_DELETES`: a plan is outdated, or deletes without permission.
 * - `BODY_CONSUMED`, `REMOTE_ADDRESS_MISSING`: the receiver is set up wrongly.
 * - `KEYS_MISSING`, `KEYS_MISMATCH`: the keyring is missing, or belongs to another log.
 * - `STORE_UNSAFE`: the store cannot guarantee durability, or a file cannot be read or written.
 * - `STORE_BUSY`: another process kept the file locked for seconds.
 * - `CLOSED`: the log was closed.
 * - `NOT_OURS`: the file is not a log of averba, or a newer version wrote it.
 * - `CORRUPT`: the log contradicts itself.
 * - `MOVED`: the log goes on elsewhere: it was copied to another place, and nothing is recorded here any more.
 * - `ROLLED_BACK`: the log is behind its high-water mark, or differs from it: it was truncated, restored or replaced.
 * - `PART_DESTROYED`: the personal data was destroyed, by retention or by an erasure.
 * - `VIEW_STOPPED`: a view has stopped and may be outdated; it is not read until it runs again.
 * - `ENDLESS`: a simulated clock ran for too long and never came to rest; the error names the busiest timer.
 * - `NOTHING_DUE`: a simulated clock waits for a condition that stays false, and no timer is left.
 */
export type ErrorCode = keyof typeof httpStatuses

/** The HTTP status that suits each error, for a host that answers requests with it. */
export const httpStatuses = {
  INVALID_INPUT: 400,
  INVALID_CPF: 400,
  INVALID_CNPJ: 400,
  PERSONAL_ID: 400,
  CONSENT_NOT_EFFECTIVE: 403,
  NOT_FOUND: 404,
  REFUSED: 409,
  CONFLICT: 409,
  COMMAND_REUSED: 409,
  STALE_PLAN: 409,
  PLAN_DELETES: 409,
  SUBJECT_ERASED: 410,
  PART_DESTROYED: 410,
  BUDGET_SPENT: 429,
  OUTCOME: 502,
  STORE_UNSAFE: 503,
  STORE_BUSY: 503,
  VIEW_STOPPED: 503,
  CLOSED: 503,
  MISCONFIGURED: 500,
  SERVICE_NOT_CONFIGURED: 500,
  BODY_CONSUMED: 500,
  REMOTE_ADDRESS_MISSING: 500,
  KEYS_MISSING: 500,
  KEYS_MISMATCH: 500,
  NOT_OURS: 500,
  CORRUPT: 500,
  MOVED: 500,
  ROLLED_BACK: 500,
  ENDLESS: 500,
  NOTHING_DUE: 500,
} as const

/**
 * A mistake of the caller or the operator, or damage. A remote service's answer is returned as an outcome, not thrown.
 * Messages hold no personal data and no secret.
 */
export class AverbaError extends Error {
  override readonly name: string = 'AverbaError'
  readonly code: ErrorCode
  declare readonly hint?: string
  declare readonly path?: string

  constructor(code: ErrorCode, message: string, options: { hint?: string; cause?: unknown; path?: string } = {}) {
    super(message, options)
    this.code = code
    if (options.hint !== undefined) this.hint = options.hint
    if (options.path !== undefined) this.path = options.path
  }
}

export function closedError(): AverbaError {
  return new AverbaError('CLOSED', 'Cannot use the log: it was closed', { hint: 'Open it again with openAverba' })
}

/** The error's message without the file path: a path would make two runs of one simulation differ in the log. */
export function recordableMessage({ message, path }: AverbaError): string {
  return path === undefined ? message : message.replaceAll(`"${path}"`, '"…"')
}

/** Work took longer than its time limit. */
export class LateError extends Error {
  override readonly name = 'LateError'
}

/** Reports whether something thrown is an error of ours with one of these codes. */
export function hasCode(error: unknown, ...codes: readonly ErrorCode[]): error is AverbaError {
  return error instanceof AverbaError && codes.includes(error.code)
}
