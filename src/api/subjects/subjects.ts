import type { Area } from '../area.ts'
import { createErasures, type Erasures } from './erasures.ts'
import { createHolds, type Holds } from './holds.ts'
import { createReports, type Reports } from './reports.ts'
import { createReveals, type Reveals } from './reveals.ts'

/** Data subjects, and what is theirs. */
export interface DataSubjects extends Erasures, Holds, Reveals, Reports {}

/** Makes the area `subjects`. */
export function createDataSubjects(area: Area): DataSubjects {
  return { ...createErasures(area), ...createHolds(area), ...createReveals(area), ...createReports(area) }
}
