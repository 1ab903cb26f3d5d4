import type { Actor, Basis, Instant } from '../vocabulary/message.ts'
import { showInstant, showTable, writeDocument } from './document.ts'
import { html } from './html.ts'
import { type Language, labelsOf, type ProcessingKind } from './labels.ts'
import { showLog } from './subject-page.ts'
import type { ReportedLog } from './subject-report.ts'

/** Writes a processing report as one HTML page, with one row for each kind of operation. Pure. */
export function writeProcessingPage(report: ProcessingReport): string {
  const { language, log, from, until, retention, security, operations } = report
  const labels = labelsOf(language)
  const alike = Map.groupBy(operations, ({ basis, kinds, recipients, data, subjects, sources }) =>
    JSON.stringify([basis, kinds, recipients, data, subjects, sources]),
  )
  const rows = [...alike.values()].flatMap(group => {
    const [first, last] = [group[0], group.at(-1)]
    return first && last ? [{ ...first, times: group.length, until: last.at }] : []
  })
  const table = showTable(labels.operations, rows, labels, [
    [
      `${labels.purpose}, ${labels.legalBasis.toLowerCase()}`,
      ({ basis }) => {
        const purpose = basis?.purpose ?? html`<span class="none">${labels.noBasis}</span>`
        return html`${purpose}<div class="soft">${basis?.legalBasis}</div>`
      },
    ],
    [
      `${labels.operation} (${labels.times.toLowerCase()})`,
      ({ kinds, times }) => `${kinds.map(kind => labels.processingKinds[kind]).join(', ')} (${times})`,
    ],
    [labels.categories, each => each.data.join('; ')],
    [labels.subjects, each => each.subjects.join(', ')],
    [labels.source, each => each.sources.join(', ')],
    [labels.recipients, each => each.recipients.join(', ')],
    [labels.period, row => html`<div>${showInstant(row.at, labels)}</div><div>${showInstant(row.until, labels)}</div>`],
  ])
  const body = html`<header>
<h1>${labels.processingTitle}</h1>
<p class="lead">${labels.processingLead}</p>
<dl>
<dt>${labels.period}</dt><dd>${showInstant(from, labels)} – ${showInstant(until, labels)}</dd>
<dt>${labels.operations}</dt><dd>${operations.length}</dd>
<dt>${labels.retention}</dt><dd>${retention}</dd>
<dt>${labels.security}</dt><dd>${security}</dd>
${showLog(log, labels)}
</dl>
</header>
<main class="wide">
${table}
</main>
<footer><p>${labels.footer}</p></footer>`
  return writeDocument({ language, title: labels.processingTitle, body })
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
