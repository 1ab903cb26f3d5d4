/** The five statuses of the contract (document 1, section 3). */
export const consentStatuses = ['PENDENTE', 'ATIVO', 'NEGADO', 'REVOGADO', 'EXPIRADO'] as const
/** The status of a consent. */
export type ConsentStatus = (typeof consentStatuses)[number]

/** The statuses that can be asked for, each with the one status it is asked from (section 3). */
export const askedFrom = { ATIVO: 'PENDENTE', NEGADO: 'PENDENTE', REVOGADO: 'ATIVO' } as const
/** A status that can be asked for. */
export type RequestableStatus = keyof typeof askedFrom

/** Reports whether a consent stands by its status, or may come to stand. */
export function isOpen(status: ConsentStatus): boolean {
  return status === 'PENDENTE' || status === 'ATIVO'
}

/** The event that a move of the contract's table makes; `undefined` when the table has no such move. */
export function moveType(
  held: ConsentStatus,
  status: ConsentStatus,
): `consent.${'approved' | 'denied' | 'revoked' | 'expired'}` | undefined {
  if (held === 'PENDENTE' && status === 'ATIVO') return 'consent.approved'
  if (held === 'PENDENTE' && status === 'NEGADO') return 'consent.denied'
  if (held === 'ATIVO' && status === 'REVOGADO') return 'consent.revoked'
  // Expiry is not in the contract's table: by our policy it may follow PENDENTE and ATIVO.
  if (isOpen(held) && status === 'EXPIRADO') return 'consent.expired'
  return undefined
}
