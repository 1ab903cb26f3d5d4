import type { RecordedEvent } from '../../../src/vocabulary/message.ts'
import type { CreateCheck } from '../check.ts'

/** The consent of a validation, and the position of its last attempt. */
interface ValidationUnderConsent {
  readonly consent: string
  attemptedAt: number
}

const endTypes = ['consent.revoked', 'consent.expired', 'consent.denied']
/** The events that end a revocation of ours. */
const changeAnswers = [
  ...endTypes,
  'consent.changeDeclined',
  'consent.changeNotMade',
  'consent.changeWithheld',
  'consent.lapsed',
  'consent.vanished',
  'consent.conflicted',
  'consent.confirmed',
  'consent.erased',
]

/** No consent is used, and no validation is sent under it, after the log has its end or our request to revoke it. */
export const noUseAfterTheEnd: CreateCheck = (_, report) => {
  const endedAt = new Map<string, number>()
  const revoking = new Set<string>()
  const validations = new Map<string, ValidationUnderConsent>()
  return {
    rolledBack() {
      endedAt.clear()
      revoking.clear()
      validations.clear()
    },
    recorded({ type, stream, data, position }: RecordedEvent) {
      const { status, consent, effect } = data as { status?: string; consent?: string; effect?: string } // Only of the types below.
      if (type === 'consent.changeRequested' && status === 'REVOGADO') revoking.add(stream)
      else if (changeAnswers.includes(type)) revoking.delete(stream)
      if (endTypes.includes(type)) endedAt.set(stream, position)
      else if (status === 'ATIVO' && type !== 'consent.changeRequested') endedAt.delete(stream)
      if (type === 'consent.used' && (endedAt.has(stream) || revoking.has(stream)))
        report(`${stream} was used at ${position}, but its end was known`)
      if (type === 'validation.requested' && consent !== undefined)
        validations.set(stream, { consent: `consent-${consent}`, attemptedAt: 0 })
      const [owner = ''] = effect?.split('/') ?? []
      const attempted = type === 'effect.attempted' ? validations.get(owner) : undefined
      if (attempted) attempted.attemptedAt = position
      const answered = type === 'validation.answered' ? validations.get(stream) : undefined
      const end = answered && endedAt.get(answered.consent)
      if (answered && end !== undefined && end < answered.attemptedAt)
        report(`${stream} was sent at ${answered.attemptedAt}, after the end of its consent at ${end}`)
    },
  }
}
