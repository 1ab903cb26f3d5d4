import type { Fault } from '../../src/simulation/faults/fault.ts'
import { Chance } from './chance.ts'
import { crashPoints } from './crash-points.ts'
import type { Deed } from './step.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** The newest of a person's consents. */
export const newest = -1
/** The event whose secret can be rotated. */
const rotated = 3
/** The number of events, from the first on, whose secrets another client could know. */
const knownToOthers = 2
const storiesPerTenDays = 5

const appendPoints = ['append.before', 'append.unfinished', 'append.unfinished', 'append.after'] as const

/** A sequence of deeds, each with its time after the start of the story. */
export type Story = readonly (readonly [afterMs: number, deed: Deed])[]

/** Deeds with an answer that must stay the same, wherever the engine crashes. */
const awaitedDeeds: readonly ((random: Chance) => Deed)[] = [
  r => ({ do: 'validate', person: r.person, isTrue: true, count: r.of([1, 1, 3]), hours: 0 }),
  r => ({ do: 'change', person: r.person, consent: r.below(20), verb: r.of(['approve', 'deny', 'revoke']) }),
  r => ({ do: 'notify', evento: r.below(4), to: r.below(20), count: r.of([1, 3]), copies: 0 }),
]

/** Creates and reads a consent, then continues the story. */
function withFreshConsent(r: Chance, hours: number, go: (person: number, isActive: boolean) => Story): Story {
  const [person, isActive] = [r.person, r.isTrue]
  return [
    [0, { do: 'offer', person, company: 0, hours, isActive }],
    [1, { do: 'sync', person }],
    ...go(person, isActive),
  ]
}

function addFault(fault: Fault): Deed {
  return { do: 'fault', fault }
}

/** The host removes a subscription and adds it again, with a fault at one of the changes. */
function changeMind(evento: number, fault: Fault): Deed {
  return { do: 'changeMind', evento, fault, isTaken: false }
}

/** Stories that lead to states which single deeds rarely reach. */
const stories: readonly ((random: Chance) => Story)[] = [
  // The engine crashes during a call.
  r => [
    [0, { do: 'crash', crash: { point: r.of(crashPoints), skip: r.below(4) } }],
    [1, r.of(awaitedDeeds)(r)],
  ],
  // It crashes at one of the three commits of a validation with a valid token.
  r => {
    const validate = { do: 'validate', person: r.person, isTrue: true, count: 1, hours: 0 } as const
    return [
      [0, { do: 'calm' }],
      [1, validate],
      [2, { do: 'crash', crash: { point: r.of(appendPoints), skip: r.below(3) } }],
      [3, validate],
    ]
  },
  // A status change is first seen when the consent is read in full.
  r =>
    withFreshConsent(r, 400, (person, isActive) => [
      [2, { do: 'changeThere', person, consent: newest, to: isActive ? 'REVOGADO' : r.of(['ATIVO', 'NEGADO']) }],
      [3, { do: 'readInFull', person, consent: newest }],
    ]),
  r => withFreshConsent(r, 20, person => [[21 * hourMs, { do: 'readInFull', person, consent: newest }]]),
  // The consent expires while our change is not sent, or while its result is unknown.
  r =>
    withFreshConsent(r, 20, (person, isActive) => [
      [2, addFault({ kind: r.of(['refuse', 'reset']), service: 'consentService', method: 'PUT', times: 30 })],
      [3, addFault({ kind: 'refuse', service: 'consentService', method: 'GET', times: 30 })],
      [4, { do: 'change', person, consent: newest, verb: isActive ? 'revoke' : r.of(['approve', 'deny']) }],
      [21 * hourMs, { do: 'calm' }],
      [21 * hourMs + 1, { do: 'sync', person }],
    ]),
  // Our change is made, or not, and the answer is lost.
  r =>
    withFreshConsent(r, 400, (person, isActive) => [
      [2, addFault({ kind: r.of(['lose', 'reset']), service: 'consentService', method: 'PUT', times: 1 })],
      [3, { do: 'change', person, consent: newest, verb: isActive ? 'revoke' : r.of(['approve', 'deny']) }],
    ]),
  // A denial or revocation is given up while it is not sent, or its result is unknown.
  r =>
    withFreshConsent(r, 400, (person, isActive) => [
      [2, addFault({ kind: r.of(['lose', 'reset', 'refuse']), service: 'consentService', method: 'PUT', times: 1 })],
      [3, { do: 'change', person, consent: newest, verb: isActive ? 'revoke' : 'deny' }],
      [4, { do: 'change', person, consent: newest, verb: 'withdrawEnd' }],
      [5, { do: 'use', person, consent: newest, ageMaxMinutes: -1 }],
    ]),
  // Our change of a subscription is not sent, or its result is unknown, and another client deletes the subscription.
  r => [
    [0, addFault({ kind: r.of(['refuse', 'reset']), service: 'portal', method: 'PUT', times: r.of([1, 30]) })],
    [1, { do: 'rotate' }],
    [2, { do: 'meddle', evento: rotated, how: 'delete' }],
    [3, { do: 'calm' }],
    [4, { do: 'apply', deletions: r.isTrue }],
  ],
  r => [
    [0, addFault({ kind: 'reset', service: 'portal', method: 'PUT', times: 1 })],
    [1, addFault({ kind: 'refuse', service: 'portal', method: 'GET', times: 30 })],
    [2, { do: 'rotate' }],
    [3, { do: 'meddle', evento: rotated, how: 'delete' }],
    [4, { do: 'calm' }],
    [5, { do: 'apply', deletions: r.isTrue }],
  ],
  // A deletion is not made, and its result is unknown.
  r => [
    [0, changeMind(r.below(4), { kind: 'reset', service: 'portal', method: 'DELETE', times: 1 })],
    [1, { do: 'calm' }],
  ],
  // A registration is declined, and then another client makes it.
  r => {
    const evento = r.below(knownToOthers)
    return [
      [0, changeMind(evento, { kind: 'status', status: 422, service: 'portal', method: 'POST', times: 1 })],
      [1, { do: 'calm' }],
      [2, { do: 'changeMind', evento, fault: undefined, isTaken: true }],
    ]
  },
  // The keys that first sealed the token are destroyed and the engine is restarted: the token was sealed again.
  r => [
    [0, { do: 'validate', person: r.person, isTrue: true, count: 1, hours: 0 }],
    [1, { do: 'erase', person: r.person, isBusy: false, keeps: false }],
    [4 * dayMs, { do: 'settle' }],
    [4 * dayMs + 1, { do: 'reopen' }],
    [4 * dayMs + 2, { do: 'validate', person: r.person, isTrue: true, count: 1, hours: 0 }],
  ],
  // An effect that is pending in a backup becomes unknown after the restore.
  r => [
    [0, { do: 'endToken' }],
    [1, addFault({ kind: 'refuse', service: r.of(['tokenService', 'validationService']), times: 30 })],
    [2, { do: 'validate', person: r.person, isTrue: true, count: r.of([1, 3]), hours: 0 }],
    [3, { do: 'backUp' }],
    [4, { do: 'calm' }],
    [hourMs, { do: 'restore' }],
  ],
  // The parts that an erasure kept are erased later.
  r => {
    const { person } = r
    return [
      [0, { do: 'validate', person, isTrue: true, count: 1, hours: 0 }],
      [1, { do: 'erase', person, isBusy: false, keeps: true }],
      [hourMs, { do: 'eraseRest' }],
    ]
  },
  // A late answer: the person was erased meanwhile, or someone resolved the validation.
  r => {
    const { person } = r
    const [minutes, erases] = r.of([
      [0, true],
      [2, true],
      [2, false],
      [2, false],
      [25, false],
    ] as const)
    return [
      // The token is valid by then, so the engine pauses at the answer of the validation.
      [0, { do: 'calm' }],
      [1, { do: 'validate', person: r.person, isTrue: true, count: 1, hours: 0 }],
      [2, { do: 'pause', person, what: 'validate', minutes, isDeclined: r.isTrue, erases }],
    ]
  },
]

/** Draws the stories of a seed, with the times of their deeds. They have their own seed, so other deeds do not change. */
export function drawStories(seed: number, days: number): { deed: Deed; at: number }[] {
  const random = new Chance(seed + 2_000_003)
  return drawFrom(stories, random, days, Math.ceil((days * storiesPerTenDays) / 10))
}

/** Draws a number of stories, each with its beginning within some days. */
export function drawFrom(
  stories: readonly ((random: Chance) => Story)[],
  random: Chance,
  days: number,
  count: number,
): { deed: Deed; at: number }[] {
  return Array.from({ length: count }, () => {
    const began = random.below(days * dayMs)
    return random
      .of(stories)(random)
      .map(([afterMs, deed]) => ({ deed, at: began + afterMs }))
  }).flat()
}
