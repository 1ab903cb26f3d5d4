/** The languages that reports are written in. */
export type Language = 'pt-BR' | 'en'

/**
 * How a report is written: as JSON, the default, or as one HTML page; in Brazilian Portuguese unless said otherwise.
 */
export interface PageOptions {
  readonly format?: 'json' | 'html'
  readonly language?: Language
}
