import type { Fault } from '../../src/simulation/faults/fault.ts'
import { Chance } from './chance.ts'
import { crashPoints } from './crash-points.ts'
import type { Deed } from './step.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** The newest of a person's consents. */
const newest = -1
/** The event whose secret can be rotated. */
const rotated = 3
/** The first of the events, whose secrets others could know. */
const knownToOthers = 2
/** How many stories ten days have. */
const storiesPerTenDays = 5

const appends = ['append.before', 'append.unfinished', 'append.unfinished', 'append.after'] as const

/** Deeds that follow each other, each so long after the beginning of its story. */
type Story = readonly (readonly [afterMs: number, deed: Deed])[]

/** What somebody is waiting for: its answer stands, wherever the engine dies. */
const answered: readonly ((random: Chance) => Deed)[] = [
  r => ({ do: 'validate', person: r.person, isTrue: true, count: r.of([1, 1, 3]), hours: 0 }),
  r => ({ do: 'change', person: r.person, consent: r.below(20), verb: r.of(['approve', 'deny', 'revoke']) }),
  r => ({ do: 'notify', evento: r.below(4), to: r.below(20), count: r.of([1, 3]), copies: 0 }),
]

/** A consent that we have just read, and what is done about it. */
function fresh(r: Chance, hours: number, go: (person: number, isActive: boolean) => Story): Story {
  const [person, isActive] = [r.person, r.isTrue]
  return [
    [0, { do: 'offer', person, company: 0, hours, isActive }],
    [1, { do: 'sync', person }],
    ...go(person, isActive),
  ]
}

function fault(fault: Fault): Deed {
  return { do: 'fault', fault }
}

/** The host no longer wants what it then wants again, and the fault befalls a change of it. */
function changeMind(evento: number, fault: Fault): Deed {
  return { do: 'changeMind', evento, fault, isTaken: false }
}

/** Ways into states that deeds by themselves hardly ever lead to. */
const stories: readonly ((random: Chance) => Story)[] = [
  // The engine dies in the middle of what somebody waits for.
  r => [
    [0, { do: 'crash', crash: { point: r.of(crashPoints), skip: r.below(4) } }],
    [1, r.of(answered)(r)],
  ],
  // It dies at one of the three commits of a validation, for which there is a token.
  r => {
    const validate = { do: 'validate', person: r.person, isTrue: true, count: 1, hours: 0 } as const
    return [
      [0, { do: 'calm' }],
      [1, validate],
      [2, { do: 'crash', crash: { point: r.of(appends), skip: r.below(3) } }],
      [3, validate],
    ]
  },
  // A move that no list has shown is read in full.
  r =>
    fresh(r, 400, (person, isActive) => [
      [
        2,
        { do: 'changeThere', person, consent: newest, to: isActive ? 'REVOGADO' : r.of(['ATIVO', 'NEGADO']) },
      ],
      [3, { do: 'readInFull', person, consent: newest }],
    ]),
  r => fresh(r, 20, person => [[21 * hourMs, { do: 'readInFull', person, consent: newest }]]),
  // It ends while our change has not left, or while nobody knows whether it was made.
  r =>
    fresh(r, 20, (person, isActive) => [
      [2, fault({ kind: r.of(['refuse', 'reset']), service: 'consentService', method: 'PUT', times: 30 })],
      [3, fault({ kind: 'refuse', service: 'consentService', method: 'GET', times: 30 })],
      [4, { do: 'change', person, consent: newest, verb: isActive ? 'revoke' : r.of(['approve', 'deny']) }],
      [21 * hourMs, { do: 'calm' }],
      [21 * hourMs + 1, { do: 'sync', person }],
    ]),
  // It is made, and its answer is lost; or it is not made, and nobody knows.
  r =>
    fresh(r, 400, (person, isActive) => [
      [2, fault({ kind: r.of(['lose', 'reset']), service: 'consentService', method: 'PUT', times: 1 })],
      [3, { do: 'change', person, consent: newest, verb: isActive ? 'revoke' : r.of(['approve', 'deny']) }],
    ]),
  // Our change of a subscription has not left, or nobody knows what became of it, and somebody else deletes that.
  r => [
    [0, fault({ kind: r.of(['refuse', 'reset']), service: 'portal', method: 'PUT', times: r.of([1, 30]) })],
    [1, { do: 'rotate' }],
    [2, { do: 'meddle', evento: rotated, how: 'delete' }],
    [3, { do: 'calm' }],
    [4, { do: 'apply', deletions: r.isTrue }],
  ],
  r => [
    [0, fault({ kind: 'reset', service: 'portal', method: 'PUT', times: 1 })],
    [1, fault({ kind: 'refuse', service: 'portal', method: 'GET', times: 30 })],
    [2, { do: 'rotate' }],
    [3, { do: 'meddle', evento: rotated, how: 'delete' }],
    [4, { do: 'calm' }],
    [5, { do: 'apply', deletions: r.isTrue }],
  ],
  // A deletion is not made, and nobody knows.
  r => [
    [0, changeMind(r.below(4), { kind: 'reset', service: 'portal', method: 'DELETE', times: 1 })],
    [1, { do: 'calm' }],
  ],
  // A registration is declined, and then somebody else makes it.
  r => {
    const evento = r.below(knownToOthers)
    return [
      [0, changeMind(evento, { kind: 'status', status: 422, service: 'portal', method: 'POST', times: 1 })],
      [1, { do: 'calm' }],
      [2, { do: 'changeMind', evento, fault: undefined, isTaken: true }],
    ]
  },
  // The keys that the token was kept under at first are gone, and so is who holds it: it was sealed anew.
  r => [
    [0, { do: 'validate', person: r.person, isTrue: true, count: 1, hours: 0 }],
    [1, { do: 'erase', person: r.person, isBusy: false, keeps: false }],
    [4 * dayMs, { do: 'settle' }],
    [4 * dayMs + 1, { do: 'reopen' }],
    [4 * dayMs + 2, { do: 'validate', person: r.person, isTrue: true, count: 1, hours: 0 }],
  ],
  // What is owed when a backup is made is in doubt once that is restored.
  r => [
    [0, { do: 'endToken' }],
    [1, fault({ kind: 'refuse', service: r.of(['tokenService', 'validationService']), times: 30 })],
    [2, { do: 'validate', person: r.person, isTrue: true, count: r.of([1, 3]), hours: 0 }],
    [3, { do: 'backUp' }],
    [4, { do: 'calm' }],
    [hourMs, { do: 'restore' }],
  ],
  // What the law had kept of somebody goes too.
  r => {
    const { person } = r
    return [
      [0, { do: 'validate', person, isTrue: true, count: 1, hours: 0 }],
      [1, { do: 'erase', person, isBusy: false, keeps: true }],
      [hourMs, { do: 'eraseRest' }],
    ]
  },
  // An answer that comes late: the person was erased meanwhile, or somebody has looked into it.
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
      // The token is good by then: the answer that it stands still with is that of the validation.
      [0, { do: 'calm' }],
      [1, { do: 'validate', person: r.person, isTrue: true, count: 1, hours: 0 }],
      [2, { do: 'pause', person, what: 'validate', minutes, isDeclined: r.isTrue, erases }],
    ]
  },
]

/** The stories of a seed, with the times of their deeds. Drawn by a chance of their own: all else stays as it was. */
export function storiesOf(seed: number, days: number): { deed: Deed; at: number }[] {
  const random = new Chance(seed + 2_000_003)
  const count = Math.ceil((days * storiesPerTenDays) / 10)
  return Array.from({ length: count }, () => {
    const began = random.below(days * dayMs)
    return random
      .of(stories)(random)
      .map(([afterMs, deed]) => ({ deed, at: began + afterMs }))
  }).flat()
}
