import type { ApiContext } from '../api-context.ts'
import { indexRow } from '../keyed-index.ts'
import type { Module } from '../module.ts'
import { createKeyPerformers } from './key-performers.ts'
import { logIdleRetention, Retention } from './retention.ts'
import { createDataSubjects, type DataSubjects } from './subjects.ts'

/** The area of data subjects. */
export interface SubjectMethods {
  readonly subjects: DataSubjects
}

/** Creates the module of data subjects, with erasure and retention. */
export function createSubjectModule(context: ApiContext): Module<SubjectMethods> {
  const retention = new Retention(context)
  logIdleRetention(context)
  return {
    methods: { subjects: createDataSubjects(context) },
    performers: createKeyPerformers(context),
    jobs: [{ name: 'retention', runDue: () => retention.runDue() }],
    indexRows: () => ({
      'subject.enrolled': async ({ data }, open) => indexRow('cpf', await open('cpf'), data.subject),
    }),
  }
}
