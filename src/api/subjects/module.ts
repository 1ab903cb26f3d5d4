import type { Language, PageOptions } from '../../pages/labels.ts'
import { writeSubjectPage } from '../../pages/subject-page.ts'
import type { ApiContext } from '../api-context.ts'
import type { Module } from '../module.ts'
import { indexRow } from '../module.ts'
import { gatherSubjectReport, writeReport } from '../reports/subject-report.ts'
import type { SubjectSelector } from '../subject-directory.ts'
import { createErasures, createKeyPerformers, type Erasures } from './erasures.ts'
import { createHolds, createRetention, type Holds, logIdleRetention } from './retention.ts'
import { createReveals, type Reveals } from './reveals.ts'

/** Creates the module of data subjects, with erasure and retention. */
export function createSubjectModule(context: ApiContext): Module<{ subjects: DataSubjects }> {
  const retention = createRetention(context)
  logIdleRetention(context)
  const gather = (selector: SubjectSelector) => (language: Language) => gatherSubjectReport(context, selector, language)
  return {
    methods: {
      subjects: {
        ...createErasures(context),
        ...createHolds(context),
        ...createReveals(context),
        report: (selector, page) => context.engine.admit(() => writeReport(page, gather(selector), writeSubjectPage)),
      },
    },
    performers: createKeyPerformers(context),
    jobs: [{ name: 'retention', runDue: () => retention.runDue() }],
    indexRows: () => ({
      'subject.enrolled': async ({ data }, open) => indexRow('cpf', await open('cpf'), data.subject),
    }),
  }
}

/** Erasure, holds, reveals and reports of data subjects. */
export interface DataSubjects extends Erasures, Holds, Reveals, Reports {}

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
