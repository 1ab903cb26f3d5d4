import type { RequestableStatus } from './status.ts'

/** Which consent, and whose. */
interface Whose {
  readonly consent: string
  readonly subject: string
}

/** The call that asks for another status. */
export const changeStatus = (whose: Whose, status: RequestableStatus) => ({
  type: 'consentService.changeStatus',
  data: { status },
  opens: addresses(whose),
})

/** The call that reads a consent in full. */
export const readConsent = (whose: Whose) => ({
  type: 'consentService.readConsent',
  data: {},
  opens: addresses(whose),
})

function addresses({ consent, subject }: Whose) {
  return { cpf: `subject-${subject}/1/cpf`, record: `consent-${consent}/1/record` }
}
