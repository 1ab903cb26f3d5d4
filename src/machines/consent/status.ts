/** The five statuses of the contract (document 1, section 3). */
export const consentStatuses = ['PENDENTE', 'ATIVO', 'NEGADO', 'REVOGADO', 'EXPIRADO'] as const
/** The status of a consent. */
export type ConsentStatus = (typeof consentStatuses)[number]

/** The statuses that can be requested, each with the only status it can follow (section 3). */
export const askedFrom = { ATIVO: 'PENDENTE', NEGADO: 'PENDENTE', REVOGADO: 'ATIVO' } as const
/** A status that can be requested. */
export type RequestableStatus = keyof typeof askedFrom

/** Checks that a consent is pending or active. */
export function isOpen(status: ConsentStatus): boolean {
  return status === 'PENDENTE' || status === 'ATIVO'
}

/** Returns the event type of a status change in the contract's table; `undefined` when the table does not have it. */
export function moveType(
  held: ConsentStatus,
  status: ConsentStatus,
): `consent.${'approved' | 'denied' | 'revoked' | 'expired'}` | undefined {
  if (held === 'PENDENTE' && status === 'ATIVO') return 'consent.approved'
  if (held === 'PENDENTE' && status === 'NEGADO') return 'consent.denied'
  if (held === 'ATIVO' && status === 'REVOGADO') return 'consent.revoked'
  // The contract's table has no expiry: by our policy it may follow PENDENTE and ATIVO.
  if (isOpen(held) && status === 'EXPIRADO') return 'consent.expired'
  return undefined
}
