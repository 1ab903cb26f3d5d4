import { showTable, writeDocument } from './document.ts'
import { html } from './html.ts'
import { showInstant } from './instants.ts'
import { labelsOf } from './language.ts'
import type { ProcessingOperation, ProcessingReport } from './processing-report.ts'
import { showLog } from './subject-page.ts'

/** Writes a processing report as one HTML page, with one row for each kind of operation. Pure. */
export function writeProcessingPage(report: ProcessingReport): string {
  const { language, log, from, until, retention, security, operations } = report
  const labels = labelsOf(language)
  const groups = new Map<string, ProcessingOperation[]>()
  for (const operation of operations) {
    const { basis, kinds, recipients, data, subjects, sources } = operation
    const key = JSON.stringify([basis, kinds, recipients, data, subjects, sources])
    const group = groups.get(key)
    if (group) group.push(operation)
    else groups.set(key, [operation])
  }
  const rows = [...groups.values()].flatMap(group => {
    const [first, last] = [group[0], group.at(-1)]
    if (!first || !last) return []
    const { basis, kinds, data, subjects, sources, recipients } = first
    const purpose = basis?.purpose ?? html`<span class="none">${labels.noBasis}</span>`
    return [
      [
        html`${purpose}<div class="soft">${basis?.legalBasis}</div>`,
        `${kinds.map(kind => labels.processingKinds[kind]).join(', ')} (${group.length})`,
        data.join('; '),
        subjects.join(', '),
        sources.join(', '),
        recipients.join(', '),
        html`<div>${showInstant(first.at, labels)}</div><div>${showInstant(last.at, labels)}</div>`,
      ],
    ]
  })
  const headings = [
    `${labels.purpose}, ${labels.legalBasis.toLowerCase()}`,
    `${labels.operation} (${labels.times.toLowerCase()})`,
    labels.categories,
    labels.subjects,
    labels.source,
    labels.recipients,
    labels.period,
  ]
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
<h2>${labels.operations}</h2>
${showTable(labels.operations, headings, rows, labels)}
</main>
<footer><p>${labels.footer}</p></footer>`
  return writeDocument({ language, title: labels.processingTitle, body })
}
