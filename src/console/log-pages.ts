import type { Events, Recorded, Views } from '../index.ts'
import { describeEvent } from '../pages/describe.ts'
import { type Columns, nameActor, showInstant, showTable } from '../pages/document.ts'
import { type Html, html } from '../pages/html.ts'
import { choice, field, filterForm, linkToStream, type Page, readKnownAt } from './page.ts'
import { showCell } from './row.ts'
import { readPastRows, takeFirst } from './stream-row.ts'

const rowsPerPage = 50

/** The log, the newest events first, with filters; new events appear at the top while it is open. */
export async function showLog(page: Page): Promise<Html> {
  const { texts, names, query, averba } = page
  // What the filter leaves out is not read again.
  const position = await averba.log.end()
  const events = await readLog(page)
  const last = events.length === rowsPerPage ? events.at(-1) : undefined
  const older = new URLSearchParams(query)
  if (last) older.set('before', String(last.position))
  return html`${filterForm(page, [
    choice(page, 'kind', texts.kind, names.kinds),
    field(page, 'type', texts.type),
    field(page, 'stream', texts.stream),
  ])}
<p><label><input type="checkbox" data-live checked> ${texts.live}</label></p>
<div id="log" data-last="${position}">${showLogRows(page, events)}</div>
${last && html`<p><a href="?${older.toString()}">${texts.older}</a></p>`}`
}

export function showLogRows(page: Page, events: readonly Recorded[]): Html {
  const { words, labels, texts, message } = page
  const describe = (event: Recorded) => {
    const { actor, anomaly } = event
    const by = actor && html` <span class="soft">${labels.by} ${nameActor(actor, labels)}</span>`
    const strange = anomaly !== undefined && html` <strong>${labels.anomaly}: ${message(anomaly)}</strong>`
    return html`${describeEvent(event, words)}${by}${strange}`
  }
  const columns: Columns<Recorded> = [
    [texts.position, event => event.position],
    [texts.when, event => showInstant(event.at, labels)],
    [texts.stream, event => linkToStream(page, event.stream)],
    [texts.type, event => html`<code>${event.type}</code>`],
    [texts.words, describe],
  ]
  return showTable(texts.log, events, labels, columns, { level: 1 })
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
    ['ID', each => (isStream(each.key) ? linkToStream(page, each.key) : html`<code>${each.key}</code>`)],
    [texts.change, each => each.what],
    [texts.column, each => names.column(each.column)],
    [texts.before, each => showCell(page, each.view, each.column, each.before)],
    [texts.after, each => showCell(page, each.view, each.column, each.after)],
  ]
  return html`${form}${showTable(texts.compare, changes.slice(0, changesMax), page.labels, columns, { note, level: 1 })}`
}

async function changesIn(page: Page, view: keyof Views) {
  const { added, removed, changed } = page.texts
  const [a, b] = [await rowsAt(page, view, 'a'), await rowsAt(page, view, 'b')]
  return [...new Set([...a.keys(), ...b.keys()])].flatMap(key => {
    const [before, after] = [a.get(key), b.get(key)]
    if (!before || !after) return [{ view, key, what: before ? removed : added, column: '', before: null, after: null }]
    const columns = [...after.keys()].filter(column => before.get(column) !== after.get(column))
    return columns.map(column => ({
      view,
      key,
      what: changed,
      column,
      before: before.get(column),
      after: after.get(column),
    }))
  })
}

async function rowsAt({ averba, query }: Page, view: keyof Views, name: string) {
  const known = readKnownAt(query, name) ?? (await averba.log.end())
  const rows: readonly object[] = await readPastRows(averba, view, known)
  return new Map(rows.map(row => [String(Object.values(row)[0]), new Map<string, unknown>(Object.entries(row))]))
}

/** The result of a verification, or the offer to begin one. */
export async function showVerification({ averba, base, query, texts, names, message }: Page): Promise<Html> {
  const form = html`<p class="soft">${texts.verifyNote}</p><form method="get" action="${base}/verify"><input type="hidden" name="now" value="1"><button>${texts.verifyNow}</button></form>`
  if (query.get('now') !== '1') return form
  const { level, next, faults, unproven, origin, events, root } = await averba.audit.verify()
  const found = faults.flatMap(({ check, examples }) => examples.map(each => `${check}: ${message(each)}`))
  const list = (title: string, all: readonly string[]) =>
    all.length > 0 && html`<h2>${title}</h2><ul class="plain">${all.map(each => html`<li>${each}</li>`)}</ul>`
  return html`${form}<div class="card ${level === 'broken' ? 'no' : 'yes'}"><strong>${texts.level}: ${level}</strong> ${names.levels[level]}
<dl class="data"><dt>${texts.log}</dt><dd><code>${origin}</code></dd><dt>${texts.events}</dt><dd>${events}</dd><dt>${texts.root}</dt><dd><code>${root}</code></dd></dl></div>
${list(texts.faults, found)}${list(texts.next, next === '' ? [] : [message(next)])}${list(texts.unproven, unproven.map(message))}`
}
