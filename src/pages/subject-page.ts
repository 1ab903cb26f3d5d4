import type { Json } from '../vocabulary/message.ts'
import {
  type Columns,
  countAlike,
  nameActor,
  nameBasis,
  showCnpj,
  showInstant,
  showTable,
  writeDocument,
} from './document.ts'
import { type Html, html } from './html.ts'
import { type Labels, labelsOf } from './labels.ts'
import { showTimeline } from './show-timeline.ts'
import type {
  HeldKind,
  OpenedPiece,
  ReportedConsent,
  ReportedErasure,
  SeenPeriod,
  SubjectReport,
} from './subject-report.ts'

/** Writes a subject report as one HTML page, for the person. Pure: one report gives one text. */
export function writeSubjectPage(report: SubjectReport): string {
  const { language, log, organisation, subject, cpf, origin, enrolledAt, timeline } = report
  const labels = labelsOf(language)
  const facts = html`<dt>${labels.cpf}</dt><dd>${cpf ?? labels.closed}</dd>
<dt>${labels.since}</dt><dd>${showInstant(enrolledAt, labels)} <span class="soft">·</span> ${origin}</dd>`
  const sender =
    organisation &&
    html`<p class="sender">${organisation.name}</p><p class="soft">${labels.contact}: ${organisation.contact}</p>`
  const tables = [...showConsents(report, labels), ...showRecords(report, labels), ...showHolding(report, labels)]
  const main = html`${showErasure(report.erasure, labels)}
${showSummary(report, labels)}
${tables.map(table => html`${table}\n`)}<h2>${labels.technical}</h2>
<details><summary>${timeline.length} ${labels.events}</summary>
<p class="soft">${labels.subject} <code>${subject}</code></p>
${showTimeline(timeline, labels)}
</details>`
  const { subjectTitle: title, subjectLead: lead } = labels
  return writeDocument({ language, title, lead, sender: sender ?? undefined, facts, log, main }, labels)
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

/** The whole report in four lines. */
function showSummary({ held, consents, uses, told }: SubjectReport, labels: Labels): Html {
  const pieces = held.reduce((sum, each) => sum + each.held, 0)
  const statuses = Map.groupBy(consents, each => labels.consentStatuses[each.status] ?? each.status)
  const results = Map.groupBy(uses, ({ isAllowed }) => (isAllowed ? labels.allowed : labels.refused))
  const count = (groups: ReadonlyMap<string, readonly unknown[]>) =>
    [...groups].map(([name, { length }]) => `${name}: ${length}`).join(', ') || labels.nothing
  const services = [...new Set(told.map(({ service }) => service))]
  return html`<section class="card"><strong>${labels.summary}</strong>
<dl>
<dt>${labels.piecesHeld}</dt><dd>${pieces}</dd>
<dt>${labels.consents}</dt><dd>${count(statuses)}</dd>
<dt>${labels.uses}</dt><dd>${count(results)}</dd>
<dt>${labels.sharedWith}</dt><dd>${services.join(', ') || labels.nothing}</dd>
</dl></section>`
}

/** The consents by purpose and controller, and the uses of data under them. */
function showConsents({ consents, uses }: SubjectReport, labels: Labels): Html[] {
  const groups = Map.groupBy(consents, each => nameConsent(each, labels))
  const names = new Map(consents.map(each => [each.consent, nameConsent(each, labels)]))
  const columns: Columns<ReportedConsent> = [
    [labels.status, each => nameStatus(each, labels)],
    [labels.listedSince, each => showInstant(each.appearedAt, labels)],
    [labels.expires, each => showInstant(each.expiresAt, labels)],
    [labels.uses, each => countUses(each, labels)],
  ]
  return [
    html`<h2>${labels.consents}</h2>
${consents.length === 0 && html`<p class="none">${labels.nothing}</p>`}`,
    ...[...groups].map(([name, each]) => showTable(name, each, labels, columns, { level: 3 })),
    showTable(labels.uses, uses, labels, [
      [labels.when, ({ at }) => showInstant(at, labels)],
      [labels.result, use => (use.isAllowed ? labels.allowed : html`<strong>${labels.refused}</strong>`)],
      [labels.reason, ({ reason }) => reason],
      [labels.purpose, ({ basis }) => nameBasis(basis)],
      [labels.actor, ({ actor }) => nameActor(actor, labels) ?? ''],
      [labels.consent, ({ consent }) => names.get(consent ?? '') ?? labels.none],
    ]),
  ]
}

/** Names a consent by its purpose and its controller, as its service does. */
function nameConsent({ controller, controllerName, purpose }: ReportedConsent, labels: Labels): string {
  const cnpj = controller && showCnpj(controller)
  const who = [controllerName, cnpj].filter(Boolean).join(', ')
  return [purpose ?? labels.noPurpose, who || labels.none].join(' – ')
}

function countUses({ used, refused }: ReportedConsent, labels: Labels): string {
  const counts = [used > 0 && `${labels.allowed}: ${used}`, refused > 0 && `${labels.refused}: ${refused}`]
  return counts.filter(each => each !== false).join(', ') || labels.noUse
}

function nameStatus({ status, knowledge }: ReportedConsent, labels: Labels): string {
  return [labels.consentStatuses[status] ?? status, labels.knowledge[knowledge]].filter(Boolean).join(', ')
}

function showRecords({ validations, notifications }: SubjectReport, labels: Labels): Html[] {
  return [
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

/** What is held, on what basis, who acted, and whom it was sent to. */
function showHolding({ held, data, bases, actors, told }: SubjectReport, labels: Labels): Html[] {
  const period: Columns<SeenPeriod>[number] = [labels.when, seen => showPeriod(seen, labels)]
  const kinds: Columns<HeldKind> = [
    [labels.kind, each => each.label],
    [labels.source, each => each.source],
    [labels.pieces, ({ held: kept, gone }) => (gone > 0 ? `${kept}, ${gone} ${labels.gone}` : String(kept))],
    period,
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
    showTable(labels.held, held, labels, kinds, { note: data ? undefined : labels.heldNote }),
    ...(data ? [showData(data, labels)] : []),
    showTable(labels.bases, bases, labels, [
      [labels.purpose, ({ basis }) => basis?.purpose ?? html`<span class="none">${labels.noBasis}</span>`],
      [labels.legalBasis, ({ basis }) => basis?.legalBasis ?? ''],
      [labels.count, ({ events }) => events],
      period,
    ]),
    showTable(labels.actors, actors, labels, [
      [labels.actor, ({ actor }) => nameActor(actor, labels) ?? html`<span class="none">${labels.noActor}</span>`],
      [labels.count, ({ events }) => events],
      period,
    ]),
    showTable(labels.told, calls, labels, callColumns, { note: labels.toldNote }),
  ]
}

function showPeriod({ first, last }: SeenPeriod, labels: Labels): Html {
  const begin = showInstant(first, labels)
  return first === last ? begin : html`${begin} ${labels.to} ${showInstant(last, labels)}`
}

/** The data itself, by kind. What was received several times is shown once. */
function showData(data: readonly OpenedPiece[], labels: Labels): Html {
  const kinds = Map.groupBy(data, ({ label }) => label)
  const show = ([label, pieces]: readonly [string, readonly OpenedPiece[]]) => {
    const values = countAlike(pieces, ({ value }) => [value])
    return html`<h3>${label}</h3>
${values.map(({ first, last }) => html`<div class="piece"><div class="soft">${showPeriod({ first: first.at, last: last.at }, labels)}</div>${showValue(first.value, labels)}</div>\n`)}`
  }
  return html`<h2>${labels.data}</h2>
${data.length === 0 && html`<p class="none">${labels.nothing}</p>`}${[...kinds].map(show)}`
}

const utcTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$/

/** Writes a value with its members, as their owner names them. */
function showValue(value: Json, labels: Labels): Html {
  if (value === null) return html`<span class="none">${labels.none}</span>`
  if (typeof value === 'boolean') return html`${value ? labels.yes : labels.no}`
  if (typeof value === 'string' && utcTime.test(value)) return showInstant(value, labels)
  if (typeof value !== 'object') return html`${value}`
  if (Array.isArray(value))
    return html`<ul class="plain">${value.map(each => html`<li>${showValue(each, labels)}</li>`)}</ul>`
  // The service's own addresses say nothing to a person.
  const members = Object.entries(value).filter(([name]) => name !== 'href')
  return html`<dl class="data">${members.map(([name, each]) => html`<dt>${name}</dt><dd>${showValue(each, labels)}</dd>`)}</dl>`
}
