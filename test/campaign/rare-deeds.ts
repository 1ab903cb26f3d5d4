import type { Fault } from '../../src/simulation/faults/fault.ts'
import { Chance } from './chance.ts'
import type { CreateDeed } from './plan.ts'
import type { Deed } from './step.ts'

const dayMs = 86_400_000
/** Calls that change data at a service. */
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

/** Faults of a change at the portal, for `changeMind`. */
const portalFaults: readonly Fault[] = [
  { kind: 'lose', service: 'portal', method: 'DELETE', times: 1 },
  { kind: 'lose', service: 'portal', method: 'POST', times: 1 },
  { kind: 'status', status: 422, service: 'portal', method: 'DELETE', times: 1 },
  { kind: 'status', status: 422, service: 'portal', method: 'POST', times: 1 },
]

const deeds: readonly (readonly [weight: number, make: CreateDeed])[] = [
  [4, r => ({ do: 'erase', person: r.person, isBusy: r.isTrue, keeps: r.below(4) === 0 })],
  [8, r => ({ do: 'fault', fault: { ...r.of(changingCalls), ...r.of(callFaults), times: 1 } })],
  [5, r => ({ do: 'readInFull', person: r.person, consent: r.below(20) })],
  [2, r => ({ do: 'reveal', person: r.person })],
  [2, r => ({ do: 'logInNow', person: r.person })],
  [2, r => ({ do: 'handleAgain', which: r.below(50) })],
  [3, () => ({ do: 'backUp' })],
  [1, () => ({ do: 'restore' })],
  [3, r => ({ do: 'beside', person: r.person, count: r.of([1, 2, 5]), seconds: 1 + r.below(8) })],
  [
    5,
    r => ({
      do: 'pause',
      person: r.person,
      what: r.of(['validate', 'validate', 'sync', 'settle', 'apply']),
      minutes: r.of([0, 2, 25]),
      isDeclined: r.below(4) === 0,
      erases: false,
    }),
  ],
  [
    3,
    r => ({
      do: 'changeMind',
      evento: r.below(4),
      fault: r.of([undefined, ...portalFaults]),
      isTaken: r.below(3) === 0,
    }),
  ],
  [1, () => ({ do: 'fail', who: 'handler', times: 60 })],
  [2, r => ({ do: 'schedule', person: r.person, everyHours: r.of([null, null, 12, 48]) })],
  [1, r => ({ do: 'upgrade', machine: r.below(20), view: r.below(20) })],
]

/** Draws rare deeds with their times. They have their own seed, so other deeds do not change. */
export function drawRareDeeds(seed: number, days: number): { deed: Deed; at: number }[] {
  const random = new Chance(seed + 1_000_003)
  const all = deeds.flatMap(([weight, make]) => Array.from({ length: weight }, () => make))
  return Array.from({ length: days }, () => {
    return { deed: random.of(all)(random), at: random.below(days * dayMs) }
  })
}
