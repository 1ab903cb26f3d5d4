import { type Columns, countAlike, nameActor, nameBasis, showInstant, showTable, writeDocument } from './document.ts'
import { type Html, html } from './html.ts'
import { type Labels, labelsOf } from './labels.ts'
import { showTimeline } from './show-timeline.ts'
import type { HeldKind, ReportedErasure, SeenPeriod, SubjectReport } from './subject-report.ts'

/** Writes a subject report as one HTML page. Pure: one report gives one text. */
export function writeSubjectPage(report: SubjectReport): string {
  const { language, log, subject, cpf, origin, enrolledAt } = report
  const labels = labelsOf(language)
  const facts = html`<dt>${labels.cpf}</dt><dd>${cpf ?? labels.closed}</dd>
<dt>${labels.subject}</dt><dd><code>${subject}</code></dd>
<dt>${labels.origin}</dt><dd>${origin}</dd>
<dt>${labels.since}</dt><dd>${showInstant(enrolledAt, labels)}</dd>`
  const main = html`${showErasure(report.erasure, labels)}
${[...showHolding(report, labels), ...showRecords(report, labels)].map(table => html`${table}\n`)}<h2>${labels.timeline}</h2>
${showTimeline(report.timeline, labels)}`
  return writeDocument({ language, title: labels.subjectTitle, lead: labels.subjectLead, facts, log, main }, labels)
}

/** Writes the erasure first, if the person was erased. */
function showErasure(erasure: ReportedErasure | null, labels: Labels): Html {
  if (!erasure) return html``
  const { requester, legalBasis, erasedAt, keeps, parts, cancelledCalls } = erasure
  return html`<h2>${labels.erasure}</h2>
<p><strong>${labels.erasedLead}</strong></p>
<dl>
<dt>${labels.when}</dt><dd>${showInstant(erasedAt, labels)}</dd>
<dt>${labels.requester}</dt><dd>${requester}</dd>
<dt>${labels.legalBasis}</dt><dd>${legalBasis}</dd>
<dt>${labels.erasedParts}</dt><dd>${parts}</dd>
<dt>${labels.cancelledCalls}</dt><dd>${cancelledCalls}</dd>
<dt>${labels.kept}</dt><dd>${keeps.length === 0 ? labels.nothing : keeps.join(', ')}</dd>
<dt>${labels.erasureCompleted}</dt><dd>${showInstant(erasure.completedAt, labels)}</dd>
<dt>${labels.copiesOpenUntil}</dt><dd>${erasure.isKeyKept ? labels.whileKeyKept : showInstant(erasure.copiesOpenUntil, labels)}</dd>
<dt>${labels.epochsDestroyed}</dt><dd>${showInstant(erasure.epochsDestroyedAt, labels)}</dd>
</dl>`
}

/** What is held, on what basis, who acted, and whom it was sent to. */
function showHolding({ held, bases, actors, told }: SubjectReport, labels: Labels): Html[] {
  const period: Columns<SeenPeriod> = [
    [labels.since, ({ first }) => showInstant(first, labels)],
    [labels.last, ({ last }) => showInstant(last, labels)],
  ]
  const kinds: Columns<HeldKind> = [
    [labels.kind, each => each.label],
    [labels.source, each => each.source],
    [labels.pieces, ({ held: kept, gone }) => (gone > 0 ? `${kept}, ${gone} ${labels.gone}` : String(kept))],
    ...period,
  ]
  // Calls with the same operation and outcome are one row, since readings repeat for years.
  const calls = countAlike(told, call => [call.operation, call.outcome, call.opened])
  const callColumns: Columns<(typeof calls)[number]> = [
    [labels.recipient, ({ first }) => first.service],
    [labels.operation, ({ first }) => first.label],
    [labels.opened, ({ first }) => first.opened.join('; ')],
    [labels.outcome, ({ first }) => first.outcome],
    [labels.times, ({ times }) => times],
    [labels.last, ({ last }) => showInstant(last.endedAt ?? last.owedAt, labels)],
  ]
  return [
    showTable(labels.held, held, labels, kinds, labels.heldNote),
    showTable(labels.bases, bases, labels, [
      [labels.purpose, ({ basis }) => basis?.purpose ?? html`<span class="none">${labels.noBasis}</span>`],
      [labels.legalBasis, ({ basis }) => basis?.legalBasis ?? ''],
      [labels.count, ({ events }) => events],
      ...period,
    ]),
    showTable(labels.actors, actors, labels, [
      [labels.actor, ({ actor }) => nameActor(actor, labels) ?? html`<span class="none">${labels.noActor}</span>`],
      [labels.count, ({ events }) => events],
      ...period,
    ]),
    showTable(labels.told, calls, labels, callColumns, labels.toldNote),
  ]
}

/** The person's consents with their uses, the validations and the notifications. */
function showRecords({ consents, uses, validations, notifications }: SubjectReport, labels: Labels): Html[] {
  return [
    showTable(labels.consents, consents, labels, [
      [labels.consent, each => html`<code>${each.consent}</code>`],
      [labels.controller, each => each.controller],
      [labels.status, each => each.status],
      [labels.since, each => showInstant(each.appearedAt, labels)],
      [labels.expires, each => showInstant(each.expiresAt, labels)],
      [labels.uses, each => `${each.used} ${labels.allowed}, ${each.refused} ${labels.refused}`],
    ]),
    showTable(labels.uses, uses, labels, [
      [labels.when, ({ at }) => showInstant(at, labels)],
      [labels.result, use => (use.isAllowed ? labels.allowed : html`<strong>${labels.refused}</strong>`)],
      [labels.reason, ({ reason }) => reason],
      [labels.purpose, ({ basis }) => nameBasis(basis)],
      [labels.actor, ({ actor }) => nameActor(actor, labels) ?? ''],
      [labels.consent, ({ consent }) => consent && html`<code>${consent}</code>`],
    ]),
    showTable(labels.validations, validations, labels, [
      [labels.identifier, ({ id }) => html`<code>${id}</code>`],
      [labels.when, ({ requestedAt }) => showInstant(requestedAt, labels)],
      [labels.outcome, ({ outcome }) => outcome],
      [labels.purpose, ({ basis }) => nameBasis(basis)],
    ]),
    showTable(labels.notifications, notifications, labels, [
      [labels.kind, ({ evento }) => evento],
      [labels.when, ({ receivedAt }) => showInstant(receivedAt, labels)],
      [labels.copies, ({ copies }) => copies],
      [labels.handlers, ({ handlers }) => handlers.join(', ')],
    ]),
  ]
}
