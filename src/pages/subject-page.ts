import { showTable, writeDocument } from './document.ts'
import { type Html, html } from './html.ts'
import { showInstant } from './instants.ts'
import { type Labels, labelsOf } from './language.ts'
import { showTimeline } from './show-timeline.ts'
import type { ActorCount, ReportedCall, ReportedErasure, ReportedLog, SubjectReport } from './subject-report.ts'

/** Writes a subject report as one HTML page. Pure: one report gives one text. */
export function writeSubjectPage(report: SubjectReport): string {
  const { language, log, subject, cpf, origin, enrolledAt } = report
  const labels = labelsOf(language)
  const body = html`<header>
<h1>${labels.subjectTitle}</h1>
<p class="lead">${labels.subjectLead}</p>
<dl>
<dt>${labels.cpf}</dt><dd>${cpf ?? labels.closed}</dd>
<dt>${labels.subject}</dt><dd><code>${subject}</code></dd>
<dt>${labels.origin}</dt><dd>${origin}</dd>
<dt>${labels.since}</dt><dd>${showInstant(enrolledAt, labels)}</dd>
${showLog(log, labels)}
</dl>
</header>
<main>
${showErasure(report.erasure, labels)}
${showHeldKinds(report, labels)}
${showBases(report, labels)}
${showActors(report.actors, labels)}
${showCalls(report.told, labels)}
${showConsents(report, labels)}
${showUses(report, labels)}
${showValidations(report, labels)}
${showNotifications(report, labels)}
<h2>${labels.timeline}</h2>
${showTimeline(report.timeline, labels)}
</main>
<footer><p>${labels.footer}</p></footer>`
  return writeDocument({ language, title: labels.subjectTitle, body })
}

/** Writes which log a page is about, and up to which position. */
export function showLog({ origin, position, at }: ReportedLog, labels: Labels): Html {
  return html`<dt>${labels.log}</dt><dd><code>${origin}</code></dd>
<dt>${labels.upTo}</dt><dd>${position} <span class="soft">·</span> ${showInstant(at, labels)}</dd>`
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

function showHeldKinds({ held }: SubjectReport, labels: Labels): Html {
  const rows = held.map(kind => {
    const others = [kind.gone > 0 && `${kind.gone} ${labels.gone}`].filter(text => typeof text === 'string')
    const pieces = [String(kind.held), ...others].join(', ')
    return [kind.label, kind.source, pieces, showInstant(kind.first, labels), showInstant(kind.last, labels)]
  })
  const headings = [labels.kind, labels.source, labels.pieces, labels.since, labels.last]
  return html`<h2>${labels.held}</h2>
<p class="soft">${labels.heldNote}</p>
${showTable(labels.held, headings, rows, labels)}`
}

function showBases({ bases }: SubjectReport, labels: Labels): Html {
  const rows = bases.map(({ basis, events, first, last }) => [
    basis?.purpose ?? html`<span class="none">${labels.noBasis}</span>`,
    basis?.legalBasis ?? '',
    events,
    showInstant(first, labels),
    showInstant(last, labels),
  ])
  const headings = [labels.purpose, labels.legalBasis, labels.count, labels.since, labels.last]
  return html`<h2>${labels.bases}</h2>
${showTable(labels.bases, headings, rows, labels)}`
}

function showActors(actors: readonly ActorCount[], labels: Labels): Html {
  const rows = actors.map(({ actor, events, first, last }) => [
    actor ? `${labels.actorKinds[actor.kind]} ${actor.ref}` : html`<span class="none">${labels.noActor}</span>`,
    events,
    showInstant(first, labels),
    showInstant(last, labels),
  ])
  return html`<h2>${labels.actors}</h2>
${showTable(labels.actors, [labels.actor, labels.count, labels.since, labels.last], rows, labels)}`
}

/** Calls with the same operation and outcome are one row, since readings repeat for years. */
function showCalls(told: readonly ReportedCall[], labels: Labels): Html {
  const groups = new Map<string, ReportedCall[]>()
  for (const call of told) {
    const key = JSON.stringify([call.operation, call.outcome, call.opened])
    const group = groups.get(key)
    if (group) group.push(call)
    else groups.set(key, [call])
  }
  const rows = [...groups.values()].map(calls => {
    const [first, last] = [calls[0], calls.at(-1)]
    return [
      first?.service ?? '',
      first?.label ?? '',
      first?.opened.join('; ') ?? '',
      first?.outcome ?? '',
      calls.length,
      showInstant(last?.endedAt ?? last?.owedAt ?? null, labels),
    ]
  })
  const headings = [labels.recipient, labels.operation, labels.opened, labels.outcome, labels.times, labels.last]
  return html`<h2>${labels.told}</h2>
<p class="soft">${labels.toldNote}</p>
${showTable(labels.told, headings, rows, labels)}`
}

function showConsents({ consents }: SubjectReport, labels: Labels): Html {
  const rows = consents.map(each => [
    html`<code>${each.consent}</code>`,
    each.controller,
    each.status,
    showInstant(each.appearedAt, labels),
    showInstant(each.expiresAt, labels),
    `${each.used} ${labels.allowed}, ${each.refused} ${labels.refused}`,
  ])
  const headings = [labels.consent, labels.controller, labels.status, labels.since, labels.expires, labels.uses]
  return html`<h2>${labels.consents}</h2>
${showTable(labels.consents, headings, rows, labels)}`
}

function showUses({ uses }: SubjectReport, labels: Labels): Html {
  const rows = uses.map(({ at, isAllowed, reason, basis, actor, consent }) => [
    showInstant(at, labels),
    isAllowed ? labels.allowed : html`<strong>${labels.refused}</strong>`,
    reason,
    basis && `${basis.purpose} (${basis.legalBasis})`,
    actor ? `${labels.actorKinds[actor.kind]} ${actor.ref}` : '',
    consent && html`<code>${consent}</code>`,
  ])
  const headings = [labels.when, labels.result, labels.reason, labels.purpose, labels.actor, labels.consent]
  return html`<h2>${labels.uses}</h2>
${showTable(labels.uses, headings, rows, labels)}`
}

function showValidations({ validations }: SubjectReport, labels: Labels): Html {
  const rows = validations.map(({ id, requestedAt, outcome, basis }) => [
    html`<code>${id}</code>`,
    showInstant(requestedAt, labels),
    outcome,
    basis && `${basis.purpose} (${basis.legalBasis})`,
  ])
  return html`<h2>${labels.validations}</h2>
${showTable(labels.validations, [labels.identifier, labels.when, labels.outcome, labels.purpose], rows, labels)}`
}

function showNotifications({ notifications }: SubjectReport, labels: Labels): Html {
  const rows = notifications.map(({ evento, receivedAt, copies, handlers }) => [
    evento,
    showInstant(receivedAt, labels),
    copies,
    handlers.join(', '),
  ])
  const headings = [labels.kind, labels.when, labels.copies, labels.handlers]
  return html`<h2>${labels.notifications}</h2>
${showTable(labels.notifications, headings, rows, labels)}`
}
