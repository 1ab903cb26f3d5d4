import { viewsRebuilt } from './actions/operations.ts'
import { crashPoints } from './crash-points.ts'
import { faultKinds } from './plan.ts'
import { allTransitions } from './transitions.ts'

/** The names of everything that a long campaign must reach at least once, unless explained. */
export function reachable(): string[] {
  return [
    ...faultKinds.map(kind => `fault ${kind}`),
    ...crashPoints.map(point => `crash ${point}`),
    ...allTransitions(),
    viewsRebuilt,
  ]
}
