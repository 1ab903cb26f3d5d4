import type { Area } from './area.ts'
import type { SubjectRef } from './subjects.ts'

/** A reading that was made for an answer which had to be fresh: nobody asks for its outcome later. */
interface RefreshData {
  readonly isRefresh?: true
}

/**
 * The readings of a data subject, of one type, that were made for an answer, put off, and are still owed. A new one
 * takes their place: else every question during an outage would be asked of the service once it is over.
 */
export async function replacedReadings(
  { store }: Area,
  subject: SubjectRef,
  type: 'listConsents' | 'listAwareness' | 'readLogin',
): Promise<{ readonly effects?: readonly string[] }> {
  const owed = await store.effects({ stream: `subject-${subject}`, states: ['deferred'] })
  // Only looked at.
  const isReplaced = (data: unknown) => type !== 'listConsents' || (data as RefreshData).isRefresh === true
  const effects = owed
    .filter(each => each.type === `consentService.${type}` && isReplaced(each.data))
    .map(each => each.id)
  return effects.length > 0 ? { effects } : {}
}
