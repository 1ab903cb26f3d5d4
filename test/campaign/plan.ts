import { type Fault, type FaultKind, faultSchema } from '../../src/simulation/faults/fault.ts'
import { dayMs } from '../../src/vocabulary/instant.ts'
import { serviceNames } from '../../src/vocabulary/names.ts'
import { Chance } from './chance.ts'
import { crashPoints } from './crash-points.ts'
import type { Deed, Deeds, Step } from './step.ts'
import { drawStories, storiesOfWaitingCalls, storiesToRareStates } from './stories.ts'

/** How often each kind of deed is drawn, and how. */
type Weights = { readonly [K in keyof Deeds]?: readonly [weight: number, draw: (random: Chance) => Deeds[K]] }

const commonDeeds: Weights = {
  enrol: [4, r => ({ person: r.person, everyHours: r.of([0, 0, 12, 24, 48]) })],
  offer: [
    6,
    r => ({ person: r.person, company: r.below(2), hours: r.of([20, 100, 400, 9_000]), isActive: r.isOneOf(3) }),
  ],
  sync: [6, r => ({ person: r.person, company: r.of([null, null, 0, 1]) })],
  change: [10, r => ({ person: r.person, consent: r.below(20), verb: r.of(['approve', 'approve', 'deny', 'revoke']) })],
  changeThere: [4, r => ({ person: r.person, consent: r.below(20), to: r.of(['ATIVO', 'NEGADO', 'REVOGADO']) })],
  use: [8, r => ({ person: r.person, consent: r.below(20), ageMaxMinutes: r.of([0, 1, 60, 6_000, -1]) })],
  validate: [
    8,
    r => ({ person: r.person, isTrue: r.isTrue, count: r.of([1, 1, 1, 2, 5]), hours: r.of([0, 0, 0, 48]) }),
  ],
  payAgain: [1, r => ({ which: r.below(50) })],
  logIn: [2, r => ({ person: r.person, hours: r.of([0, 1, 30]) })],
  rotate: [1, () => ({})],
  hold: [1, r => ({ which: r.below(5) })],
  validateAgain: [3, r => ({ which: r.below(50), isOther: r.isOneOf(3) })],
  resolve: [1, r => ({ isCharged: r.isTrue })],
  apply: [3, r => ({ deletions: r.isTrue })],
  meddle: [1, r => ({ evento: r.below(4), how: r.of(['delete', 'change']) })],
  notify: [
    14,
    r => ({ evento: r.below(4), to: r.below(20), count: r.of([1, 1, 3, 12, 60, 600]), copies: r.of([0, 0, 0, 1, 3]) }),
  ],
  endToken: [3, () => ({})],
  settle: [12, () => ({})],
  run: [2, r => ({ seconds: 1 + r.below(8) })],
  operate: [2, () => ({})],
  rebuild: [1, () => ({})],
  look: [2, r => ({ person: r.person })],
  reopen: [2, () => ({})],
  fail: [2, r => ({ who: r.of(['follower', 'handler']), times: r.of([1, 1, 3, 9, 14]) })],
  fault: [8, r => ({ fault: drawFault(r) })],
  calm: [3, () => ({})],
  crash: [6, r => ({ crash: { point: r.of(crashPoints), skip: r.of([0, 0, 1, 2, 5, 9, 20]) } })],
  fillDisk: [1, r => ({ minutes: r.of([1, 20, 300, 3_000]) })],
  jump: [1, r => ({ ms: r.of([-3_600_000, -90_000, 0, 0, 90_000, 3_600_000]) })],
}

const changingCalls = [
  { service: 'portal', method: 'POST' },
  { service: 'portal', method: 'PUT' },
  { service: 'portal', method: 'DELETE' },
  { service: 'consentService', method: 'PUT' },
  { service: 'validationService', method: 'POST' },
] as const
const callFaults = [
  ...([{ kind: 'lose' }, { kind: 'reset' }, { kind: 'html' }, { kind: 'status', status: 422 }] as const),
  ...([{ kind: 'gateway' }, { kind: 'gateway', status: 403 }, { kind: 'gateway', status: 407 }] as const),
] as const

const portalFaults: readonly Fault[] = [
  { kind: 'lose', service: 'portal', method: 'DELETE', times: 1 },
  { kind: 'lose', service: 'portal', method: 'POST', times: 1 },
  { kind: 'status', status: 422, service: 'portal', method: 'DELETE', times: 1 },
  { kind: 'status', status: 422, service: 'portal', method: 'POST', times: 1 },
]

const rareDeeds: Weights = {
  erase: [4, r => ({ person: r.person, isBusy: r.isTrue, keeps: r.isOneOf(4) })],
  fault: [8, r => ({ fault: { ...r.of(changingCalls), ...r.of(callFaults), times: 1 } })],
  readInFull: [5, r => ({ person: r.person, consent: r.below(20) })],
  reveal: [2, r => ({ person: r.person })],
  logInNow: [2, r => ({ person: r.person })],
  handleAgain: [4, r => ({ which: r.below(50), givesUp: r.isTrue })],
  backUp: [3, () => ({})],
  restore: [1, () => ({})],
  beside: [3, r => ({ person: r.person, count: r.of([1, 2, 5]), seconds: 1 + r.below(8) })],
  pause: [
    5,
    r => ({
      person: r.person,
      what: r.of(['validate', 'validate', 'sync', 'settle', 'apply']),
      ...{ minutes: r.of([0, 2, 25]), isDeclined: r.isOneOf(4), erases: false },
    }),
  ],
  changeMind: [3, r => ({ evento: r.below(4), fault: r.of([undefined, ...portalFaults]), isTaken: r.isOneOf(3) })],
  schedule: [2, r => ({ person: r.person, everyHours: r.of([null, null, 12, 48]) })],
  upgrade: [1, r => ({ machine: r.below(20), view: r.below(20) })],
}

export const faultKinds: readonly FaultKind[] = faultSchema.shape.kind.options

/** Draws a fault with the members of its kind. Without `service` it applies to all four. */
function drawFault(random: Chance): Fault {
  const kind = random.of(faultKinds)
  const times = random.of([1, 1, 2, 4])
  switch (kind) {
    case 'clockSkew':
      return { kind, service: random.of(serviceNames), ms: random.of([-120_000, -5_000, 5_000, 120_000]) }
    case 'rejectToken':
      return { kind, times, ended: random.isTrue }
    case 'duplicate':
    case 'wrongSecret':
    case 'reorder':
      return { kind, times }
    case 'expiredCertificate':
    case 'unknownCertificate':
      return { kind, times, service: random.of(serviceNames) }
    default: {
      const members = drawFaultMembers(kind, random)
      const service = random.of([...serviceNames, 'receiver', 'receiver'] as const)
      // After the gateway refused key and secret the engine waits until they change, and here they never do.
      const isLock = service === 'tokenService' && (members.status ?? 500) < 429
      return { kind, times, ...members, service: isLock ? 'validationService' : service }
    }
  }
}

function drawFaultMembers(kind: FaultKind, random: Chance): Partial<Fault> {
  if (kind === 'delay') return { ms: random.of([50, 2_000, 5_000, 30_000]) }
  if (kind === 'trickle') return { ms: random.of([10, 400, 2_000]) }
  if (kind !== 'status') return {}
  const status = random.of([400, 401, 403, 404, 409, 422, 429, 500, 502, 503, 504])
  return status === 429 || status === 503 ? { status, retryAfterS: random.of([0, 5, 600]) } : { status }
}

/** A seed multiplies the weight of each kind of deed by one of these, so that seeds find different failures. */
const weightFactors = [0, 1, 1, 1, 4]

/** Creates the steps of a seed for a number of days. The first ones set up subscriptions and people. */
export function createPlan(seed: number, days: number): Step[] {
  const draw = (weights: Weights, random: Chance, perDay: number, factor = () => 1) => {
    const all = Object.entries(weights).flatMap(([kind, [weight, draw]]) =>
      // The kind of the draw.
      Array.from({ length: weight * factor() }, () => () => ({ do: kind, ...draw(random) }) as Deed),
    )
    return Array.from({ length: days * perDay }, () => ({ deed: random.of(all)(), at: random.below(days * dayMs) }))
  }
  const people = [0, 1, 2, 3]
  const first: Deed[] = [
    { do: 'apply', deletions: false },
    ...people.map((person): Deed => ({ do: 'offer', person, company: 0, hours: 4_000, isActive: person % 2 === 0 })),
    ...people.map((person): Deed => ({ do: 'enrol', person, everyHours: 24 })),
  ]
  const random = new Chance(seed)
  const drawn = [
    ...draw(commonDeeds, random, 8, () => random.of(weightFactors)),
    // Each has its own seed, so that other deeds do not change.
    ...draw(rareDeeds, new Chance(seed + 1_000_003), 1),
    ...drawStories(storiesToRareStates, new Chance(seed + 2_000_003), days, days / 2),
    ...drawStories(storiesOfWaitingCalls, new Chance(seed + 3_000_003), days, days / 4),
  ].sort((a, b) => a.at - b.at)
  const all = [...first.map((deed, i) => ({ deed, at: i })), ...drawn]
  return all.map(({ deed, at }, id) => ({ ...deed, id, at }))
}
