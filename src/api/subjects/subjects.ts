import type { PageOptions } from '../../pages/language.ts'
import { writeSubjectPage } from '../../pages/subject-page.ts'
import type { ApiContext } from '../api-context.ts'
import { checkPageOptions } from '../arguments.ts'
import { gatherSubjectReport } from '../reports/subject-report.ts'
import type { SubjectSelector } from '../subject-directory.ts'
import { createErasures, type Erasures } from './erasures.ts'
import { createHolds, type Holds } from './holds.ts'
import { createReveals, type Reveals } from './reveals.ts'

/** Erasure, holds, reveals and reports of data subjects. */
export interface DataSubjects extends Erasures, Holds, Reveals, Reports {}

/** Creates the `subjects` area. */
export function createDataSubjects(context: ApiContext): DataSubjects {
  return {
    ...createErasures(context),
    ...createHolds(context),
    ...createReveals(context),
    ...createReports(context),
  }
}

/** Reports on the data held about data subjects. */
export interface Reports {
  /**
   * Reports what is held about a data subject: kinds of data, since when, on what basis, who acted, what was sent to
   * which service, uses and refused uses (LGPD articles 18 and 19). Sealed data is named by kind and date only, and a
   * CPF is masked. JSON in the form of `SubjectReport`, or one HTML page. The same log gives the same report.
   *
   * @throws {AverbaError} `NOT_FOUND` when the subject is not enrolled, `INVALID_CPF`, `INVALID_INPUT`
   */
  report(selector: SubjectSelector, page?: PageOptions): Promise<string>
}

/** Creates the reports of the `subjects` area. */
function createReports(context: ApiContext): Reports {
  return {
    report: (selector, page) =>
      context.engine.admit(async () => {
        const { format, language } = checkPageOptions(page)
        const report = await gatherSubjectReport(context, selector, language)
        if (format === 'html') return writeSubjectPage(report)
        return `${JSON.stringify(report, null, 2)}\n`
      }),
  }
}
