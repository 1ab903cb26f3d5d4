import type { StandingReason } from '../machines/consent/standing.ts'
import type { PageProof } from '../proof/check-page.ts'
import type { Instant } from '../vocabulary/message.ts'
import { formatInBrasilia, showCnpj, showInstant, writeDocument } from './document.ts'
import { escapeExactly, type Html, html, jsonInScript } from './html.ts'
import { type Labels, type Language, labelsOf } from './labels.ts'
import { writePageScript } from './page-script.ts'
import { showTimeline } from './show-timeline.ts'
import type { ReportedLog, TimelineEntry } from './subject-report.ts'

/** Writes a consent report as one HTML page, which checks its own proof offline. Pure: one report gives one text. */
export function writeConsentPage(report: ConsentReport): string {
  const { language, log, proof, at, knownAt } = report
  const labels = labelsOf(language)
  const headers = new Map(proof.events.map(({ header, index }) => [index + 1, header]))
  const began = headers.get(1) ?? ''
  const facts = html`<dt>${labels.instant}</dt><dd>${showInstant(at, labels)}</dd>
<dt>${labels.knownAt}</dt><dd>${showInstant(knownAt, labels)} <span class="soft">·</span> ${labels.position} ${report.knownPosition}</dd>
<dt>${labels.consent}</dt><dd><code>${report.consent}</code></dd>
<dt>${labels.controller}</dt><dd>${report.controller ? showCnpj(report.controller) : labels.none}</dd>
<dt>${labels.subject}</dt><dd>${report.cpf ?? labels.closed} <span class="soft">·</span> <code>${report.subject}</code></dd>`
  const main = html`<div class="two">
${showAnswer(report.answer, `${labels.asThen}, ${formatInBrasilia(knownAt)}`, labels)}
${showAnswer(report.today, `${labels.asToday}, ${formatInBrasilia(log.at)}`, labels)}
</div>
<h2>${labels.proof}</h2>
<div id="check" class="card doubt" role="status"><strong>${labels.noScript}</strong></div>
<h3>${labels.unproven}</h3>
<ul class="plain">${report.unproven.map(text => html`<li>${text}</li>`)}</ul>
<h2>${labels.restsOn}</h2>
${showTimeline(report.timeline, labels, headers)}
<h2>${labels.later}</h2>
${showTimeline(report.later, labels, headers)}
<h2>${labels.log}</h2>
<h3>${labels.key}</h3>
<pre data-shown="key">${escapeExactly(proof.key)}</pre>
<h3>${labels.checkpoint}</h3>
<pre data-shown="checkpoint">${escapeExactly(proof.checkpoint)}</pre>
<details><summary>${labels.bytes}, ${labels.position} 1</summary><pre data-position="1">${escapeExactly(began)}</pre></details>`
  const data = html`
<script type="application/json" id="proof">${jsonInScript(proof)}</script>
<script type="application/json" id="texts">${jsonInScript(labels.script)}</script>`
  const script = { source: writePageScript(), data }
  return writeDocument(
    { language, title: labels.consentTitle, lead: labels.consentLead, facts, log, main, script },
    labels,
  )
}

function showAnswer({ effective, words, readAt, until }: ReportedAnswer, when: string, labels: Labels): Html {
  return html`<section class="card ${effective ? 'yes' : 'no'}">
<div class="soft">${when}</div>
<strong>${effective ? labels.valid : labels.invalid}</strong>
<p>${words}</p>
<div class="soft">${labels.readAt}: ${showInstant(readAt, labels)}</div>
${until !== null && html`<div class="soft">${labels.expires}: ${showInstant(until, labels)}</div>`}
</section>`
}

/** The answer to whether a consent was valid. */
export interface ReportedAnswer {
  readonly effective: boolean
  readonly reason: StandingReason
  readonly words: string
  /** The last reading of the service that covers the consent. */
  readonly readAt: Instant | null
  /** When the consent expires, if it was valid. */
  readonly until: Instant | null
  /** The newest event that the answer is based on. */
  readonly position: number
}

/**
 * Whether a consent was valid at one instant according to what was known at another, with the events that the answer is
 * based on, and the proof that they are in the log.
 */
export interface ConsentReport {
  readonly format: 'averba consent report 1'
  readonly language: Language
  /** The log at the checkpoint of the proof. */
  readonly log: ReportedLog
  readonly subject: string
  readonly cpf: string | null
  readonly consent: string
  readonly controller: string | null
  /** The instant in question. */
  readonly at: Instant
  /** The answer uses only what was known at this instant. */
  readonly knownAt: Instant
  /** The last position that was known then. */
  readonly knownPosition: number
  readonly answer: ReportedAnswer
  /** The answer to the same question with everything that the log holds today. */
  readonly today: ReportedAnswer
  /** The events that the answer is based on, in order. */
  readonly timeline: readonly TimelineEntry[]
  /** The events that became known later, in order. */
  readonly later: readonly TimelineEntry[]
  /** The proof of the events of both timelines, in their order. */
  readonly proof: PageProof
  /** What this report does not prove, in sentences. */
  readonly unproven: readonly string[]
}
