import { showTable } from '../pages/document.ts'
import { type Html, html } from '../pages/html.ts'
import { countCalls, type Need, readOverview } from './overview.ts'
import type { Page } from './page.ts'

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
  const { averba, texts, names, labels, words, message } = page
  const { figures, health, expiring, subscriptions, needs } = await readOverview(averba)
  const calls = [...countCalls(figures)]
  const open = calls.reduce((sum, [, count]) => sum + count, 0)
  const states = calls.map(([state, count]) => html`<div class="soft">${count} ${words.effectStates[state]}</div>`)
  const failing = subscriptions.filter(each => each.failingSince !== null).length
  const tiles: readonly (readonly [string, string | number, string, ...Html[]])[] = [
    [texts.events, figures.position, '/log'],
    [texts.openCalls, open, '/effects', ...states],
    [texts.expiring, expiring, '/consents?status=ATIVO'],
    [texts.parkedNotifications, figures.notifications?.parked ?? '?', '/notifications?state=parked'],
    [texts.parkedFollowers, figures.followers.parked, '/followers'],
    [texts.failingSubscriptions, failing, '/subscriptions'],
  ]
  return html`<ul class="tiles">${tiles.map(([name, value, to, ...more]) => html`<li><a href="${to}"><span>${name}</span> <strong>${value}</strong>${more}</a></li>`)}</ul>
<h2>${texts.needs}</h2>
${needs.length === 0 ? html`<div class="card yes"><strong>${texts.nothingNeeded}</strong></div>` : needs.map(need => showNeed(need, page))}
${showTable(texts.checks, health.checks, labels, [
  [texts.check, each => names.checks[each.name]],
  [texts.state, each => (each.ok ? texts.good : html`<strong class="bad">${texts.wrong}</strong>`)],
  [
    texts.found,
    each => html`${message(each.detail)}${each.daysLeft !== undefined && ` (${each.daysLeft} ${texts.daysLeft})`}`,
  ],
])}`
}

function showNeed({ what, detail }: Need, { texts, names, message }: Page): Html {
  const place = placeOf[what]
  const told = () => {
    if (what === 'deleted') return `${detail}: ${texts.deletedByPortal}`
    return what === 'undecided' ? `${detail} ${texts.undecided}` : `${names.checks[what]}: ${message(detail)}`
  }
  return html`<div class="card no"><strong>${told()}</strong>${place !== undefined && html` <a href="${place}">${texts.show}</a>`}</div>`
}
