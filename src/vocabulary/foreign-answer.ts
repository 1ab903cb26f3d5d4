/** Why an answer does not count as one to the call. The reason of a call that got one begins with it. */
export const foreignCodes = [
  ...(['SERVICE_MISDIRECTED', 'PROXY_REFUSED', 'CERTIFICATE_REFUSED'] as const),
  ...(['ANSWER_TOO_LARGE', 'CALL_UNAUTHORIZED'] as const),
] as const

/**
 * Why an answer does not count: another server, a proxy, or who ends the TLS gave it, it is larger than allowed, or it
 * refuses one token after the other.
 */
export type ForeignCode = (typeof foreignCodes)[number]

/** What to do about each. */
export const foreignAdvice: Readonly<Record<ForeignCode, string>> = {
  SERVICE_MISDIRECTED: 'correct its address, or ask who answers there',
  PROXY_REFUSED: 'check address, user name and password of the proxy, or ask who runs it',
  CERTIFICATE_REFUSED: 'check that our client certificate is the registered one and has not expired',
  ANSWER_TOO_LARGE:
    'read for one controller only (consentService.cnpj), or raise its answerBytesMax (for the failures of a day portal.failuresBytesMax), which does not change that a list has 10,000 records at most',
  CALL_UNAUTHORIZED: 'find out why: the contract may be blocked, or not cover the service or the person',
}

/** Returns the code with which the reason of a call begins when somebody else answered; `undefined` otherwise. */
export function foreignCodeIn(reason: string): ForeignCode | undefined {
  return foreignCodes.find(code => reason.startsWith(`${code}: `))
}

/** An answer that was not understood: its status, the form of its body, and its beginning. */
export interface UnreadAnswer {
  readonly httpStatus: number
  readonly form: string
  /** At most 16,384 characters, without the credentials and the CPF that were sent. */
  readonly text: string
}
