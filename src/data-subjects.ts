import type { Area } from './area.ts'
import { createErasures, type Erasures } from './erasures.ts'
import { createReports, type Reports } from './reports.ts'

/** Data subjects, and what is theirs. */
export interface DataSubjects extends Erasures, Reports {}

/** Makes the area `subjects`. */
export function createDataSubjects(area: Area): DataSubjects {
  return { ...createErasures(area), ...createReports(area) }
}
