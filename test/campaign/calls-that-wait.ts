import { Chance } from './chance.ts'
import type { Deed } from './step.ts'
import { drawFrom, newest, type Story } from './stories.ts'

const hourMs = 3_600_000
/** One of these stories is drawn for every so many days. */
const daysPerStory = 4

/** A validation under a consent is deferred. In half of the cases the consent is revoked before the call is sent. */
const validationUnderConsent = (random: Chance): Story => {
  const { person } = random
  return [
    ...offerAndReadConsent(person, true),
    [4, { do: 'fault', fault: { kind: 'refuse', service: 'validationService', times: 30 } }],
    [5, { do: 'validateUnder', person, consent: newest }],
    [6, { do: 'calm' }],
    ...(random.isTrue ? ([[7, { do: 'change', person, consent: newest, verb: 'revoke' }]] as const) : []),
    [hourMs, { do: 'settle' }],
  ]
}

/** An approval is deferred, or parked too. Before it is sent, the person denies the consent. */
const changedDecision = (random: Chance): Story => {
  const { person } = random
  const holds = random.isTrue ? 4 : 0
  return [
    ...offerAndReadConsent(person, false),
    [4, { do: 'fault', fault: { kind: 'refuse', service: 'consentService', method: 'PUT', times: 30 } }],
    [5, { do: 'change', person, consent: newest, verb: 'approve' }],
    ...Array.from({ length: holds }, () => [6, { do: 'hold', which: 0 }] as const),
    [7, { do: 'calm' }],
    [8, { do: 'change', person, consent: newest, verb: 'deny' }],
    [hourMs, { do: 'settle' }],
  ]
}

/** A valid token is rejected, and the gateway still issues the same one. */
const rejectedToken = (random: Chance): Story => {
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

/** A consent is used right after its expiry, or while our revocation is not yet sent. */
const lateUse = (random: Chance): Story => {
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
    ...offerAndReadConsent(person, true),
    [4, { do: 'fault', fault: { kind: 'refuse', service: 'consentService', method: 'PUT', times: 30 } }],
    [5, { do: 'change', person, consent: newest, verb: 'revoke' }],
    [6, use],
    [7, { do: 'calm' }],
    [hourMs, { do: 'settle' }],
  ]
}

const offerAndReadConsent = (person: number, isActive: boolean): Story => [
  [0, { do: 'calm' }],
  [1, { do: 'offer', person, company: 0, hours: 400, isActive }],
  [2, { do: 'enrol', person, everyHours: 0 }],
  [3, { do: 'sync', person }],
]

/** Draws stories about deferred calls. They have their own seed, so other deeds do not change. */
export function drawDelayedCalls(seed: number, days: number): { deed: Deed; at: number }[] {
  const random = new Chance(seed + 3_000_003)
  const stories = [validationUnderConsent, changedDecision, rejectedToken, lateUse, lateUse]
  return drawFrom(stories, random, days, Math.ceil(days / daysPerStory))
}
