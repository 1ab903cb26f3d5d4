import { isDeepStrictEqual } from 'node:util'
import { type ListRecord, readId, type Summary } from '../../adapters/consent/protocol.ts'
import type { Listing } from '../../adapters/http/answer-body.ts'
import type { AddressedMessage, DecisionRequest } from '../../engine/recording/decisions.ts'
import { timesIn } from '../../machines/consent/moves.ts'
import { undefinedIfStopped } from '../../store/views/view-reader.ts'
import type { MessageWithParts } from '../../vocabulary/message.ts'
import { idOfStream, streamOf } from '../../vocabulary/names.ts'
import { type ApiContext, recordKey } from '../api-context.ts'
import type { OutcomeFact, PendingUntil } from '../effect-types.ts'
import { nextSync } from './enrolments.ts'

/** Addresses each listed consent to its own stream, and sends `consent.miss` to the missing ones. */
export async function routeConsents(
  context: ApiContext,
  pending: PendingUntil<'consentService.consentsListed'>,
  fact: OutcomeFact<'consentService.consentsListed'>,
  since: number,
): Promise<DecisionRequest> {
  const { items, unreadable, askedAt, controller } = fact.data
  const owner = pending.stream
  const when = askedAt !== undefined && { askedAt }
  const times = timesIn(fact.data)
  const of = controller !== undefined && { controller }
  const count = { read: items.length, unreadable: unreadable.length, ...when, ...of, ...nextSync(context, pending) }
  const toListed = (more: { changed: number; isPartial?: true }): MessageWithParts => {
    return { type: 'consentService.consentsListed', data: { ...count, ...more } }
  }
  if (await context.subjects.isErased(owner)) return { targets: [{ stream: owner, message: toListed({ changed: 0 }) }] }
  const subject = idOfStream(owner)
  const targets: AddressedMessage[] = []
  const indexEntries = []
  const seen = new Set<string>()
  const { byId, unclear, hasUnnamed } = groupById({ items, unreadable })
  const keyOf = (id: string) => recordKey(subject, id)
  const indexed = await context.store.lookUpAll('consent', [...byId.keys(), ...unclear].map(keyOf))
  for (const [id, { summary, record }] of byId) {
    const key = keyOf(id)
    const known = indexed.get(key)
    const consent = known ?? context.createId()
    const stream = streamOf('consent', consent)
    seen.add(stream)
    if (known === undefined)
      indexEntries.push({ kind: 'consent', digest: context.store.digest('consent', key), value: consent })
    const parts = { record: { owner, value: record } }
    const data = { ...summary, consent, subject, ...times }
    const isNew = known === undefined
    targets.push({ stream, message: { type: 'consent.observe', data, parts }, since, isNew })
  }
  for (const id of unclear) {
    const consent = indexed.get(keyOf(id))
    if (consent === undefined) continue
    const stream = streamOf('consent', consent)
    seen.add(stream)
    targets.push({ stream, message: { type: 'consent.observeUnreadable', data: {} }, since })
  }
  // A record without an id may be any of the missing ones, and a stopped view does not know all consents.
  const all = context.views.selectFrom('consents').select('consent').where('subject', '=', subject)
  const rows = controller === undefined ? all : all.where('controller', '=', controller)
  const known = hasUnnamed ? undefined : await undefinedIfStopped(rows.execute())
  const missing = known?.filter(({ consent }) => !seen.has(consent)) ?? []
  for (const { consent: stream } of missing)
    targets.push({ stream, message: { type: 'consent.miss', data: {} }, since })
  const listed = (changed: number): MessageWithParts => ({
    ...toListed({ changed, ...(!known && { isPartial: true }) }),
    ...(unreadable.length > 0 && { parts: { unreadable: { owner, value: unreadable } } }),
  })
  return { targets: [...targets, { stream: owner, message: listed }], indexEntries }
}

/** The records of a list by id. An id that occurs twice with different content counts as unreadable. */
function groupById({ items, unreadable }: Listing<ListRecord<Summary>>) {
  const byId = new Map<string, ListRecord<Summary>>()
  const unclear = new Set<string>()
  for (const item of items) {
    const other = byId.get(item.id)
    if (other && !isDeepStrictEqual(other.summary, item.summary)) unclear.add(item.id)
    byId.set(item.id, item)
  }
  const ids = unreadable.map(readId)
  for (const id of ids) if (id !== undefined) unclear.add(id)
  for (const id of unclear) byId.delete(id)
  return { byId, unclear, hasUnnamed: ids.includes(undefined) }
}
