import { Chance } from './chance.ts'
import type { Deed } from './step.ts'

type Story = readonly (readonly [afterMs: number, deed: Deed])[]

const dayMs = 86_400_000
const hourMs = 3_600_000
/** The newest of a person's consents. */
const newest = -1
/** How many days there are to one of these stories. */
const daysPerStory = 4

/** A paid validation under a consent is put off; until it may leave, the consent is revoked, or nothing happens. */
const underConsent = (random: Chance): Story => {
  const { person } = random
  return [
    ...aConsent(person, true),
    [4, { do: 'fault', fault: { kind: 'refuse', service: 'validationService', times: 30 } }],
    [5, { do: 'validateUnder', person, consent: newest }],
    [6, { do: 'calm' }],
    ...(random.isTrue ? ([[7, { do: 'change', person, consent: newest, verb: 'revoke' }]] as const) : []),
    [hourMs, { do: 'settle' }],
  ]
}

/** An approval is put off, or parked as well; before it leaves, the person thinks otherwise. */
const secondThoughts = (random: Chance): Story => {
  const { person } = random
  const holds = random.isTrue ? 4 : 0
  return [
    ...aConsent(person, false),
    [4, { do: 'fault', fault: { kind: 'refuse', service: 'consentService', method: 'PUT', times: 30 } }],
    [5, { do: 'change', person, consent: newest, verb: 'approve' }],
    ...Array.from({ length: holds }, () => [6, { do: 'hold', which: 0 }] as const),
    [7, { do: 'calm' }],
    [8, { do: 'change', person, consent: newest, verb: 'deny' }],
    [hourMs, { do: 'settle' }],
  ]
}

/** A token that lives is rejected, and the gateway goes on giving it. */
const sameToken = (random: Chance): Story => {
  const { person } = random
  const validate = { do: 'validate', person, isTrue: true, count: 1, hours: 0 } as const
  return [
    [0, { do: 'calm' }],
    [1, validate],
    [2, { do: 'fault', fault: { kind: 'rejectToken', ended: false, times: 1 } }],
    [3, validate],
    [2 * hourMs, { do: 'settle' }],
  ]
}

/** A consent is used right after it has expired, or while our revocation of it has not left. */
const usedTooLate = (random: Chance): Story => {
  const { person } = random
  const use = { do: 'use', person, consent: newest, ageMaxMinutes: -1 } as const
  if (random.isTrue)
    return [
      [0, { do: 'calm' }],
      [1, { do: 'offer', person, company: 0, hours: 20, isActive: true }],
      [2, { do: 'enrol', person, everyHours: 0 }],
      [3, { do: 'sync', person }],
      [20 * hourMs + 5 * 60_000, use],
    ]
  return [
    ...aConsent(person, true),
    [4, { do: 'fault', fault: { kind: 'refuse', service: 'consentService', method: 'PUT', times: 30 } }],
    [5, { do: 'change', person, consent: newest, verb: 'revoke' }],
    [6, use],
    [7, { do: 'calm' }],
    [hourMs, { do: 'settle' }],
  ]
}

const aConsent = (person: number, isActive: boolean): Story => [
  [0, { do: 'calm' }],
  [1, { do: 'offer', person, company: 0, hours: 400, isActive }],
  [2, { do: 'enrol', person, everyHours: 0 }],
  [3, { do: 'sync', person }],
]

/** Calls that are put off, and what happens before they leave. Drawn by a chance of their own: all else stays as it was. */
export function callsThatWait(seed: number, days: number): { deed: Deed; at: number }[] {
  const random = new Chance(seed + 3_000_003)
  return Array.from({ length: Math.ceil(days / daysPerStory) }, () => {
    const began = random.below(days * dayMs)
    const story = random.of([underConsent, secondThoughts, sameToken, usedTooLate, usedTooLate])(random)
    return story.map(([afterMs, deed]) => ({ deed, at: began + afterMs }))
  }).flat()
}
