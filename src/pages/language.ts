/** The languages of reports. */
export type Language = 'pt-BR' | 'en'

/** How to write a report: JSON (the default) or one HTML page; Brazilian Portuguese (the default) or English. */
export interface PageOptions {
  readonly format?: 'json' | 'html'
  readonly language?: Language
}
