import type { PageFault } from '../proof/check-page.ts'
import type { Actor } from '../vocabulary/message.ts'
import texts from './labels.json' with { type: 'json' }
import { type Language, translateMessage } from './translate-message.ts'

export type { Language }

/** How to write a report: JSON (the default) or one HTML page; Brazilian Portuguese (the default) or English. */
export interface PageOptions {
  readonly format?: 'json' | 'html'
  readonly language?: Language
  /** Called while the log is read for the page. */
  readonly onProgress?: ((position: number, end: number) => void) | undefined
}

/** Texts by name, each in Portuguese and in English. */
export type BothLanguages<K extends string> = Readonly<Record<K, readonly [portuguese: string, english: string]>>

/** Of a file in JSON, the type does not say that each text is there in both languages: a test does. */
export function inLanguage<K extends string>(
  texts: Readonly<Record<K, readonly string[]>>,
  language: Language,
): Readonly<Record<K, string>> {
  const pairs = Object.entries<readonly string[]>(texts)
  const picked = pairs.map(([name, [portuguese, english]]) => [name, language === 'en' ? english : portuguese] as const)
  // Foreign text that is looked up finds nothing of an object's own.
  return Object.assign(Object.create(null), Object.fromEntries(picked)) as Record<K, string> // The same names.
}

/** What was done with personal data: received, sent to a service, used under a consent, or a use was refused. */
export type ProcessingKind = 'collected' | 'shared' | 'used' | 'refused'

export type Labels = ReturnType<typeof labelsOf>

/** Returns the texts of the HTML pages in a language. */
export function labelsOf(language: Language) {
  return {
    ...inLanguage(texts.labels, language),
    message: (english: string) => translateMessage(english, language),
    actorKinds: inLanguage<Actor['kind']>(texts.actorKinds, language),
    consentStatuses: inLanguage<string>(texts.consentStatuses, language),
    /** What else is known of a consent than its status. */
    knowledge: inLanguage<string>(texts.knowledge, language),
    processingKinds: inLanguage<ProcessingKind>(texts.processingKinds, language),
    script: { ...inLanguage(texts.script, language), faults: inLanguage<PageFault>(texts.faults, language) },
  }
}
