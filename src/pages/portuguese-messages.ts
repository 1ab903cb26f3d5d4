import catalog from './pt-BR.json' with { type: 'json' }
import { stateMeanings } from './state-meanings.ts'

/** What the code puts together from several texts. */
export const composedMessages: Readonly<Record<string, string>> = catalog.composed

/** The Brazilian Portuguese of errors, hints, checks, reasons of plans and faults that a verification finds. */
export const portugueseMessages: Readonly<Record<string, string>> = {
  // By the folder that says it.
  ...Object.fromEntries(Object.values(catalog.said).flatMap(texts => Object.entries<string>(texts))),
  ...composedMessages,
  ...stateMeanings,
}
