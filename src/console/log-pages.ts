import type { Events, Recorded, Verdict, Views } from '../index.ts'
import { describeEvent } from '../pages/describe.ts'
import { type Columns, nameActor, showInstant, showTable } from '../pages/document.ts'
import { type Html, html } from '../pages/html.ts'
import { machineNames } from './chart.ts'
import { choice, field, filterForm, linkToStream, type Page, readKnownAt } from './page.ts'
import { showCell } from './row.ts'
import { takeFirst } from './stream-row.ts'

const rowsPerPage = 50

/** The log, the newest events first, with filters; new events appear at the top while it is open. */
export async function showLog(page: Page): Promise<Html> {
  const { texts, names, query, labels, averba } = page
  // What the filter leaves out is not read again.
  const position = await averba.log.end()
  const events = await readLog(page)
  const last = events.length === rowsPerPage ? events.at(-1) : undefined
  const older = new URLSearchParams(query)
  if (last) older.set('before', String(last.position))
  const machines = [...(await machineNames()), 'log'].sort()
  const kinds = Object.fromEntries(machines.map(kind => [kind, names.kinds[kind] ?? kind]))
  const filter = filterForm(page, [
    choice(page, 'kind', texts.kind, kinds),
    field(page, 'type', texts.type),
    field(page, 'stream', texts.stream),
  ])
  return html`${filter}
<p><label><input type="checkbox" data-live checked> ${texts.live}</label></p>
<div class="scroll" role="region" aria-label="${texts.log}" tabindex="0"><table>
<thead><tr>${[texts.position, texts.at, texts.stream, texts.type, texts.words].map(each => html`<th scope="col">${each}</th>`)}</tr></thead>
<tbody id="log" data-last="${position}">${showLogRows(page, events)}</tbody></table></div>
${events.length === 0 && html`<p class="none">${labels.nothing}</p>`}
${last && html`<p><a href="?${older.toString()}">${texts.older}</a></p>`}`
}

export function showLogRows({ words, labels, texts, message }: Page, events: readonly Recorded[]): Html {
  const cell = (name: string, value: Html | string | number) => html`<td data-label="${name}"><div>${value}</div></td>`
  return html`${events.map(event => {
    const { position, at, stream, type, actor, anomaly } = event
    const by = actor && html` <span class="soft">${labels.by} ${nameActor(actor, labels)}</span>`
    const strange = anomaly !== undefined && html` <strong>${labels.anomaly}: ${message(anomaly)}</strong>`
    return html`<tr data-position="${position}">${cell(texts.position, position)}${cell(texts.at, showInstant(at, labels))}${cell(texts.stream, linkToStream(stream))}${cell(texts.type, html`<code>${type}</code>`)}${cell(texts.words, html`${describeEvent(event, words)}${by}${strange}`)}</tr>
`
  })}`
}

/** The events that the query selects, with `after` those that came since. The newest first. */
export async function readLog({ averba, query }: Page): Promise<Recorded[]> {
  const [kind, type, stream] = ['kind', 'type', 'stream'].map(name => query.get(name) || undefined)
  // Checked by the API.
  const types = type === undefined ? undefined : [type as keyof Events]
  const filter = { ...(kind && { kind }), ...(types && { types }), ...(stream && { stream }) }
  const [after, before] = [query.get('after'), query.get('before')]
  if (after !== null)
    return (await takeFirst(averba.log.read({ ...filter, after: Number(after) }), rowsPerPage)).reverse()
  const bound = before === null ? {} : { after: Number(before) }
  return takeFirst(averba.log.read({ ...filter, ...bound, backward: true }), rowsPerPage)
}

const views = [
  ...(['consents', 'awareness', 'validations', 'notifications', 'subscriptions'] as const),
  ...(['subjects', 'tokens', 'failures', 'logins'] as const),
]
const changesMax = 500

export async function showComparison(page: Page): Promise<Html> {
  const { query, texts, names } = page
  const asked = query.get('view') || undefined
  const chosen = views.filter(each => each === (asked ?? each))
  const form = html`<form class="filter" method="get" action="${page.path}">${choice(page, 'view', texts.view, Object.fromEntries(views.map(view => [view, texts[view]])))}${field(page, 'a', texts.before)}${field(page, 'b', texts.after)}<button>${texts.show}</button></form>
<p class="soft">${texts.knownAt}</p>`
  if (!query.has('a')) return form
  const changes: Awaited<ReturnType<typeof changesIn>> = []
  // One after the other: each folds the log, and holds its rows.
  for (const view of chosen) for (const each of await changesIn(page, view)) changes.push(each)
  if (changes.length === 0) return html`${form}<p class="none">${texts.equal}</p>`
  const note = changes.length > changesMax ? `${changesMax} / ${changes.length}` : undefined
  const isStream = (key: string) => Object.hasOwn(names.kinds, key.split('-', 1)[0] ?? '')
  const columns: Columns<(typeof changes)[number]> = [
    [texts.view, each => texts[each.view]],
    ['ID', each => (isStream(each.key) ? linkToStream(each.key) : html`<code>${each.key}</code>`)],
    [texts.change, each => each.what],
    [texts.column, each => names.column(each.column)],
    [texts.before, each => showCell(page, each.view, each.column, each.before)],
    [texts.after, each => showCell(page, each.view, each.column, each.after)],
  ]
  return html`${form}${showTable(texts.compare, changes.slice(0, changesMax), page.labels, columns, { note, level: 1 })}`
}

async function changesIn(page: Page, view: keyof Views) {
  const [a, b] = [await rowsAt(page, view, 'a'), await rowsAt(page, view, 'b')]
  const keys = [...new Set([...a.keys(), ...b.keys()])]
  return keys.flatMap(key => changesOf(key, a.get(key), b.get(key), page.texts).map(each => ({ ...each, view })))
}

type RowByKey = ReadonlyMap<string, Readonly<Record<string, unknown>>>

async function rowsAt({ averba, query }: Page, view: keyof Views, name: string): Promise<RowByKey> {
  const known = readKnownAt(query, name) ?? (await averba.log.end())
  const rows: readonly object[] = await averba.viewAsOf(
    view,
    typeof known === 'number' ? { position: known } : { at: known },
  )
  return new Map(rows.map(row => [String(Object.values(row)[0]), { ...row }]))
}

function changesOf(
  key: string,
  before: Readonly<Record<string, unknown>> | undefined,
  after: Readonly<Record<string, unknown>> | undefined,
  texts: Page['texts'],
) {
  if (!before || !after) {
    const what = before ? texts.removed : texts.added
    return [{ key, what, column: '', before: null, after: null }]
  }
  return Object.keys(after)
    .filter(column => before[column] !== after[column])
    .map(column => ({ key, what: texts.changed, column, before: before[column], after: after[column] }))
}

/** The result of a verification, or the offer to begin one. */
export function showVerdict({ texts, names, message }: Page, verdict: Verdict | undefined): Html {
  const form = html`<p class="soft">${texts.verifyNote}</p><form method="get" action="/verify"><input type="hidden" name="now" value="1"><button>${texts.verifyNow}</button></form>`
  if (!verdict) return form
  const { level, next, faults, unproven, origin, events, root } = verdict
  const list = (title: string, all: readonly string[]) =>
    all.length > 0 && html`<h2>${title}</h2><ul class="plain">${all.map(each => html`<li>${each}</li>`)}</ul>`
  return html`${form}<div class="card ${level === 'broken' ? 'no' : 'yes'}"><strong>${texts.level}: ${level}</strong> ${names.levels[level]}
<dl class="data"><dt>${texts.log}</dt><dd><code>${origin}</code></dd><dt>${texts.events}</dt><dd>${events}</dd><dt>${texts.root}</dt><dd><code>${root}</code></dd></dl></div>
${list(
  texts.faults,
  faults.flatMap(({ check, examples }) => examples.map(each => `${check}: ${message(each)}`)),
)}${list(texts.next, next === '' ? [] : [message(next)])}${list(texts.unproven, unproven.map(message))}`
}
