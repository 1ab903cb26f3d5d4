import type { Listing } from './adapters/listing.ts'
import type { ListedFailure, ListedSubscription, Secrets } from './adapters/portal/protocol.ts'
import type { Area } from './area.ts'
import type { Delivery, Target } from './decisions.ts'
import type { Desired } from './desired.ts'
import type { Carried, Instant, Json } from './message.ts'
import type { ListedAtPortal } from './plan.ts'
import type { SubscriptionRow } from './views/subscriptions.ts'

/** The stream of our account at the portal as a whole. */
export const portalStream = 'portal-main'

/** Stands for a pair of secrets: comparable, and of no use to anyone without the keyring. */
export function digestOf(area: Area, { chaveSecreta = '', chaveAutenticacao = '' }: Secrets): string {
  return Buffer.from(area.store.digest('secrets', `${chaveSecreta}\0${chaveAutenticacao}`)).toString('hex')
}

/** Tells each of our subscriptions what the portal's list says of it. Secrets end here. */
export async function routeSubscriptions(
  area: Area,
  desired: Desired,
  fact: Carried,
  since: number,
): Promise<Delivery> {
  const { items: list, unreadable } = fact.data as Listing<ListedSubscription> // As the client reads it.
  const rows = await area.views.selectFrom('subscriptions').selectAll().execute()
  const targets: Target[] = []
  for (const row of rows) {
    const listed = list.find(each => each.remoteId === row.remote_id)
    const message = listed
      ? await observation(area, desired, row, listed)
      : await adoption(area, desired, row, list)
    // A row that cannot be read may be any that seems to be missing.
    const isUnsure = message.type === 'subscription.miss' && unreadable.length > 0
    if (!isUnsure) targets.push({ stream: row.subscription, message, since })
  }
  const plain: ListedAtPortal[] = list.map(({ remoteId, evento, endpoint, secrets, isDeleted }) => {
    return { remoteId, evento, endpoint, secrets: digestOf(area, secrets), isDeleted }
  })
  const deleted = list.filter(each => each.isDeleted).length
  const parts = {
    list: { owner: portalStream, value: plain },
    ...(unreadable.length > 0 && {
      unreadable: { owner: portalStream, value: unreadable.map(withoutSecrets) },
    }),
  }
  const data = { active: list.length - deleted, deleted, unreadable: unreadable.length }
  const message = { type: 'portal.subscriptionsListed', data, parts }
  return { targets: [...targets, { stream: portalStream, message }] }
}

/** A row that cannot be read is kept for a person to look at, but never its secrets. */
function withoutSecrets(record: Json): Json {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return null
  return Object.fromEntries(Object.entries(record).filter(([name]) => !name.startsWith('chave')))
}

async function observation(
  area: Area,
  desired: Desired,
  row: SubscriptionRow,
  listed: ListedSubscription,
): Promise<Carried> {
  const { remoteId, endpoint, secrets, isDeleted, deletedAt, lastSuccessAt, reason } = listed
  const areSecretsOurs = digestOf(area, secrets) === digestOf(area, await desired.secretsOf(row.evento))
  return {
    type: 'subscription.observe',
    data: { remoteId, endpoint, areSecretsOurs, isDeleted, deletedAt, lastSuccessAt },
    ...(reason !== null && { parts: { reason: { owner: row.subscription, value: reason } } }),
  }
}

/** A registration whose answer was lost is found again by its content, or is certainly not there. */
async function adoption(
  area: Area,
  desired: Desired,
  row: SubscriptionRow,
  list: readonly ListedSubscription[],
): Promise<Carried> {
  const secrets = digestOf(area, await desired.secretsOf(row.evento))
  const same = list.find(each => {
    const isAlike = each.evento === row.evento && each.endpoint === row.endpoint && !each.isDeleted
    return row.state === 'registering' && isAlike && digestOf(area, each.secrets) === secrets
  })
  if (!same) return { type: 'subscription.miss', data: {} }
  const { remoteId, endpoint, isDeleted, deletedAt, lastSuccessAt } = same
  return {
    type: 'subscription.adopt',
    data: { remoteId, endpoint, areSecretsOurs: true, isDeleted, deletedAt, lastSuccessAt },
  }
}

/** One record of the portal's answer about failures, as far as it is needed to find it again. */
export interface AnsweredFailure {
  readonly remoteId: number
  readonly failedAt: Instant | null
}

/** Sends each failure record to the subscription for its event; those of others are kept too. */
export async function routeFailures(area: Area, fact: Carried): Promise<Delivery> {
  const { items, unreadable } = fact.data as Listing<ListedFailure> // As the client reads it.
  const targets: Target[] = []
  const claims = []
  for (const { remoteId, evento, failedAt, record } of items) {
    const failure = area.createId()
    const known = await area.store.lookUp('subscription', evento)
    const stream = known === undefined ? portalStream : `subscription-${known}`
    const parts = { failure: { owner: stream, value: record } }
    if (known !== undefined) {
      const data = { failure, remoteId, failedAt, evento }
      targets.push({ stream, message: { type: 'subscription.observeFailure', data, parts } })
    } else if ((await area.store.lookUp('failure', String(remoteId))) === undefined) {
      claims.push({ kind: 'failure', digest: area.store.digest('failure', String(remoteId)), value: failure })
      const data = { failure, evento, failedAt }
      targets.push({ stream, message: { type: 'portal.observeForeignFailure', data, parts } })
    }
  }
  const answered = items.map(({ remoteId, failedAt }) => ({ remoteId, failedAt }))
  const parts = {
    answered: { owner: portalStream, value: answered },
    ...(unreadable.length > 0 && { unreadable: { owner: portalStream, value: unreadable } }),
  }
  const data = { read: items.length, unreadable: unreadable.length }
  const message = { type: 'portal.failuresListed', data, parts }
  return { targets: [...targets, { stream: portalStream, message }], claims }
}
