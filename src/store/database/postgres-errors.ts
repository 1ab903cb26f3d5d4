import { AverbaError, type ErrorCode, LateError } from '../../vocabulary/errors.ts'
import { malformedError, parameterCountError, readOnlyError, unknownNameError } from './host-query.ts'
import { TableInUseError } from './table-in-use.ts'

/** Codes of PostgreSQL (its appendix A) for what another try may not meet again. */
const passingCodes = /^(08|40|53[34]|57|25P0[34])/
const lockCode = '55P03'
/** The disk is full, or the server accepts no writes. */
const unwritableCodes = /^(53[12]|25006|0A000|58)/
/** The server knows no such user, password, database or schema, or grants no right to it. */
const refusedCodes = /^(28|3D|3F|42501$|42939$)/
const damageCodes = /^(XX001|XX002|42P01|42703)$/
/** The codes of Node for a server that is not reached, or goes away. */
const socketCodes = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|ENOENT|EHOSTUNREACH|ENETUNREACH)/
/** Codes with which the server ends the session. */
const endedCodes = /^(08|57P|25P0[34])/

const driverTexts =
  /^(Client has encountered|Connection terminated|Query read timeout|timeout exceeded|timeout expired)/

/** Reports whether the connection is gone, so that the server alone knows what became of the transaction. */
function isLostConnection(cause: unknown): boolean {
  const code = codeOf(cause)
  if (endedCodes.test(code) || socketCodes.test(code)) return true
  // node-postgres gives no code when the socket closes, or a time limit of the pool passes.
  return cause instanceof LateError || (code === '' && cause instanceof Error && driverTexts.test(cause.message))
}

/** Turns an error of the server or of its connection into an `AverbaError`; `undefined` for any other. */
export function toAverbaError(name: string, cause: unknown): AverbaError | undefined {
  const code = codeOf(cause)
  const cannot = (as: ErrorCode, why: string, hint: string) =>
    new AverbaError(as, `Cannot use ${name}: ${why}`, { cause, hint })
  if (isLostConnection(cause)) {
    const why = `there is no connection${code === '' ? '' : ` (${code})`}`
    return cannot('STORE_BUSY', why, 'Look at the address and the server, and try again: the cause says more')
  }
  // Also while a log is open, when a password or a right is changed: what waits to be recorded is kept until then.
  if (refusedCodes.test(code))
    return cannot('STORE_UNSAFE', `the server refuses it (${describeCode(cause)})`, refusedHint)
  if (code === lockCode) return new TableInUseError(name, cause)
  if (passingCodes.test(code))
    return cannot('STORE_BUSY', 'it is locked or overloaded', 'Another session holds the log. Try again')
  if (unwritableCodes.test(code))
    return cannot('STORE_UNSAFE', 'it cannot be written', 'Look at its disk, and whether it is a replica')
  if (damageCodes.test(code))
    return cannot('CORRUPT', 'a table is damaged or missing', 'Keep it unchanged and restore a backup elsewhere')
  return undefined
}

/** Turns the error of a query of a host into one that says so; `undefined` when it is not the query's. */
export function toQueryError(cause: unknown): AverbaError | undefined {
  const code = codeOf(cause)
  if (code === '25006') return readOnlyError('Cannot run this statement', cause)
  if (code === '57014') return new AverbaError('INVALID_INPUT', tooLong, { cause, hint: 'Select less at a time' })
  // Poolers give this code for lost connections too.
  if (code === '08P01' && Object(cause).routine === 'exec_bind_message') return parameterCountError(cause)
  if (/^42(P01|703)$/.test(code)) return unknownNameError(cause)
  return /^(42(?!501)|22)/.test(code) ? malformedError(cause) : undefined
}

const tooLong = 'Cannot run this statement: it took longer than the server may give it'

/** The error when a log cannot be opened: what another try would meet again is `MISCONFIGURED`. */
export function toSetupError(name: string, cause: unknown): AverbaError {
  if (cause instanceof AverbaError) return cause
  const code = codeOf(cause)
  const error = refusedCodes.test(code) ? undefined : toAverbaError(name, cause)
  // What the driver itself refuses, such as a missing password, has no code.
  const why = code === '' ? 'the driver' : `the server (${describeCode(cause)})`
  return (
    error ?? new AverbaError('MISCONFIGURED', `Cannot open ${name}: ${why} refuses it`, { cause, hint: refusedHint })
  )
}

const refusedHint = 'Look at the user, the password, the database and the rights on the schema: the cause says more'

/** With what a missing right is on: that text names a table or a schema only. */
function describeCode(cause: unknown): string {
  const code = codeOf(cause)
  return code === '42501' && cause instanceof Error ? `${code}: ${cause.message}` : code
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : ''
}
