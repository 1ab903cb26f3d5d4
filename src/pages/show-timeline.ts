import type { RecordedEvent } from '../vocabulary/message.ts'
import { describeEvent, describeKind } from './describe.ts'
import { nameActor, nameBasis, showInstant } from './document.ts'
import { escapeExactly, type Html, html } from './html.ts'
import type { Labels } from './labels.ts'
import type { TimelineEntry } from './subject-report.ts'
import type { LanguageWords } from './words.ts'

/** More routine entries in a row than this are folded. */
const routineMax = 2

const routineTypes: ReadonlySet<string> = new Set([
  ...['subject.syncRequested', 'subject.synced', 'subject.awarenessRequested', 'subject.awarenessListed'],
  ...['subject.loginRequested', 'consent.detailRequested', 'effect.attempted', 'effect.deferred'],
  'notification.copied',
])

const tones = {
  good: ['consent.approved', 'consent.used', 'validation.answered'],
  bad: [
    ...['consent.denied', 'consent.revoked', 'consent.expired', 'consent.vanished', 'consent.useRefused'],
    ...['consent.changeNotMade', 'subject.awarenessVanished', 'subject.useRefused'],
    ...['validation.declined', 'validation.withheld'],
  ],
  doubt: [
    ...['consent.changeLost', 'consent.changeContradicted', 'consent.changeSeen', 'consent.conflicted'],
    ...['consent.lapsed', 'validation.inconclusive'],
  ],
}

export function toTimelineEntry(event: RecordedEvent, words: LanguageWords): TimelineEntry {
  const { position, at, type, stream, actor = null, basis = null, anomaly = null, parts = [] } = event
  return {
    ...{ position, at, type, stream, words: describeEvent(event, words), actor, basis, anomaly },
    parts: parts.map(({ name }) => describeKind(`${type}/${name}`, words)),
  }
}

/** Writes events as a timeline and folds routine events. `headers` are their exact texts, where the page has them. */
export function showTimeline(
  entries: readonly TimelineEntry[],
  labels: Labels,
  headers: ReadonlyMap<number, string> = new Map(),
): Html {
  if (entries.length === 0) return html`<p class="none">${labels.nothing}</p>`
  const runs: TimelineEntry[][] = []
  for (const entry of entries) {
    // A run consists of routine entries only, or is one other entry.
    const last = runs.at(-1)
    if (last?.[0] && isRoutine(last[0]) && isRoutine(entry)) last.push(entry)
    else runs.push([entry])
  }
  const show = (entry: TimelineEntry) => showEntry(entry, labels, headers.get(entry.position))
  const items = runs.map(run => (run.length > routineMax ? foldRoutine(run, labels, show) : run.map(show)))
  return html`<ol class="timeline">${items}</ol>`
}

function isRoutine({ type, anomaly }: TimelineEntry): boolean {
  return routineTypes.has(type) && anomaly === null
}

function foldRoutine(run: readonly TimelineEntry[], labels: Labels, show: (entry: TimelineEntry) => Html): Html {
  const [first] = run
  return html`<li>${showInstant(first?.at ?? null, labels)}
<details><summary>${run.length} ${labels.routine}</summary><ol class="timeline">${run.map(show)}</ol></details></li>
`
}

function showEntry(entry: TimelineEntry, labels: Labels, header: string | undefined): Html {
  const { position, at, type, words, actor, basis, anomaly, parts } = entry
  const who = actor && `${labels.by} ${nameActor(actor, labels)}`
  const what = parts.length > 0 && `${labels.with}: ${parts.join('; ')}`
  const details = [who, nameBasis(basis), what].filter(text => typeof text === 'string')
  return html`<li class="${toneOf(type)}">${showInstant(at, labels)} <span class="soft">· ${labels.position} ${position}</span>
<div class="what">${words}</div>
${details.map(text => html`<div class="soft">${text}</div>`)}
${anomaly !== null && html`<div><strong>${labels.anomaly}:</strong> ${labels.message(anomaly)}</div>`}
${header !== undefined && html`<details><summary>${labels.bytes}</summary><pre data-position="${position}">${escapeExactly(header)}</pre></details>`}</li>
`
}

function toneOf(type: string): string {
  const found = Object.entries<readonly string[]>(tones).find(([, types]) => types.includes(type))
  return found?.[0] ?? 'plain'
}
