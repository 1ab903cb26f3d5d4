import { AverbaError } from './errors.ts'

/** A response larger than the bound. */
export class OversizedError extends Error {
  override readonly name = 'OversizedError'
}

/** A request that certainly never left: the address was not found, the connection or TLS was refused. */
export class UnsentError extends Error {
  override readonly name = 'UnsentError'
  /** What Node calls the reason. */
  readonly code: string

  constructor(code: string) {
    super(withExplanation(code))
    this.code = code
  }
}

/** Our certificate was refused, which TLS 1.3 says only after the first request has been written: it was not read. */
const certificateAlert =
  /^ERR_SSL_[\w/]*ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_\w+|ACCESS_DENIED)$/

/**
 * Whether nothing of a request can have been read, although its connection was made. A network that is unreachable, or
 * something that is no TLS any more, says nothing of that: the request may have been read before.
 */
export function isRequestUnread(error: unknown): boolean {
  return certificateAlert.test(nodeErrorCode(error))
}

/** Node's code for an error; empty where it has none. */
export function nodeErrorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === undefined || code === null ? '' : String(code)
}

/** Says what happened to a connection by its code alone: messages may hold addresses, and those a CPF. */
export function describeConnectionError(error: unknown): string {
  const isInWords = [AverbaError, UnsentError, OversizedError].some(kind => error instanceof kind)
  if (error instanceof Error && isInWords) return error.message
  if (error instanceof Error && error.name === 'TimeoutError') return 'no answer in time'
  const code = nodeErrorCode(error) || (error instanceof Error ? error.name : '')
  return isSafeCode(code) ? withExplanation(code) : 'unknown'
}

/**
 * A host's own way out may throw anything, with an address or a number as its code: what is kept for good must be a
 * word.
 */
function isSafeCode(code: string): boolean {
  return /^(ERR_SSL_[\w/]{1,60}|[A-Za-z_]\w{0,60})$/.test(code) && !/\d{5}/.test(code)
}

/** Whether there was a certificate without a chain to a trusted authority. */
export function isUntrusted(code: string): boolean {
  return /CERT|CA$|^UNABLE_TO_VERIFY/.test(code)
}

function withExplanation(code: string): string {
  const words = explainCode(code)
  return words === undefined ? code : `${words} (${code})`
}

function explainCode(code: string): string | undefined {
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the name of the service was not found'
  if (code === 'ECONNREFUSED') return 'the connection was refused'
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'there is no connection in time'
  if (code === 'HTTPParserError' || code.startsWith('HPE_')) return 'the answer is not HTTP'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return "the service's certificate is for another name"
  if (code === 'CERT_HAS_EXPIRED') return "the service's certificate has expired"
  if (code.includes('ALERT')) return 'the service refused the handshake'
  if (isUntrusted(code)) return "the service's certificate is not trusted: is the option ca missing or wrong?"
  return undefined
}
