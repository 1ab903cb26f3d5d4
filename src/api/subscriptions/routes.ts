import type { Listing } from '../../adapters/http/listing.ts'
import {
  holdsCredentials,
  type ListedSubscription,
  readUnreadable,
  type Secrets,
} from '../../adapters/portal/protocol.ts'
import type { AddressedMessage, DecisionRequest } from '../../engine/recording/decisions.ts'
import type { SubscriptionReading } from '../../machines/subscription/messages.ts'
import type { SubscriptionRow } from '../../views/subscriptions.ts'
import { dayMs, fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Json, MessageWithParts } from '../../vocabulary/message.ts'
import { portalStream } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import type { DeclaredSubscriptions } from './declared-subscriptions.ts'
import type { ListedAtPortal } from './plan.ts'

/** A keyed digest of a pair of secrets: comparable, and useless without the keyring. */
export function secretsDigest(context: ApiContext, { chaveSecreta = '', chaveAutenticacao = '' }: Secrets): string {
  return Buffer.from(context.store.digest('secrets', `${chaveSecreta}\0${chaveAutenticacao}`)).toString('hex')
}

/**
 * Routes the portal's list to the streams of our subscriptions, and returns the events whose subscription has our
 * current secrets. Secrets go no further than here.
 */
export async function routeSubscriptions(
  context: ApiContext,
  declarations: DeclaredSubscriptions,
  fact: MessageWithParts,
  since: number,
): Promise<{ request: DecisionRequest; withOurSecrets: string[] }> {
  const { items, unreadable } = fact.data as Listing<ListedSubscription> // As the client reads it.
  const list = items.map(each => withoutFuture(each, context.clock.now()))
  const rows = await subscriptionRows(context)
  const targets: AddressedMessage[] = []
  const withOurSecrets: string[] = []
  for (const row of rows) {
    const listed = list.find(each => each.remoteId === row.remote_id)
    const message = listed
      ? await createObservation(context, declarations, row, listed)
      : await createAdoption(context, declarations, row, list)
    const { generation } = message.data as { generation?: number | null } // Only in readings.
    if (typeof generation === 'number') withOurSecrets.push(row.evento)
    const isUnsure = message.type === 'subscription.miss' && unreadable.some(record => mayBeRow(row, record, rows))
    if (!isUnsure) targets.push({ stream: row.subscription, message, since })
    // A deleted one may be listed again: a list can be incomplete.
    const former = list.find(each => each.remoteId === row.former_id)
    if (former) {
      const again = await createObservation(context, declarations, row, former)
      targets.push({ stream: row.subscription, message: again, since })
    }
  }
  const plain = await Promise.all(
    list.map(async (each): Promise<ListedAtPortal> => {
      const { remoteId, evento, endpoint, secrets, isDeleted, lastSuccessAt, registeredAt } = each
      // Ours has the secrets of the event it was registered for, even if the event was changed at the portal.
      const own = rows.find(row => row.remote_id === remoteId)?.evento ?? evento
      const generation = await declarations.generationIn(own, each)
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

/** Whether an unreadable row of the list may be our subscription that seems to be missing. */
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
  { id, data }: { id: string; data: unknown },
): Promise<(number | null)[]> {
  const { unreadable } = data as { unreadable: number } // As in portal.listed.
  const records = unreadable === 0 ? undefined : await store.open(`${id}/unreadable`)
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

async function createObservation(
  context: ApiContext,
  declarations: DeclaredSubscriptions,
  row: SubscriptionRow,
  listed: ListedSubscription,
): Promise<MessageWithParts> {
  const { reason } = listed
  return {
    type: 'subscription.observe',
    data: await toReading(context, declarations, row, listed),
    ...(reason !== null && { parts: { reason: { owner: row.subscription, value: reason } } }),
  }
}

/**
 * Finds a registration whose answer was lost, by event and endpoint, or reports that it is missing. Its secrets may
 * differ, if the host has changed them meanwhile; that counts as drift.
 */
async function createAdoption(
  context: ApiContext,
  declarations: DeclaredSubscriptions,
  row: SubscriptionRow,
  list: readonly ListedSubscription[],
): Promise<MessageWithParts> {
  const alike = list.filter(each => {
    const isAlike = each.evento === row.evento && each.endpoint === row.endpoint && !each.isDeleted
    return row.state === 'registering' && isAlike
  })
  const readings = await Promise.all(alike.map(each => toReading(context, declarations, row, each)))
  const same = readings.find(each => each.generation !== null) ?? readings[0]
  return same ? { type: 'subscription.adopt', data: same } : { type: 'subscription.miss', data: {} }
}

/** The reading of a listed subscription, with the generation of its secrets. */
async function toReading(
  context: ApiContext,
  declarations: DeclaredSubscriptions,
  { evento }: SubscriptionRow,
  listed: ListedSubscription,
): Promise<SubscriptionReading> {
  const { remoteId, endpoint, isDeleted, deletedAt, lastSuccessAt, registeredAt } = listed
  // For an event that is no longer declared, the secrets are unknown.
  const generation = declarations.isDeclared(evento)
    ? await declarations.generationIn(evento, listed)
    : await declarations.generationOf(evento)
  const readAt = toInstant(context.clock.now())
  const { evento: shown } = listed
  const times = { deletedAt, lastSuccessAt, registeredAt, readAt }
  return { remoteId, evento: shown, endpoint, generation, isDeleted, ...times }
}
