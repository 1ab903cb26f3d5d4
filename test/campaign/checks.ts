import type { MakeCheck } from './check.ts'
import { nothingLost } from './checks/nothing-lost.ts'
import { viewsEqualReplay } from './checks/views-equal-replay.ts'

/** What has to hold, by name. */
export const checks: Readonly<Record<string, MakeCheck>> = {
  'nothing-lost': nothingLost,
  'views-equal-replay': viewsEqualReplay,
}
