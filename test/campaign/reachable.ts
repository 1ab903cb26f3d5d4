import { viewsRebuilt } from './actions/operations.ts'
import { crashPoints } from './crash-points.ts'
import { faultKinds } from './plan.ts'
import { allTransitions } from './transitions.ts'

/** What a long campaign has to have reached at least once, by name. */
export function reachable(): string[] {
  return [
    ...faultKinds.map(kind => `fault ${kind}`),
    ...crashPoints.map(point => `crash ${point}`),
    ...allTransitions(),
    viewsRebuilt,
  ]
}
