import { englishLabels } from './english-labels.ts'
import { portugueseLabels } from './portuguese-labels.ts'

/** The languages of reports. */
export type Language = 'pt-BR' | 'en'

/** How to write a report: JSON (the default) or one HTML page; Brazilian Portuguese (the default) or English. */
export interface PageOptions {
  readonly format?: 'json' | 'html'
  readonly language?: Language
}

/** The texts of the HTML pages. */
export type Labels = typeof portugueseLabels

/** Returns the texts of the HTML pages in a language. */
export function labelsOf(language: Language): Labels {
  return language === 'en' ? englishLabels : portugueseLabels
}
