import { showInstant, showTable } from '../pages/document.ts'
import { type Html, html } from '../pages/html.ts'
import { showTimeline, toTimelineEntry } from '../pages/show-timeline.ts'
import { machineNames, showChart } from './chart.ts'
import { showCalls } from './lists.ts'
import { actForm, knownAtForm, type Page, readKnownAt, required } from './page.ts'
import { hasSealed, showCell } from './row.ts'
import { findStreamRow, readStream, type StreamRow } from './stream-row.ts'

const eventsShown = 200

/** Shows one stream: its latest known state, its chart, its calls and its life as a timeline. */
export async function showStream(page: Page, stream: string): Promise<Html> {
  const { averba, texts, labels } = page
  const known = readKnownAt(page.query)
  const { state, calls, events } = await readStream(averba, stream, eventsShown, known)
  const found = await findStreamRow(averba, stream, known === undefined ? undefined : state.position)
  const entries = events.map(event => toTimelineEntry(event, page.words))
  return html`<p><code>${stream}</code></p>
${await knownAtForm(page)}
${found && showRow(page, stream, found)}
${known === undefined && showActs(page, stream, found)}
${calls.length > 0 && showCalls(page, texts.openCalls, calls, 2)}
${stream.startsWith('consent-') && showQuestion(page, stream)}
${state.machine !== '' && html`<h2>${texts.chart}</h2><p class="soft">${texts.chartNote}</p>${await showChart(page, state.machine, state)}`}
${
  state.path.length > 0 &&
  showTable(texts.path, state.path, labels, [
    [texts.position, step => step.position],
    [texts.when, step => showInstant(step.at, labels)],
    [texts.evento, step => step.type],
    [texts.state, step => step.states.join(', ')],
  ])
}
<h2>${texts.timeline}</h2>
${showTimeline(entries, labels)}`
}

/** The columns of a row that say something. What is sealed can be revealed. */
function showRow(page: Page, stream: string, { view, row }: StreamRow): Html {
  const { texts, names, query } = page
  // The first is the key.
  const cells = Object.entries(row).slice(1)
  const shown = cells.map(([name, value]) => [names.column(name), showCell(page, view, name, value)] as const)
  const canReveal = hasSealed(row) && readKnownAt(query) === undefined
  const reveal = actForm(page, 'reveal', texts.reveal, { stream }, [required('purpose', texts.purpose)])
  return html`<h2>${texts.recorded}</h2><dl class="data">${shown.map(([name, cell]) => cell !== '' && html`<dt>${name}</dt><dd>${cell}</dd>`)}</dl>
${canReveal && reveal}`
}

/** What an operator may decide on a consent. */
function showActs(page: Page, stream: string, found: StreamRow | undefined): Html {
  if (found?.view !== 'consents') return html``
  const { row } = found
  const { texts } = page
  const why = [required('reason', texts.reason)]
  const acts = [
    row.status === 'PENDENTE' && actForm(page, 'consents/deny', texts.deny, { stream }, why),
    row.status === 'ATIVO' && actForm(page, 'consents/revoke', texts.revoke, { stream }, why),
    row.end_wanted_at !== null && actForm(page, 'consents/withdraw-end', texts.withdrawEnd, { stream }, why),
  ]
  return html`${acts}`
}

/** Asks whether a consent was valid at an instant, by what was known at another. */
function showQuestion({ base, texts }: Page, stream: string): Html {
  return html`<h2>${texts.standing}</h2><p class="soft">${texts.standingNote}</p>
<form class="filter" method="get" action="${base}/prove"><input type="hidden" name="stream" value="${stream}">
<label>${texts.validAt} <input name="at" required></label>
<label>${texts.knownAt} <input name="known"></label><button>${texts.download}</button></form>`
}

export async function showMachine(page: Page, name = 'consent'): Promise<Html> {
  return html`<p>${(await machineNames()).map(each => html`<a href="${page.base}/machines/${each}"${each === name && html` aria-current="page"`}>${each}</a> `)}</p>
${await showChart(page, name)}`
}
