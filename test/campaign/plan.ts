import { type Fault, type FaultKind, faultSchema } from '../../src/simulation/faults/fault.ts'
import { serviceNames } from '../../src/vocabulary/names.ts'
import { drawDelayedCalls } from './calls-that-wait.ts'
import { Chance } from './chance.ts'
import { crashPoints } from './crash-points.ts'
import { drawRareDeeds } from './rare-deeds.ts'
import type { Deed, Step } from './step.ts'
import { drawStories } from './stories.ts'

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

const deedsPerDay = 8

/** Creates a random deed. */
export type CreateDeed = (random: Chance) => Deed

const deeds: readonly (readonly [weight: number, make: CreateDeed])[] = [
  [4, r => ({ do: 'enrol', person: r.person, everyHours: r.of([0, 0, 12, 24, 48]) })],
  [
    6,
    r => ({
      do: 'offer',
      person: r.person,
      company: r.below(2),
      hours: r.of([20, 100, 400, 9_000]),
      isActive: r.below(3) === 0,
    }),
  ],
  [6, r => ({ do: 'sync', person: r.person, company: r.of([null, null, 0, 1]) })],
  [
    10,
    r => ({
      do: 'change',
      person: r.person,
      consent: r.below(20),
      verb: r.of(['approve', 'approve', 'deny', 'revoke']),
    }),
  ],
  [
    4,
    r => ({
      do: 'changeThere',
      person: r.person,
      consent: r.below(20),
      to: r.of(['ATIVO', 'NEGADO', 'REVOGADO']),
    }),
  ],
  [8, r => ({ do: 'use', person: r.person, consent: r.below(20), ageMaxMinutes: r.of([0, 1, 60, 6_000, -1]) })],
  [
    8,
    r => ({
      do: 'validate',
      person: r.person,
      isTrue: r.isTrue,
      count: r.of([1, 1, 1, 2, 5]),
      hours: r.of([0, 0, 0, 48]),
    }),
  ],
  [1, r => ({ do: 'payAgain', which: r.below(50) })],
  [2, r => ({ do: 'logIn', person: r.person, hours: r.of([0, 1, 30]) })],
  [1, () => ({ do: 'rotate' })],
  [1, r => ({ do: 'hold', which: r.below(5) })],
  [3, r => ({ do: 'validateAgain', which: r.below(50), isOther: r.below(3) === 0 })],
  [1, r => ({ do: 'resolve', isCharged: r.isTrue })],
  [3, r => ({ do: 'apply', deletions: r.isTrue })],
  [1, r => ({ do: 'meddle', evento: r.below(4), how: r.of(['delete', 'change']) })],
  [
    14,
    r => ({
      do: 'notify',
      evento: r.below(4),
      to: r.below(20),
      count: r.of([1, 1, 3, 12, 60, 600]),
      copies: r.of([0, 0, 0, 1, 3]),
    }),
  ],
  [3, () => ({ do: 'endToken' })],
  [12, () => ({ do: 'settle' })],
  [2, r => ({ do: 'run', seconds: 1 + r.below(8) })],
  [2, () => ({ do: 'operate' })],
  [1, () => ({ do: 'rebuild' })],
  [2, r => ({ do: 'look', person: r.person })],
  [2, () => ({ do: 'reopen' })],
  [2, r => ({ do: 'fail', who: r.of(['follower', 'handler']), times: r.of([1, 1, 3, 9, 14]) })],
  [8, r => ({ do: 'fault', fault: drawFault(r) })],
  [3, () => ({ do: 'calm' })],
  [6, r => ({ do: 'crash', crash: { point: r.of(crashPoints), skip: r.of([0, 0, 1, 2, 5, 9, 20]) } })],
  [1, r => ({ do: 'fillDisk', minutes: r.of([1, 20, 300, 3_000]) })],
  [1, r => ({ do: 'jump', ms: r.of([-3_600_000, -90_000, 0, 0, 90_000, 3_600_000]) })],
]

/** Every kind of fault that a plan draws from. */
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

/** Draws deeds with the weights of one seed. */
function createDeedDrawer(random: Chance): () => Deed {
  const weighted = deeds.map(([weight, make]) => ({ weight: weight * random.of(weightFactors), make }))
  const sum = weighted.reduce((total, { weight }) => total + weight, 0)
  return () => {
    let left = random.below(sum)
    for (const { weight, make } of weighted) {
      left -= weight
      if (left < 0) return make(random)
    }
    throw new TypeError('The weights do not add up')
  }
}

/** Creates the steps of a seed for a number of days. The first ones set up subscriptions and people. */
export function createPlan(seed: number, days: number): Step[] {
  const random = new Chance(seed)
  const first: Deed[] = [
    { do: 'apply', deletions: false },
    ...Array.from(
      { length: 4 },
      (_, person): Deed => ({ do: 'offer', person, company: 0, hours: 4_000, isActive: person % 2 === 0 }),
    ),
    ...Array.from({ length: 4 }, (_, person): Deed => ({ do: 'enrol', person, everyHours: 24 })),
  ]
  const draw = createDeedDrawer(random)
  const drawn = Array.from({ length: days * deedsPerDay }, () => ({
    deed: draw(),
    at: random.below(days * dayMs),
  }))
  drawn.push(...drawRareDeeds(seed, days), ...drawStories(seed, days), ...drawDelayedCalls(seed, days))
  drawn.sort((a, b) => a.at - b.at)
  const all = [...first.map((deed, i) => ({ deed, at: i })), ...drawn]
  return all.map(({ deed, at }, id) => ({ ...deed, id, at }))
}
