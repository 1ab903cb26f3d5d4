import type { Call, Follower, Subscription, Views } from '../index.ts'
import { describeState } from '../pages/describe.ts'
import { type Columns, showInstant, showTable } from '../pages/document.ts'
import { type Html, html } from '../pages/html.ts'
import { actForm, choice, field, filterForm, knownAtForm, linkToStream, type Page, readKnownAt } from './page.ts'
import { showHandlers } from './row.ts'
import { takeFirst } from './stream-row.ts'

const rowsPerPage = 50
const deletionDays = 30

interface RowList<N extends keyof Views> {
  readonly view: N
  /** The column that the view is keyed by: an id in order of time. */
  readonly key: keyof Views[N] & string
  /** The columns that the query of the page selects by. */
  readonly equal: readonly (keyof Views[N] & string)[]
  readonly filters: (page: Page) => readonly Html[]
  /** The columns that must not be null, by the parameter of the query that asks for it. */
  readonly notNull?: Readonly<Record<string, keyof Views[N] & string>>
  readonly columns: (page: Page) => Columns<Views[N]>
}

/** Shows one page of a list: the newest rows now, or those of a past moment. */
async function showRows<N extends keyof Views>(page: Page, title: string, list: RowList<N>): Promise<Html> {
  const { query, texts, labels } = page
  const rows = await readRows(page, list)
  const last = rows.length === rowsPerPage ? rows.at(-1) : undefined
  const older = new URLSearchParams(query)
  if (last) older.set('before', String(last[list.key]))
  return html`${filterForm(page, list.filters(page))}${await knownAtForm(page)}
${showTable(title, rows, labels, list.columns(page), { level: 1 })}
${last && html`<p><a href="?${older.toString()}">${texts.older}</a></p>`}`
}

async function readRows<N extends keyof Views>(
  { averba, query }: Page,
  { view, key, equal, notNull = {} }: RowList<N>,
): Promise<Views[N][]> {
  const wanted = equal.flatMap(column => {
    const value = query.get(column)
    return value === null || value === '' ? [] : [[column, value] as const]
  })
  const present = Object.entries(notNull).flatMap(([name, column]) => (query.get(name) === '1' ? [column] : []))
  const before = query.get('before')
  const known = readKnownAt(query)
  if (known === undefined) return selectPage(averba.views, view, { key, wanted, present, before })
  const past = await averba.viewAsOf(view, typeof known === 'number' ? { position: known } : { at: known })
  const isSelected = (row: Views[N]) =>
    wanted.every(([column, value]) => row[column] === value) &&
    present.every(column => row[column] !== null) &&
    (before === null || String(row[key]) < before)
  const newest = past.filter(isSelected).sort((a, b) => (String(a[key]) < String(b[key]) ? 1 : -1))
  return newest.slice(0, rowsPerPage)
}

interface Selection {
  readonly key: string
  readonly wanted: readonly (readonly [string, string])[]
  readonly present: readonly string[]
  readonly before: string | null
}

/** The view's name decides the rows and columns, which the types of a query cannot follow for any name. */
async function selectPage<N extends keyof Views>(
  views: Page['averba']['views'],
  view: N,
  { key, wanted, present, before }: Selection,
): Promise<Views[N][]> {
  const { ref, table } = views.dynamic
  let query = views.selectFrom(table(view).as('rows')).selectAll().orderBy(ref(key), 'desc').limit(rowsPerPage)
  for (const [column, value] of wanted) query = query.where(ref(column), '=', value)
  for (const column of present) query = query.where(ref(column), 'is not', null)
  if (before !== null) query = query.where(ref(key), '<', before)
  return (await query.execute()) as unknown as Views[N][]
}

export function showConsents(page: Page): Promise<Html> {
  const { texts, labels } = page
  return showRows(page, texts.consents, {
    ...{ view: 'consents', key: 'consent', equal: ['status', 'controller', 'subject'] },
    filters: () => [
      choice(page, 'status', texts.status, labels.consentStatuses),
      field(page, 'controller', texts.controller),
      field(page, 'subject', texts.subject),
      html`<label><input type="checkbox" name="ends" value="1"${page.query.get('ends') === '1' && html` checked`}> ${texts.onlyEnds}</label>`,
    ],
    notNull: { ends: 'end_wanted_at' },
    columns: () => [
      [labels.consent, row => linkToStream(row.consent)],
      [texts.status, row => labels.consentStatuses[row.status] ?? row.status],
      [texts.knowledge, row => labels.knowledge[row.knowledge] ?? ''],
      [texts.controller, row => row.controller],
      [texts.expires, row => showInstant(row.expires_at, labels)],
      [texts.endWanted, row => (row.end_wanted_at === null ? '' : showInstant(row.end_wanted_at, labels))],
    ],
  })
}

export function showValidations(page: Page): Promise<Html> {
  const { texts, labels, words } = page
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
    filters: () => [choice(page, 'state', texts.state, words.validationStates)],
    columns: () => [
      ['ID', row => row.id],
      [texts.stream, row => linkToStream(row.validation)],
      [texts.state, stateOf],
      [texts.requested, row => showInstant(row.requested_at, labels)],
      [texts.ended, row => showInstant(row.ended_at, labels)],
      [texts.act, resolve],
    ],
  })
}

export function showNotifications(page: Page): Promise<Html> {
  const { texts, labels, words } = page
  return showRows(page, texts.notifications, {
    ...{ view: 'notifications', key: 'notification', equal: ['state', 'evento'] },
    filters: () => [choice(page, 'state', texts.state, words.notificationStates), field(page, 'evento', texts.event)],
    columns: () => [
      [texts.stream, row => linkToStream(row.notification)],
      [texts.event, row => row.evento],
      [texts.state, row => words.notificationStates[row.state]],
      [texts.received, row => showInstant(row.received_at, labels)],
      [texts.copies, row => row.copies],
      [texts.handlers, row => showHandlers(page, row.handlers)],
      [
        texts.act,
        ({ trouble, notification: id }) =>
          trouble === null
            ? ''
            : html`${actForm(page, 'notifications/replay', texts.replay, { id })}${actForm(page, 'notifications/skip', texts.skipNotification, { id })}`,
      ],
    ],
  })
}

export async function showSubscriptions(page: Page): Promise<Html> {
  const { texts, labels, averba, words } = page
  const all = await averba.subscriptions.list({ inactive: true })
  const rows = await averba.views.selectFrom('subscriptions').select(['evento', 'subscription']).execute()
  const streams = new Map(rows.map(each => [each.evento, each.subscription]))
  const forecast = ({ deletedBy, deletionAt, daysOfErrors }: Subscription): Html => {
    if (deletedBy === 'portal') return html`<strong class="bad">${texts.deletedByPortal}</strong>`
    if (deletionAt === null) return html``
    const label = `${daysOfErrors} ${texts.errorDays}`
    return html`${showInstant(deletionAt, labels)}<br><meter min="0" max="${deletionDays}" low="15" high="22" optimum="0" value="${daysOfErrors}" aria-label="${label}"></meter> <span class="soft">${label}</span>`
  }
  return html`${showTable(
    texts.subscriptions,
    all,
    labels,
    [
      [texts.event, each => each.evento],
      [texts.stream, ({ evento }) => html`${streams.has(evento) && linkToStream(streams.get(evento) ?? '')}`],
      [texts.endpoint, each => each.endpoint],
      [texts.state, each => words.subscriptionStates[each.state] ?? each.state],
      [texts.health, each => words.subscriptionStates[each.health] ?? each.health],
      [texts.deletion, forecast],
      [texts.act, each => actForm(page, 'subscriptions/rotate', texts.rotate, { evento: each.evento })],
    ],
    { level: 1 },
  )}`
}

/** The calls that have not ended, or those of one state. */
export async function showEffects(page: Page): Promise<Html> {
  const { texts, labels, averba, query, words } = page
  const service = query.get('service') ?? ''
  const state = query.get('state') || 'open'
  const isOfService = ({ type }: Call) => service === '' || type.startsWith(`${service}.`)
  // The API checks the state.
  const found = await takeFirst(averba.effects.list({ state: state as 'open' }), rowsPerPage + 1, isOfService)
  const calls = found.slice(0, rowsPerPage)
  return html`${filterForm(page, [
    choice(page, 'state', texts.state, words.effectStates, texts.open),
    choice(page, 'service', texts.service, words.services),
  ])}
${showTable(
  texts.effects,
  calls,
  labels,
  [
    ['ID', call => html`<code>${call.id}</code>`],
    [texts.call, call => call.type],
    [texts.stream, call => linkToStream(call.stream)],
    [texts.state, call => describeState(call, words)],
    [texts.attempts, call => call.attempts],
    [texts.why, call => describeWaiting(page, call)],
    [texts.act, call => actsOn(page, call)],
  ],
  { level: 1 },
)}
${found.length > calls.length && html`<p class="soft">${texts.moreCalls}</p>`}`
}

/** Why a call waits, and until when. */
export function describeWaiting({ words, labels, message, commands }: Page, { waiting, ...call }: Call): Html {
  const reason = message(call.reason)
  if (!waiting) return html`${reason}`
  return html`${commands(words.waitings[waiting.for])} ${waiting.until !== null && showInstant(waiting.until, labels)}${reason !== '' && html`<div class="soft">${reason}</div>`}`
}

export function actsOn(page: Page, { id, waiting }: Call): Html {
  const { texts } = page
  const acts = (['retry', 'park', 'withdraw'] as const).filter(act => waiting?.actions.includes(act))
  // A doubtful paid call: what the person found out is entered there.
  const resolve =
    waiting?.actions.includes('resolve') && html`<a href="/validations?state=inconclusive">${texts.resolve}</a>`
  return html`${acts.map(act => actForm(page, `effects/${act}`, texts[act], { id }))}${resolve}`
}

export async function showFollowers(page: Page): Promise<Html> {
  const { texts, labels, averba, words } = page
  const state = ({ isParked, attempts, reason, dueAt }: Follower): Html => {
    if (isParked) return html`<strong class="bad">${texts.parkedFollower}</strong> <div class="soft">${reason}</div>`
    if (attempts === 0) return html`${texts.good}`
    const until = html`${words.waitings.time} ${showInstant(dueAt, labels)}`
    return html`${words.handlerStates.failing}, ${until} <div class="soft">${reason}</div>`
  }
  const acts = ({ isParked, name }: Follower): Html => {
    if (!isParked) return html``
    return html`${actForm(page, 'followers/retry', texts.retry, { name })}${actForm(page, 'followers/skip', texts.skipEvent, { name })}`
  }
  return showTable(
    texts.followers,
    await averba.log.followers(),
    labels,
    [
      [texts.name, each => each.name],
      [texts.position, each => each.position],
      [texts.state, state],
      [texts.act, acts],
    ],
    { level: 1 },
  )
}
