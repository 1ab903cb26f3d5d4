import type { Listed, Summary } from './adapters/consent/protocol.ts'
import type { Listing } from './adapters/listing.ts'
import type { Area } from './area.ts'
import type { Delivery, Target } from './decisions.ts'
import type { Carried, Owed } from './message.ts'
import { syncAgain } from './sync-schedule.ts'

/** Sends each listed consent to its own stream, and says to those of the subject that are missing. */
export async function routeConsents(area: Area, owed: Owed, fact: Carried, since: number): Promise<Delivery> {
  const { items, unreadable } = fact.data as Listing<Listed<Summary>> // As the client reads it.
  const owner = owed.stream
  const again = syncAgain(area, owed)
  const count = { read: items.length, unreadable: unreadable.length, ...again }
  if (await area.subjects.isErased(owner))
    return { targets: [{ stream: owner, message: listedAs({ ...count, changed: 0 }) }] }
  const subject = owner.slice('subject-'.length)
  const targets: Target[] = []
  const claims = []
  const seen = new Set<string>()
  const byId = new Map(items.map(item => [item.id, item]))
  for (const [id, { summary, record }] of byId) {
    const key = `${subject}\0${id}`
    const known = await area.store.lookUp('consent', key)
    const consent = known ?? area.createId()
    const stream = `consent-${consent}`
    seen.add(stream)
    if (known === undefined)
      claims.push({ kind: 'consent', digest: area.store.digest('consent', key), value: consent })
    const parts = { record: { owner, value: record } }
    const data = { ...summary, consent, subject }
    const isNew = known === undefined
    targets.push({ stream, message: { type: 'consent.observe', data, parts }, since, isNew })
  }
  const held = await area.views
    .selectFrom('consents')
    .select('consent')
    .where('subject', '=', subject)
    .execute()
  // A record that cannot be read may be any of those that seem to be missing.
  const missing = unreadable.length > 0 ? [] : held.filter(row => !seen.has(row.consent))
  for (const { consent } of missing)
    targets.push({ stream: consent, message: { type: 'consent.miss', data: {} }, since })
  const listed = (changed: number): Carried => ({
    ...listedAs({ ...count, changed }),
    ...(unreadable.length > 0 && { parts: { unreadable: { owner, value: unreadable } } }),
  })
  return { targets: [...targets, { stream: owner, message: listed }], claims }
}

function listedAs(data: object): Carried {
  return { type: 'consentService.consentsListed', data }
}
