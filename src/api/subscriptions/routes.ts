import { type ListedSubscription, readUnreadable, type Secrets } from '../../adapters/portal/protocol.ts'
import type { AddressedMessage, DecisionRequest } from '../../engine/recording/decisions.ts'
import type { SubscriptionReading } from '../../machines/subscription/messages.ts'
import type { SubscriptionRow } from '../../views/subscriptions.ts'
import { holdsCredentials } from '../../vocabulary/https-address.ts'
import { dayMs, fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Fact, Json } from '../../vocabulary/message.ts'
import { portalStream } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import type { OutcomeFact } from '../effect-types.ts'
import type { ListedAtPortal, Recorded } from '../events.ts'
import type { DeclaredSubscriptions } from './declared-subscriptions.ts'
import type { SubscriptionSecrets } from './secrets/subscription-secrets.ts'

/** A keyed digest of a pair of secrets: comparable, and useless without the keyring. */
export function secretsDigest(context: ApiContext, { chaveSecreta = '', chaveAutenticacao = '' }: Secrets): string {
  return context.store.digestHex('secrets', `${chaveSecreta}\0${chaveAutenticacao}`)
}

/** Routes the portal's list to our streams. Returns the events with our current secrets, which go no further. */
export async function routeSubscriptions(
  context: ApiContext,
  declarations: DeclaredSubscriptions,
  ourSecrets: SubscriptionSecrets,
  fact: OutcomeFact<'portal.subscriptionsListed'>,
  since: number,
): Promise<{ request: DecisionRequest; withOurSecrets: string[] }> {
  const { items, unreadable } = fact.data
  const list = items.map(each => withoutFuture(each, context.clock.now()))
  const rows = await subscriptionRows(context)
  const { observe, adopt } = createListMessages(context, declarations, ourSecrets)
  const targets: AddressedMessage[] = []
  const withOurSecrets: string[] = []
  for (const row of rows) {
    const listed = list.find(each => each.remoteId === row.remote_id)
    const message = listed ? await observe(row, listed) : await adopt(row, list)
    if (message.type !== 'subscription.miss' && message.data.generation !== null) withOurSecrets.push(row.evento)
    const isUnsure = message.type === 'subscription.miss' && unreadable.some(record => mayBeRow(row, record, rows))
    if (!isUnsure) targets.push({ stream: row.subscription, message, since })
    // A deleted one may be listed again: a list can be incomplete.
    const former = list.find(each => each.remoteId === row.former_id)
    if (former) targets.push({ stream: row.subscription, message: await observe(row, former), since })
  }
  const plain = await Promise.all(
    list.map(async (each): Promise<ListedAtPortal> => {
      const { remoteId, evento, endpoint, secrets, isDeleted, lastSuccessAt, registeredAt } = each
      // Ours has the secrets of the event it was registered for, even if the event was changed at the portal.
      const own = rows.find(row => row.remote_id === remoteId)?.evento ?? evento
      const generation = await ourSecrets.generationIn(own, each)
      const digest = secretsDigest(context, secrets)
      const times = { lastSuccessAt, registeredAt }
      return { remoteId, evento, endpoint, secrets: digest, generation, isDeleted, ...times }
    }),
  )
  const deleted = list.filter(each => each.isDeleted).length
  const parts = {
    list: { owner: portalStream, value: plain },
    ...(unreadable.length > 0 && {
      unreadable: { owner: portalStream, value: unreadable.map(withoutSecrets) },
    }),
  }
  const data = { active: list.length - deleted, deleted, unreadable: unreadable.length }
  const message = { type: 'portal.subscriptionsListed', data, parts }
  return { request: { targets: [...targets, { stream: portalStream, message }] }, withOurSecrets }
}

const portalAheadMaxMs = 2 * dayMs

/** Drops a success in the future: it would hide all failures until then, up to the deletion. */
function withoutFuture(listed: ListedSubscription, now: number): ListedSubscription {
  const { lastSuccessAt } = listed
  const isAhead = lastSuccessAt !== null && fromInstant(lastSuccessAt) > now + portalAheadMaxMs
  return isAhead ? { ...listed, lastSuccessAt: null } : listed
}

/** All our subscriptions, deleted ones included: they are few. */
export function subscriptionRows({ rows, views }: Pick<ApiContext, 'rows' | 'views'>): Promise<SubscriptionRow[]> {
  const query = views.selectFrom('subscriptions').selectAll().orderBy('subscription')
  return rows.select('subscriptions', query, { kind: 'subscription' })
}

function mayBeRow(row: SubscriptionRow, record: Json, rows: readonly SubscriptionRow[]): boolean {
  const { remoteId, evento = row.evento } = readUnreadable(record)
  if (remoteId === null || row.remote_id === remoteId) return true
  // A subscription whose registration has an unknown outcome has no id yet.
  const isAnother = rows.some(each => each.remote_id === remoteId)
  return row.remote_id === null && !isAnother && evento === row.evento
}

/** The portal's ids of the unreadable rows of a list; null when the id cannot be read either. */
export async function readUnreadableIds(
  { store }: Pick<ApiContext, 'store'>,
  { id, data }: { id: string; data: Recorded<'portal.listed'>['data'] },
): Promise<(number | null)[]> {
  const records = data.unreadable === 0 ? undefined : await store.open(`${id}/unreadable`)
  return Array.isArray(records) ? records.map(each => readUnreadable(each).remoteId) : []
}

const keptMembers = ['id', 'evento', 'endpoint', 'dataRegistro', 'dataExclusao', 'dataUltimoSucesso']
const textMax = 1_000
const namesMax = 100

/** Removes secrets from an unreadable row, which is kept for a person: of unknown members only the names are kept. */
function withoutSecrets(record: Json): Json {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return null
  const isKept = ([name, value]: [string, Json]) => keptMembers.includes(name) && typeof value !== 'object'
  const members = Object.entries(record)
  const kept = members.filter(isKept).map(([name, value]) => {
    return [name, typeof value === 'string' ? withoutPassword(value).slice(0, textMax) : value]
  })
  const others = members.filter(each => !isKept(each)).map(([name]) => name.slice(0, textMax))
  return { ...Object.fromEntries(kept), others: others.slice(0, namesMax) }
}

function withoutPassword(text: string): string {
  const url = holdsCredentials(text) ? new URL(text) : undefined
  return url ? Object.assign(url, { username: '', password: '' }).href : text
}

function createListMessages(
  { clock }: ApiContext,
  declarations: DeclaredSubscriptions,
  ourSecrets: SubscriptionSecrets,
) {
  async function toReading(row: SubscriptionRow, listed: ListedSubscription): Promise<SubscriptionReading> {
    const { evento } = row
    const { remoteId, evento: shown, endpoint, isDeleted, deletedAt, lastSuccessAt, registeredAt } = listed
    // A process that does not declare the event knows no secrets: what was known stays. A lost call ends by the rest.
    const isWaiting = row.state === 'registering' || row.state === 'changing'
    const held = row.secrets_are_ours === 1 ? row.generation : null
    const known = isWaiting ? await ourSecrets.generationOf(evento) : held
    const generation = declarations.isDeclared(evento) ? await ourSecrets.generationIn(evento, listed) : known
    const times = { deletedAt, lastSuccessAt, registeredAt, readAt: toInstant(clock.now()) }
    return { remoteId, evento: shown, endpoint, generation, isDeleted, ...times }
  }

  async function observe(
    row: SubscriptionRow,
    listed: ListedSubscription,
  ): Promise<Fact<'subscription.observe', SubscriptionReading>> {
    const { reason } = listed
    const parts = reason !== null && { parts: { reason: { owner: row.subscription, value: reason } } }
    return { type: 'subscription.observe', data: await toReading(row, listed), ...parts }
  }

  /** Finds a registration whose answer was lost, by event and endpoint, if it is there. Other secrets are drift. */
  async function adopt(
    row: SubscriptionRow,
    list: readonly ListedSubscription[],
  ): Promise<Fact<'subscription.adopt', SubscriptionReading> | Fact<'subscription.miss', object>> {
    const { evento, endpoint, state } = row
    const alike = list.filter(
      each => state === 'registering' && each.evento === evento && each.endpoint === endpoint && !each.isDeleted,
    )
    const readings = await Promise.all(alike.map(each => toReading(row, each)))
    const same = readings.find(each => each.generation !== null) ?? readings[0]
    return same ? { type: 'subscription.adopt', data: same } : { type: 'subscription.miss', data: {} }
  }

  return { observe, adopt }
}
