import { AverbaError } from './errors.ts'

/** A response larger than allowed. */
export class OversizedError extends Error {
  override readonly name = 'OversizedError'
}

/** A request that was certainly not sent: the address was not found, or the connection or TLS was refused. */
export class UnsentError extends Error {
  override readonly name = 'UnsentError'
  readonly code: string

  constructor(code: string, message: string = withExplanation(code)) {
    super(message)
    this.code = code
  }
}

/** The service refused our certificate. TLS 1.3 reports this only after the first request was written, but not read. */
const certificateAlert =
  /ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_[A-Z]{1,20}|ACCESS_DENIED)$/

/**
 * Checks that the service cannot have read the request, although the connection was established. An unreachable network
 * or broken TLS does not prove it: the service may have read the request before.
 */
export function isRequestUnread(error: unknown): boolean {
  const code = nodeErrorCode(error)
  return code.startsWith('ERR_SSL_') && certificateAlert.test(code)
}

const untrusted = /CERT|CA$|^UNABLE_TO_VERIFY/

/** Returns Node's code of an error, or an empty text. */
export function nodeErrorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === undefined || code === null ? '' : String(code)
}

/** The flag that would permit what Deno denies, such as `--allow-net`; an empty text for any other error. */
export function deniedFlag(error: unknown): string {
  if (!(error instanceof Error && error.name === 'NotCapable')) return ''
  return /--allow-[a-z]+/.exec(error.message)?.[0] ?? error.name
}

/** Turns what Deno does not permit into `MISCONFIGURED`: its own words say what is missing. */
export function asDenied(cause: unknown): unknown {
  if (deniedFlag(cause) === '' || !(cause instanceof Error)) return cause
  return new AverbaError('MISCONFIGURED', 'Cannot go on: Deno does not permit it', { cause, hint: cause.message })
}

/** Describes a connection error by its code only: its message may hold an address, and the address a CPF. */
export function describeConnectionError(error: unknown): string {
  const isOurs = [AverbaError, UnsentError, OversizedError].some(type => error instanceof type)
  if (error instanceof Error && isOurs) return error.message
  if (error instanceof Error && error.name === 'TimeoutError') return 'no answer in time'
  // `fetch` itself gives the reason as the cause.
  const code = error instanceof Error ? nodeErrorCode(error) || nodeErrorCode(error.cause) || error.name : ''
  return isSafeCode(code) ? withExplanation(code) : 'unknown'
}

/** A host's own `fetch` may throw an error whose code holds an address or a number: the log must not keep those. */
function isSafeCode(code: string): boolean {
  return /^(ERR_SSL_[\w/]{1,60}|[A-Za-z_]\w{0,60})$/.test(code) && !/\d{5}/.test(code)
}

/** Checks that the code reports a certificate without a chain to a trusted authority. */
export function isUntrusted(code: string): boolean {
  return untrusted.test(code)
}

function withExplanation(code: string): string {
  const explanation = explanations.find(([codes]) => codes.test(code))?.[1]
  return explanation === undefined ? code : `${explanation} (${code})`
}

const explanations: readonly (readonly [codes: RegExp, text: string])[] = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, "the service's host name was not found"],
  [/^ECONNREFUSED$/, 'the connection was refused'],
  [/^(EPERM|--allow-net)$/, 'this process is not permitted to reach it'],
  [/^--allow-/, 'Deno does not permit what its client reads'],
  [/^(ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/, 'the connection broke'],
  [/^(EHOSTUNREACH|ENETUNREACH)$/, 'the service cannot be reached'],
  [/^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/, 'the connection timed out'],
  [/^(HTTPParserError$|HPE_)/, 'the answer is not HTTP'],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, "the service's certificate is for another name"],
  [/^CERT_HAS_EXPIRED$/, "the service's certificate has expired"],
  [/ALERT/, 'the service refused the handshake'],
  [untrusted, "the service's certificate is not trusted: is the option ca missing or wrong?"],
]
