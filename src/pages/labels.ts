import { englishLabels } from './english-labels.ts'
import type { Language } from './language.ts'
import { portugueseLabels } from './portuguese-labels.ts'

/** The texts of the HTML pages. */
export type Labels = typeof portugueseLabels

/** Returns the texts of the HTML pages in a language. */
export function labelsOf(language: Language): Labels {
  return language === 'en' ? englishLabels : portugueseLabels
}
