import catalog from './pt-BR.json' with { type: 'json' }

/** What the code puts together from several texts. */
export const composedMessages: Readonly<Record<string, string>> = catalog.composed

/** The Brazilian Portuguese of errors, hints, checks, faults, reasons of plans and what states of machines mean. */
export const portugueseMessages: Readonly<Record<string, string>> = {
  // By the folder that says it.
  ...Object.fromEntries(Object.values(catalog.said).flatMap(texts => Object.entries<string>(texts))),
  ...composedMessages,
}
