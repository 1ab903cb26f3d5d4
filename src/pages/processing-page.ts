import type { Actor, Basis, Instant } from '../vocabulary/message.ts'
import { countAlike, showInstant, showTable, writeDocument } from './document.ts'
import { html } from './html.ts'
import { type Language, labelsOf, type ProcessingKind } from './labels.ts'
import type { ReportedLog } from './subject-report.ts'

export function writeProcessingPage(report: ProcessingReport): string {
  const { language, log, from, until, retention, security, operations } = report
  const labels = labelsOf(language)
  const rows = countAlike(operations, ({ basis, kinds, recipients, data, subjects, sources }) => [
    ...[basis, kinds, recipients, data, subjects, sources],
  ])
  const main = showTable(labels.operations, rows, labels, [
    [
      `${labels.purpose}, ${labels.legalBasis.toLowerCase()}`,
      ({ first: { basis } }) => {
        const purpose = basis?.purpose ?? html`<span class="none">${labels.noBasis}</span>`
        return html`${purpose}<div class="soft">${basis?.legalBasis}</div>`
      },
    ],
    [
      `${labels.operation} (${labels.times.toLowerCase()})`,
      ({ first, times }) => `${first.kinds.map(kind => labels.processingKinds[kind]).join(', ')} (${times})`,
    ],
    [labels.categories, ({ first }) => first.data.join('; ')],
    [labels.subjects, ({ first }) => first.subjects.join(', ')],
    [labels.source, ({ first }) => first.sources.join(', ')],
    [labels.recipients, ({ first }) => first.recipients.join(', ')],
    [
      labels.period,
      ({ first, last }) => html`<div>${showInstant(first.at, labels)}</div><div>${showInstant(last.at, labels)}</div>`,
    ],
  ])
  const facts = html`<dt>${labels.period}</dt><dd>${showInstant(from, labels)} – ${showInstant(until, labels)}</dd>
<dt>${labels.operations}</dt><dd>${operations.length}</dd>
<dt>${labels.retention}</dt><dd>${retention}</dd>
<dt>${labels.security}</dt><dd>${security}</dd>`
  const { processingTitle: title, processingLead: lead } = labels
  return writeDocument({ language, title, lead, facts, log, main, isWide: true }, labels)
}

/** One operation with personal data (LGPD article 37). */
export interface ProcessingOperation {
  readonly position: number
  readonly at: Instant
  readonly type: string
  readonly words: string
  readonly kinds: readonly ProcessingKind[]
  readonly basis: Basis | null
  readonly actor: Actor | null
  /** The owners of the data: refs of data subjects, an organisation or a subscription. */
  readonly owners: readonly string[]
  /** The categories of people that the data is about. */
  readonly subjects: readonly string[]
  /** The kinds of data that were received or opened. */
  readonly data: readonly string[]
  /** Who gave the received data. */
  readonly sources: readonly string[]
  /** The services that data was sent to. */
  readonly recipients: readonly string[]
}

/** The operations of a period, with the retention and security that apply to all of them (LGPD article 37). */
export interface ProcessingReport {
  readonly format: 'averba processing report 1'
  readonly language: Language
  readonly log: ReportedLog
  readonly from: Instant
  readonly until: Instant
  readonly retention: string
  readonly security: string
  readonly operations: readonly ProcessingOperation[]
}
