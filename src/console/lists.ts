import type { Call, Follower, Subscription, Views } from '../index.ts'
import { describeState } from '../pages/describe.ts'
import { type Columns, showInstant, showTable } from '../pages/document.ts'
import { type Html, html } from '../pages/html.ts'
import { expiryLimit } from './overview.ts'
import { actForm, choice, field, filterForm, knownAtForm, linkToStream, type Page, readKnownAt } from './page.ts'
import { showCell } from './row.ts'
import { readPastRows, takeFirst } from './stream-row.ts'

const rowsPerPage = 50
const deletionDays = 30

interface RowList<N extends keyof Views> {
  readonly view: N
  /** The column that the view is keyed by: an id in order of time. */
  readonly key: keyof Views[N] & string
  /** The columns that the query of the page selects by. */
  readonly equal: readonly (keyof Views[N] & string)[]
  readonly filters: readonly Html[]
  /** The columns that must not be null, by the parameter of the query that asks for it. */
  readonly notNull?: Readonly<Record<string, keyof Views[N] & string>>
  /** Shows only the rows with a value up to this one in the column, the lowest first. */
  readonly upTo?: readonly [column: keyof Views[N] & string, value: string] | undefined
  /** What is shown of a row: columns as they are, or cells under a heading. */
  readonly columns: readonly ((keyof Views[N] & string) | Columns<Views[N]>[number])[]
}

/** Shows one page of a list: the newest rows now, or those of a past moment. */
async function showRows<N extends keyof Views>(page: Page, title: string, list: RowList<N>): Promise<Html> {
  const { query, texts, labels, names } = page
  const rows = await readRows(page, list)
  const columns: Columns<Views[N]> = list.columns.map(each =>
    typeof each === 'string' ? [names.column(each), row => showCell(page, list.view, each, row[each])] : each,
  )
  const last = rows.length === rowsPerPage ? rows.at(-1) : undefined
  const older = new URLSearchParams(query)
  if (last) older.set('before', String(last[list.key]))
  return html`${filterForm(page, list.filters)}${await knownAtForm(page)}
${showTable(title, rows, labels, columns, { level: 1 })}
${last && html`<p><a href="?${older.toString()}">${texts.older}</a></p>`}`
}

/** The view's name decides the rows and columns, which the types of a query cannot follow for any name. */
async function readRows<N extends keyof Views>(page: Page, list: RowList<N>): Promise<Views[N][]> {
  const { averba, query } = page
  const { view, key, equal, notNull = {}, upTo } = list
  const wanted = equal.filter(column => query.get(column))
  const present = Object.entries(notNull).flatMap(([name, column]) => (query.get(name) === '1' ? [column] : []))
  const before = query.get('before')
  const select = async () => {
    const { ref, table } = averba.views.dynamic
    let rows = averba.views.selectFrom(table(view).as('rows')).selectAll()
    for (const column of wanted) rows = rows.where(ref(column), '=', query.get(column))
    for (const column of present) rows = rows.where(ref(column), 'is not', null)
    if (upTo) rows = rows.where(ref(upTo[0]), '<=', upTo[1])
    else rows = rows.orderBy(ref(key), 'desc').limit(rowsPerPage)
    if (before !== null && !upTo) rows = rows.where(ref(key), '<', before)
    return (await rows.execute()) as unknown as Views[N][]
  }
  const known = readKnownAt(query)
  const isSelected = (row: Views[N]) =>
    wanted.every(column => row[column] === query.get(column)) &&
    present.every(column => row[column] !== null) &&
    (!upTo || (row[upTo[0]] !== null && String(row[upTo[0]]) <= upTo[1]))
  const place = (row: Views[N]) => `${upTo ? row[upTo[0]] : ''} ${row[key]}`
  const all = await (known === undefined ? select() : readPastRows(averba, view, known))
  const rows = all.filter(isSelected).sort((a, b) => (place(a) < place(b) ? -1 : 1))
  if (!upTo) rows.reverse()
  const from = rows.findIndex(row => row[key] === before) + 1
  return rows.slice(from, from + rowsPerPage)
}

export async function showConsents(page: Page): Promise<Html> {
  const { averba, query, texts, labels } = page
  const check = (name: string, label: string) =>
    html`<label><input type="checkbox" name="${name}" value="1"${query.get(name) === '1' && html` checked`}> ${label}</label>`
  const until = query.get('expires') === '1' && (await expiryLimit(averba, readKnownAt(query)))
  return showRows(page, texts.consents, {
    ...{ view: 'consents', key: 'consent', equal: ['status', 'controller', 'subject'] },
    filters: [
      choice(page, 'status', texts.status, labels.consentStatuses),
      field(page, 'controller', texts.controller),
      field(page, 'subject', texts.subject),
      check('expires', texts.expiring),
      check('ends', texts.onlyEnds),
    ],
    notNull: { ends: 'end_wanted_at' },
    upTo: until ? ['lapses_at', until] : undefined,
    columns: [
      [labels.consent, row => linkToStream(page, row.consent)],
      ...(['status', 'knowledge', 'controller', 'expires_at', 'end_wanted_at'] as const),
    ],
  })
}

export function showValidations(page: Page): Promise<Html> {
  const { texts, words } = page
  const resolve = ({ id, state, charged }: Views['validations']): Html => {
    if (state !== 'inconclusive' && state !== 'resolved') return html``
    const note = [html`<label>${texts.note} <input name="note"></label>`]
    const answers = [
      ['validations/charged', texts.isCharged, 1],
      ['validations/not-charged', texts.isNotCharged, 0],
    ] as const
    // A wrong one can be corrected.
    return html`${answers.map(([act, label, is]) => charged !== is && actForm(page, act, label, { id }, note))}`
  }
  const stateOf = ({ state, charged }: Views['validations']): string => {
    if (state === 'declined') return texts.noResult
    const said = words.validationStates[state] ?? state
    if (state !== 'resolved') return said
    return `${said}; ${charged === 1 ? words.charged : words.notCharged}`
  }
  return showRows(page, texts.validations, {
    ...{ view: 'validations', key: 'validation', equal: ['state'] },
    filters: [choice(page, 'state', texts.state, words.validationStates)],
    columns: [
      'id',
      [texts.stream, row => linkToStream(page, row.validation)],
      [texts.state, stateOf],
      'requested_at',
      'ended_at',
      [texts.act, resolve],
    ],
  })
}

export function showNotifications(page: Page): Promise<Html> {
  const { texts, words } = page
  const acts = ({ trouble, notification: id }: Views['notifications']): Html =>
    trouble === null
      ? html``
      : html`${actForm(page, 'notifications/replay', texts.replay, { id })}${actForm(page, 'notifications/skip', texts.skipNotification, { id })}`
  return showRows(page, texts.notifications, {
    ...{ view: 'notifications', key: 'notification', equal: ['state', 'evento'] },
    filters: [choice(page, 'state', texts.state, words.notificationStates), field(page, 'evento', texts.evento)],
    columns: [
      [texts.stream, row => linkToStream(page, row.notification)],
      ...(['evento', 'state', 'received_at', 'copies', 'handlers'] as const),
      [texts.act, acts],
    ],
  })
}

export async function showSubscriptions(page: Page): Promise<Html> {
  const { texts, labels, averba, words, query } = page
  const all = await averba.subscriptions.list({ inactive: true, knownAt: readKnownAt(query) })
  const rows = await averba.views.selectFrom('subscriptions').select(['evento', 'subscription']).execute()
  const streams = new Map(rows.map(each => [each.evento, each.subscription]))
  const forecast = ({ deletedBy, deletionAt, daysOfErrors }: Subscription): Html => {
    if (deletedBy === 'portal') return html`<strong class="bad">${texts.deletedByPortal}</strong>`
    if (deletionAt === null) return html``
    const label = `${texts.errorDays}: ${daysOfErrors}`
    return html`${showInstant(deletionAt, labels)}<br><meter min="0" max="${deletionDays}" low="15" high="22" optimum="0" value="${daysOfErrors}" aria-label="${label}"></meter> <span class="soft">${label}</span>`
  }
  const columns: Columns<Subscription> = [
    [texts.evento, each => each.evento],
    [texts.stream, ({ evento }) => html`${streams.has(evento) && linkToStream(page, streams.get(evento) ?? '')}`],
    [texts.endpoint, each => each.endpoint],
    [texts.state, each => words.subscriptionStates[each.state] ?? each.state],
    [texts.health, each => words.subscriptionStates[each.health] ?? each.health],
    [texts.deletion, forecast],
    [texts.act, each => actForm(page, 'subscriptions/rotate', texts.rotate, { evento: each.evento })],
  ]
  return html`${await knownAtForm(page)}${showTable(texts.subscriptions, all, labels, columns, { level: 1 })}`
}

/** The calls that have not ended, or those of one state. */
export async function showEffects(page: Page): Promise<Html> {
  const { texts, averba, query, words } = page
  const service = query.get('service') ?? ''
  // The API checks it.
  const state = (query.get('state') || 'open') as 'open'
  const isOfService = ({ type }: Call) => service === '' || type.startsWith(`${service}.`)
  const all = averba.effects.list({ state, knownAt: readKnownAt(query) })
  const found = await takeFirst(all, rowsPerPage + 1, isOfService)
  const calls = found.slice(0, rowsPerPage)
  return html`${filterForm(page, [
    choice(page, 'state', texts.state, words.effectStates, texts.open),
    choice(page, 'service', texts.service, words.services),
  ])}${await knownAtForm(page)}
${showCalls(page, texts.effects, calls, 1)}
${found.length > calls.length && html`<p class="soft">${texts.moreCalls}</p>`}`
}

export function showCalls(page: Page, title: string, calls: readonly Call[], level: 1 | 2): Html {
  const { texts, labels, words } = page
  const columns: Columns<Call> = [
    ['ID', call => html`<code>${call.id}</code>`],
    [texts.call, call => call.type],
    [texts.stream, call => linkToStream(page, call.stream)],
    [texts.state, call => describeState(call, words)],
    [texts.attempts, call => call.attempts],
    [texts.why, call => describeWaiting(page, call)],
    [texts.act, call => actsOn(page, call)],
  ]
  return showTable(title, calls, labels, columns, { level })
}

/** Why a call waits, and until when. What its state or its reason says is not said again. */
function describeWaiting({ words, labels, message, commands }: Page, { waiting, ...call }: Call): Html {
  const reason = call.state === 'cancelled' ? '' : message(call.reason)
  const said = waiting ? commands(words.waitings[waiting.for]) : ''
  if (!waiting || reason.startsWith(said)) return html`${reason}`
  return html`${said} ${waiting.until !== null && showInstant(waiting.until, labels)}${reason !== '' && html`<div class="soft">${reason}</div>`}`
}

function actsOn(page: Page, { id, waiting }: Call): Html {
  const { base, texts } = page
  const acts = (['retry', 'park', 'withdraw'] as const).filter(act => waiting?.actions.includes(act))
  // A doubtful paid call: what the person found out is entered there.
  const resolve =
    waiting?.actions.includes('resolve') && html`<a href="${base}/validations?state=inconclusive">${texts.resolve}</a>`
  return html`${acts.map(act => actForm(page, `effects/${act}`, texts[act], { id }))}${resolve}`
}

export async function showFollowers(page: Page): Promise<Html> {
  const { texts, labels, averba, words } = page
  const state = ({ isParked, attempts, reason, dueAt }: Follower): Html => {
    if (isParked)
      return html`<strong class="bad">${words.handlerStates.parked}</strong> <div class="soft">${reason}</div>`
    if (attempts === 0) return html`${texts.good}`
    const until = html`${words.waitings.time} ${showInstant(dueAt, labels)}`
    return html`${words.handlerStates.failing}, ${until} <div class="soft">${reason}</div>`
  }
  const acts = ({ isParked, name }: Follower): Html => {
    if (!isParked) return html``
    return html`${actForm(page, 'followers/retry', texts.retry, { name })}${actForm(page, 'followers/skip', texts.skipEvent, { name })}`
  }
  const columns: Columns<Follower> = [
    [texts.name, each => each.name],
    [texts.position, each => each.position],
    [texts.state, state],
    [texts.act, acts],
  ]
  return showTable(texts.followers, await averba.log.followers(), labels, columns, { level: 1, note: texts.ofNow })
}
