import { codeOf, describe, isUntrusted } from '../../../vocabulary/connection-errors.ts'

/** Says in words why a delivery failed, as seen from the portal. */
export function describeFailure(error: unknown): string {
  const words = wordsOf(codeOf(error))
  return words === undefined ? describe(error) : `${words} (${codeOf(error)})`
}

function wordsOf(code: string): string | undefined {
  if (/^(ECONNRESET|EPIPE|ECONNABORTED|UND_ERR_SOCKET)$/.test(code)) return 'the connection broke'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the name of the receiver was not found'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return "the receiver's certificate is for another name"
  if (code === 'CERT_HAS_EXPIRED') return "the receiver's certificate has expired"
  if (code.includes('ALERT')) return 'the receiver refused the handshake'
  if (isUntrusted(code)) return "the portal does not trust the receiver's certificate"
  return undefined
}
