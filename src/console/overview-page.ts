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

export async function showOverview({ averba, texts, labels, message }: Page): Promise<Html> {
  const { figures, health, expiring, subscriptions, needs } = await readOverview(averba)
  const calls = [...countCalls(figures)].map(([state, count]) => `${count} ${state}`).join(', ')
  const failing = subscriptions.filter(each => each.failingSince !== null).length
  const tiles: readonly (readonly [string, string | number, string])[] = [
    [texts.events, figures.position, '/log'],
    [texts.openCalls, calls || 0, '/effects'],
    [texts.expiring, expiring, '/consents?status=ATIVO'],
    [texts.parkedNotifications, figures.notifications?.parked ?? '?', '/notifications?state=parked'],
    [texts.parkedFollowers, figures.followers.parked, '/followers'],
    [texts.failingSubscriptions, failing, '/subscriptions'],
  ]
  return html`<ul class="tiles">${tiles.map(([name, value, to]) => html`<li><a href="${to}"><span>${name}</span> <strong>${value}</strong></a></li>`)}</ul>
<h2>${texts.needs}</h2>
${needs.length === 0 ? html`<div class="card yes"><strong>${texts.nothingNeeded}</strong></div>` : needs.map(need => showNeed(need, texts, message))}
${showTable(texts.checks, health.checks, labels, [
  [texts.check, each => each.name],
  [texts.state, each => (each.ok ? texts.good : html`<strong class="bad">${texts.wrong}</strong>`)],
  [
    texts.found,
    each => html`${message(each.detail)}${each.daysLeft !== undefined && ` (${each.daysLeft} ${texts.daysLeft})`}`,
  ],
])}`
}

function showNeed({ what, detail }: Need, texts: Page['texts'], message: Page['message']): Html {
  const place = placeOf[what]
  const told: Readonly<Record<string, string>> = {
    deleted: `${detail}: ${texts.deletedByPortal}`,
    undecided: `${detail} ${texts.undecided}`,
  }
  return html`<div class="card no"><strong>${told[what] ?? `${what}: ${message(detail)}`}</strong>${place !== undefined && html` <a href="${place}">${texts.show}</a>`}</div>`
}
