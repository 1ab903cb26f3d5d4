import { Chance } from './chance.ts'
import type { Deed } from './step.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000
/** The newest of a person's consents. */
const newest = -1
/** How many days there are to one of these stories. */
const daysPerStory = 10

/**
 * Paid validations under a consent, put off at first: until they may leave, the consent is revoked, or nothing happens.
 * Drawn by a chance of their own: all else stays as it was.
 */
export function namedConsentsOf(seed: number, days: number): { deed: Deed; at: number }[] {
  const random = new Chance(seed + 3_000_003)
  return Array.from({ length: Math.ceil(days / daysPerStory) }, () => {
    const { person } = random
    const began = random.below(days * dayMs)
    const story: (readonly [afterMs: number, deed: Deed])[] = [
      [0, { do: 'calm' }],
      [1, { do: 'offer', person, company: 0, hours: 400, isActive: true }],
      [2, { do: 'enrol', person, everyHours: 0 }],
      [3, { do: 'sync', person }],
      [4, { do: 'fault', fault: { kind: 'refuse', service: 'validationService', times: 30 } }],
      [5, { do: 'validateUnder', person, consent: newest }],
      [6, { do: 'calm' }],
      ...(random.isTrue ? ([[7, { do: 'change', person, consent: newest, verb: 'revoke' }]] as const) : []),
      [hourMs, { do: 'settle' }],
    ]
    return story.map(([afterMs, deed]) => ({ deed, at: began + afterMs }))
  }).flat()
}
