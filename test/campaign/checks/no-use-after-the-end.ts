import type { RecordedEvent } from '../../../src/vocabulary/message.ts'
import type { MakeCheck } from '../check.ts'

/** What a call of a validation rests on, and when it left last. */
interface Resting {
  readonly consent: string
  leftAt: number
}

const ends = ['consent.revoked', 'consent.expired', 'consent.denied']
/** How a revocation of ours ends, whichever way. */
const answered = [
  ...ends,
  'consent.changeDeclined',
  'consent.changeNotMade',
  'consent.changeWithheld',
  'consent.lapsed',
  'consent.vanished',
  'consent.conflicted',
  'consent.confirmed',
  'consent.erased',
]

/** What the log knows by itself: nothing is used or sent under a consent whose end stands in it, or was asked for. */
export const noUseAfterTheEnd: MakeCheck = (_, say) => {
  const endedAt = new Map<string, number>()
  const revoking = new Set<string>()
  const validations = new Map<string, Resting>()
  return {
    rolledBack() {
      endedAt.clear()
      revoking.clear()
      validations.clear()
    },
    recorded({ type, stream, data, position }: RecordedEvent) {
      const told = data as { status?: string; consent?: string; effect?: string } // Of the types below alone.
      if (type === 'consent.changeRequested' && told.status === 'REVOGADO') revoking.add(stream)
      else if (answered.includes(type)) revoking.delete(stream)
      if (ends.includes(type)) endedAt.set(stream, position)
      else if (told.status === 'ATIVO' && type !== 'consent.changeRequested') endedAt.delete(stream)
      if (type === 'consent.used' && (endedAt.has(stream) || revoking.has(stream)))
        say(`${stream} was used at ${position}, and its end was known`)
      if (type === 'validation.requested' && told.consent !== undefined)
        validations.set(stream, { consent: `consent-${told.consent}`, leftAt: 0 })
      const [owner = ''] = told.effect?.split('/') ?? []
      const attempted = type === 'effect.attempted' ? validations.get(owner) : undefined
      if (attempted) attempted.leftAt = position
      const resting = type === 'validation.answered' ? validations.get(stream) : undefined
      const end = resting && endedAt.get(resting.consent)
      if (resting && end !== undefined && end < resting.leftAt)
        say(`${stream} left at ${resting.leftAt}, after the end of its consent at ${end}`)
    },
  }
}
