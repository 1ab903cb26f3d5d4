import type { Fault } from '../../src/simulation/faults/fault.ts'
import { dayMs, hourMs, minuteMs } from '../../src/vocabulary/instant.ts'
import type { Chance } from './chance.ts'
import { crashPoints } from './crash-points.ts'
import type { Deed } from './step.ts'

/** The newest of a person's consents. */
const consent = -1
/** The event whose secret can be rotated. */
const rotated = 3
/** The number of events, from the first on, whose secrets another client could know. */
const knownToOthers = 2

const appendPoints = ['append.before', 'append.unfinished', 'append.unfinished', 'append.after'] as const

/** A sequence of deeds, each with its time after the start of the story. */
type Story = readonly (readonly [afterMs: number, deed: Deed])[]
type CreateStory = (r: Chance) => Story

const calm: Deed = { do: 'calm' }
const settle: Deed = { do: 'settle' }
const addFault = (fault: Fault): Deed => ({ do: 'fault', fault })
const validate = (person: number, count = 1): Deed => ({ do: 'validate', person, isTrue: true, count, hours: 0 })

/** The host removes a subscription and adds it again, with a fault at one of the changes. */
const changeMind = (evento: number, fault: Fault): Deed => ({ do: 'changeMind', evento, fault, isTaken: false })

/** Deeds with an answer that must stay the same, wherever the engine crashes. */
const awaitedDeeds: readonly ((r: Chance) => Deed)[] = [
  r => validate(r.person, r.of([1, 1, 3])),
  r => ({ do: 'change', person: r.person, consent: r.below(20), verb: r.of(['approve', 'deny', 'revoke']) }),
  r => ({ do: 'notify', evento: r.below(4), to: r.below(20), count: r.of([1, 3]), copies: 0 }),
]

function withFreshConsent(hours: number, go: (r: Chance, person: number, isActive: boolean) => Story): CreateStory {
  return r => {
    const [person, isActive] = [r.person, r.isTrue]
    return [
      [0, { do: 'offer', person, company: 0, hours, isActive }],
      [1, { do: 'sync', person }],
      ...go(r, person, isActive),
    ]
  }
}

/** Faults keep us from changing the secret of a subscription, and another client deletes it meanwhile. */
const deleteWhileRotating = (r: Chance, ...faults: readonly Fault[]): Story => {
  const deeds: Deed[] = [{ do: 'rotate' }, { do: 'meddle', evento: rotated, how: 'delete' }, calm]
  const all = [...faults.map(addFault), ...deeds, { do: 'apply', deletions: r.isTrue } as const]
  return all.map((deed, i) => [i, deed])
}

/** Stories that lead to states which single deeds rarely reach. */
export const storiesToRareStates: readonly CreateStory[] = [
  // The engine crashes during a call.
  r => [
    [0, { do: 'crash', crash: { point: r.of(crashPoints), skip: r.below(4) } }],
    [1, r.of(awaitedDeeds)(r)],
  ],
  // It crashes at one of the three commits of a validation with a valid token.
  r => {
    const again = validate(r.person)
    return [
      [0, calm],
      [1, again],
      [2, { do: 'crash', crash: { point: r.of(appendPoints), skip: r.below(3) } }],
      [3, again],
    ]
  },
  // A status change is first seen when the consent is read in full.
  withFreshConsent(400, (r, person, isActive) => [
    [2, { do: 'changeThere', person, consent, to: isActive ? 'REVOGADO' : r.of(['ATIVO', 'NEGADO']) }],
    [3, { do: 'readInFull', person, consent }],
  ]),
  withFreshConsent(20, (_, person) => [[21 * hourMs, { do: 'readInFull', person, consent }]]),
  // The consent expires while our change is not sent, or while its result is unknown.
  withFreshConsent(20, (r, person, isActive) => [
    [2, addFault({ kind: r.of(['refuse', 'reset']), service: 'consentService', method: 'PUT', times: 30 })],
    [3, addFault({ kind: 'refuse', service: 'consentService', method: 'GET', times: 30 })],
    [4, { do: 'change', person, consent, verb: isActive ? 'revoke' : r.of(['approve', 'deny']) }],
    [21 * hourMs, calm],
    [21 * hourMs + 1, { do: 'sync', person }],
  ]),
  // Our change is made, or not, and the answer is lost.
  withFreshConsent(400, (r, person, isActive) => [
    [2, addFault({ kind: r.of(['lose', 'reset']), service: 'consentService', method: 'PUT', times: 1 })],
    [3, { do: 'change', person, consent, verb: isActive ? 'revoke' : r.of(['approve', 'deny']) }],
  ]),
  // A denial or revocation is given up while it is not sent, or its result is unknown.
  withFreshConsent(400, (r, person, isActive) => [
    [2, addFault({ kind: r.of(['lose', 'reset', 'refuse']), service: 'consentService', method: 'PUT', times: 1 })],
    [3, { do: 'change', person, consent, verb: isActive ? 'revoke' : 'deny' }],
    [4, { do: 'change', person, consent, verb: 'withdrawEnd' }],
    [5, { do: 'use', person, consent, ageMaxMinutes: -1 }],
  ]),
  // Our change of a subscription is not sent, or its result is unknown, and another client deletes the subscription.
  r =>
    deleteWhileRotating(r, { kind: r.of(['refuse', 'reset']), service: 'portal', method: 'PUT', times: r.of([1, 30]) }),
  r =>
    deleteWhileRotating(
      r,
      { kind: 'reset', service: 'portal', method: 'PUT', times: 1 },
      { kind: 'refuse', service: 'portal', method: 'GET', times: 30 },
    ),
  // A deletion is not made, and its result is unknown.
  r => [
    [0, changeMind(r.below(4), { kind: 'reset', service: 'portal', method: 'DELETE', times: 1 })],
    [1, calm],
  ],
  // A registration is declined, and then another client makes it.
  r => {
    const evento = r.below(knownToOthers)
    return [
      [0, changeMind(evento, { kind: 'status', status: 422, service: 'portal', method: 'POST', times: 1 })],
      [1, calm],
      [2, { do: 'changeMind', evento, fault: undefined, isTaken: true }],
    ]
  },
  // The keys that first sealed the token are destroyed and the engine is restarted: the token was sealed again.
  r => [
    [0, validate(r.person)],
    [1, { do: 'erase', person: r.person, isBusy: false, keeps: false }],
    [4 * dayMs, settle],
    [4 * dayMs + 1, { do: 'reopen' }],
    [4 * dayMs + 2, validate(r.person)],
  ],
  // An effect that is pending in a backup becomes unknown after the restore.
  r => [
    [0, { do: 'endToken' }],
    [1, addFault({ kind: 'refuse', service: r.of(['tokenService', 'validationService']), times: 30 })],
    [2, validate(r.person, r.of([1, 3]))],
    [3, { do: 'backUp' }],
    [4, calm],
    [hourMs, { do: 'restore' }],
  ],
  // The parts that an erasure kept are erased later.
  ({ person }) => [
    [0, validate(person)],
    [1, { do: 'erase', person, isBusy: false, keeps: true }],
    [hourMs, { do: 'eraseRest' }],
  ],
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
      [0, calm],
      [1, validate(r.person)],
      [2, { do: 'pause', person, what: 'validate', minutes, isDeclined: r.isTrue, erases }],
    ]
  },
]

/** A consent is offered to a person who is enrolled, and read. */
const offerAndReadConsent = (person: number, isActive: boolean, hours = 400): Story => [
  [0, calm],
  [1, { do: 'offer', person, company: 0, hours, isActive }],
  [2, { do: 'enrol', person, everyHours: 0 }],
  [3, { do: 'sync', person }],
]

const refusePut = addFault({ kind: 'refuse', service: 'consentService', method: 'PUT', times: 30 })

/** A consent is used right after its expiry, or while our revocation is not yet sent. */
const lateUse: CreateStory = r => {
  const { person } = r
  const use: Deed = { do: 'use', person, consent, ageMaxMinutes: -1 }
  if (r.isTrue) return [...offerAndReadConsent(person, true, 20), [20 * hourMs + 5 * minuteMs, use]]
  return [
    ...offerAndReadConsent(person, true),
    [4, refusePut],
    [5, { do: 'change', person, consent, verb: 'revoke' }],
    [6, use],
    [7, calm],
    [hourMs, settle],
  ]
}

export const storiesOfWaitingCalls: readonly CreateStory[] = [
  // A validation under a consent is deferred. In half of the cases the consent is revoked before the call is sent.
  r => {
    const { person } = r
    const revoke: Story = [[7, { do: 'change', person, consent, verb: 'revoke' }]]
    return [
      ...offerAndReadConsent(person, true),
      [4, addFault({ kind: 'refuse', service: 'validationService', times: 30 })],
      [5, { do: 'validateUnder', person, consent }],
      [6, calm],
      ...(r.isTrue ? revoke : []),
      [hourMs, settle],
    ]
  },
  // An approval is deferred, or parked too. Before it is sent, the person denies the consent.
  r => {
    const { person } = r
    const hold: Story[number] = [6, { do: 'hold', which: 0 }]
    return [
      ...offerAndReadConsent(person, false),
      [4, refusePut],
      [5, { do: 'change', person, consent, verb: 'approve' }],
      ...(r.isTrue ? [hold, hold, hold, hold] : []),
      [7, calm],
      [8, { do: 'change', person, consent, verb: 'deny' }],
      [hourMs, settle],
    ]
  },
  // A handler fails, until it is parked at times, and the operator gives the notification up.
  r => [
    [0, { do: 'fail', who: 'handler', times: 60 }],
    [1, { do: 'notify', evento: r.below(4), to: r.below(20), count: 1, copies: 0 }],
    ...Array.from({ length: r.of([1, 24]) }, (_, hour) => [2 + hour * hourMs, settle] as const),
    [r.of([1, 24]) * hourMs, { do: 'handleAgain', which: 0, givesUp: true }],
  ],
  // A valid token is rejected, and the gateway still issues the same one.
  ({ person }) => [
    [0, calm],
    [1, validate(person)],
    [2, addFault({ kind: 'rejectToken', ended: false, times: 1 })],
    [3, validate(person)],
    [2 * hourMs, settle],
  ],
  lateUse,
  lateUse,
]

/** Draws a number of stories, each with its beginning within some days. */
export function drawStories(stories: readonly CreateStory[], random: Chance, days: number, count: number) {
  return Array.from({ length: Math.ceil(count) }, () => {
    const began = random.below(days * dayMs)
    const story = random.of(stories)(random)
    return story.map(([afterMs, deed]) => ({ deed, at: began + afterMs }))
  }).flat()
}
