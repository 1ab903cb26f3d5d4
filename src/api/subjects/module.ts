import type { RevealedParts } from '../../machines/reveal.ts'
import type { PageOptions } from '../../pages/labels.ts'
import { writeSubjectPage } from '../../pages/subject-page.ts'
import type { Actor } from '../../vocabulary/message.ts'
import type { ApiContext } from '../api-context.ts'
import { indexRow, type Module } from '../module.ts'
import { gatherSubjectReport, writeReport } from '../reports/subject-report.ts'
import type { SubjectSelector } from '../subject-directory.ts'
import { createErasures, createKeyPerformers, type Erasures } from './erasures.ts'
import { createHolds, createRetention, type Holds, logIdleRetention } from './retention.ts'
import { checkRevealRequest, createReveals, type Reveals, recordReveal } from './reveals.ts'

export function createSubjectModule(context: ApiContext): Module<{ subjects: DataSubjects }> {
  const retention = createRetention(context)
  logIdleRetention(context)
  const report = async (selector: SubjectSelector, { reveal, ...page }: SubjectPageOptions = {}): Promise<string> => {
    if (reveal !== undefined) checkRevealRequest(Object(reveal))
    const record =
      reveal &&
      ((revealed: Pick<RevealedParts, 'parts' | 'owners'>) =>
        recordReveal(context, 'subjects.report', { ...revealed, purpose: reveal.purpose }, reveal.actor))
    return writeReport(page, (...how) => gatherSubjectReport(context, selector, record, ...how), writeSubjectPage)
  }
  return {
    methods: {
      subjects: {
        ...createErasures(context),
        ...createHolds(context),
        ...createReveals(context),
        report: (selector, page) => context.engine.admit(() => report(selector, page)),
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

/** How to write a report to a data subject. */
export interface SubjectPageOptions extends PageOptions {
  /** Adds the data itself (LGPD article 18 II), once it is recorded who opens it and for what purpose. */
  readonly reveal?: { readonly actor: Actor; readonly purpose: string }
}

/** Reports on the data held about data subjects. */
export interface Reports {
  /**
   * Reports what is held about a data subject: kinds of data, since when, on what basis, who acted, what was sent to
   * which service, uses and refused uses (LGPD articles 18 and 19). Unless `reveal` is given, sealed data is named by
   * kind and date only, but for controller and purpose of consents, and a CPF is masked. JSON in the form of
   * `SubjectReport`, or one HTML page, in the name of the option `organisation`. The same log gives the same report.
   *
   * @throws {AverbaError} `NOT_FOUND` when the subject is not enrolled, `INVALID_CPF`, `INVALID_INPUT`, `PERSONAL_ID`
   */
  report(selector: SubjectSelector, page?: SubjectPageOptions): Promise<string>
}
