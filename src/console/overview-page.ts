import { showTable } from '../pages/document.ts'
import { type Html, html } from '../pages/html.ts'
import { countCalls, type Need, type Overview, readOverview, readPastOverview } from './overview.ts'
import { knownAtForm, type Page, readKnownAt, sameMoment } from './page.ts'

/** The page where a need is looked into. */
const placeOf: Readonly<Record<string, string>> = {
  effects: '/effects?state=parked',
  followers: '/followers',
  notifications: '/notifications?state=parked',
  subscriptions: '/subscriptions',
  deleted: '/subscriptions',
  consents: '/consents?ends=1',
  undecided: '/validations?state=inconclusive',
}

export async function showOverview(page: Page): Promise<Html> {
  const { averba, texts, words, query } = page
  const known = readKnownAt(query)
  const shown = known === undefined ? await readOverview(averba) : await readPastOverview(averba, known)
  const { figures, expiring, subscriptions, needs } = shown
  const calls = [...countCalls(figures.effects)]
  const open = calls.reduce((sum, [, count]) => sum + count, 0)
  const states = calls.map(([state, count]) => html`<div class="soft">${words.effectStates[state]} (${count})</div>`)
  const failing = subscriptions.filter(each => each.failingSince !== null).length
  const tiles: readonly (readonly [string, string | number, string, ...Html[]])[] = [
    ...('position' in figures ? ([[texts.events, figures.position, '/log']] as const) : []),
    [texts.openCalls, open, '/effects', ...states],
    [texts.expiring, expiring, '/consents?expires=1'],
    [texts.parkedNotifications, figures.notifications?.parked ?? '?', '/notifications?state=parked'],
    ...('followers' in figures ? ([[texts.parkedFollowers, figures.followers.parked, '/followers']] as const) : []),
    [texts.failingSubscriptions, failing, '/subscriptions'],
  ]
  return html`${await knownAtForm(page)}<ul class="tiles">${tiles.map(([name, value, to, ...more]) => html`<li><a href="${sameMoment(page, to)}"><span>${name}</span> <strong>${value}</strong>${more}</a></li>`)}</ul>
<h2>${texts.needs}</h2>
${needs.map(need => showNeed(need, page))}${'health' in shown ? showChecks(page, shown) : html`<p class="soft">${texts.ofNow}</p>`}`
}

function showChecks({ texts, names, labels, message }: Page, { health, needs }: Overview): Html {
  return html`${needs.length === 0 && html`<div class="card yes"><strong>${texts.nothingNeeded}</strong></div>`}
${showTable(texts.checks, health.checks, labels, [
  [texts.name, each => names.checks[each.name]],
  [texts.state, each => (each.ok ? texts.good : html`<strong class="bad">${texts.wrong}</strong>`)],
  [
    texts.result,
    ({ detail, daysLeft }) => message(detail) + (daysLeft === undefined ? '' : ` (${texts.daysLeft}: ${daysLeft})`),
  ],
])}`
}

function showNeed({ what, detail }: Need, page: Page): Html {
  const { texts, names, message } = page
  const place = placeOf[what]
  const told = () => {
    if (what === 'deleted') return `${detail}: ${texts.deletedByPortal}`
    return what === 'undecided' ? `${texts.undecided}: ${detail}` : `${names.checks[what]}: ${message(detail)}`
  }
  return html`<div class="card no"><strong>${told()}</strong>${place !== undefined && html` <a href="${sameMoment(page, place)}">${texts.show}</a>`}</div>`
}
