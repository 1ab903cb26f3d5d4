import { type ConsentRecorded, tell } from './consent-timeline.ts'
import { AverbaError } from './errors.ts'
import { checkInstant } from './given.ts'
import type { SubjectEvent } from './machines/subject-messages.ts'
import type { Instant, Recorded } from './message.ts'
import type { Standing } from './standings.ts'
import type { Store } from './store/store.ts'
import type { SubjectRef } from './subjects.ts'
import type { RecordedOf } from './view.ts'

/** What the log holds of a consent up to a point. */
export interface Story {
  readonly stream: string | undefined
  readonly events: readonly ConsentRecorded[]
  readonly synced: RecordedOf<Extract<SubjectEvent, { type: 'subject.synced' }>> | undefined
}

/** A point of the log, by position or by time: included. */
export type Until = { readonly position: number } | { readonly at: Instant }

const endless: Until = { position: Number.MAX_SAFE_INTEGER }

/** Reports whether an event had been recorded by then. */
export function isWithin(event: Pick<Recorded, 'at' | 'position'>, until: Until): boolean {
  return 'at' in until ? event.at <= until.at : event.position <= until.position
}

/** Reads what the log holds of a consent, by its id at the service, up to a point. */
export async function readStory(
  store: Store,
  subject: SubjectRef,
  id: string,
  until: Until = endless,
): Promise<Story> {
  const consent = await store.lookUp('consent', `${subject}\0${id}`)
  const stream = consent === undefined ? undefined : `consent-${consent}`
  const events: ConsentRecorded[] = []
  for (let after = 0; stream !== undefined; after = events.at(-1)?.position ?? after) {
    const page = await store.read({ stream, after })
    events.push(...(page.filter(event => isWithin(event, until)) as ConsentRecorded[])) // Its own stream.
    if (page.length === 0 || !page.every(event => isWithin(event, until))) break
  }
  const [first] = events
  return { stream, events, synced: first && (await syncedSince(store, subject, first.position, until)) }
}

/** The last list that covers it: in one that is partial it may be what is missing. */
async function syncedSince(
  store: Store,
  subject: SubjectRef,
  since: number,
  until: Until,
): Promise<Story['synced']> {
  const filter = { stream: `subject-${subject}`, types: ['subject.synced'], backward: true, limit: 50 }
  let before = 'position' in until ? Math.min(until.position + 1, Number.MAX_SAFE_INTEGER) : undefined
  for (;;) {
    const page = (await store.read({
      ...filter,
      ...(before !== undefined && { after: before }),
    })) as NonNullable<Story['synced']>[] // Of this type.
    const found = page.find(
      event => event.position > since && isWithin(event, until) && !event.data.isPartial,
    )
    const last = page.at(-1)
    if (found || !last || last.position <= since) return found
    before = last.position
  }
}

/** When a list was asked for. */
export function askedAtOf(synced: Story['synced']): Instant | null {
  return synced ? (synced.data.askedAt ?? synced.at) : null
}

/** Says whether a consent stood, by what is read of it. */
export function answerFrom(
  { events, synced }: Story,
  at: Instant,
  knownAt: Instant,
  { ageMaxMs, askedAt }: { readonly ageMaxMs?: number | undefined; readonly askedAt?: Instant },
): Standing {
  const syncedAt = askedAtOf(synced)
  const told = tell(events, { at, knownAt, askedAt, ageMaxMs: ageMaxMs ?? null, syncedAt })
  const { because, readAt, expiresAt } = told
  const effective = because === 'active'
  return {
    effective,
    because,
    ...(readAt !== null && { readAt }),
    ...(effective && expiresAt !== null && { until: expiresAt }),
    position: Math.max(events.at(-1)?.position ?? 0, synced?.position ?? 0),
  }
}

/** The point that a host means; `undefined` for now. */
export function untilOf(knownAt: Instant | number | undefined): Until | undefined {
  if (knownAt === undefined) return undefined
  if (typeof knownAt !== 'number') {
    checkInstant(knownAt, 'knownAt')
    return { at: knownAt }
  }
  if (Number.isSafeInteger(knownAt) && knownAt >= 0) return { position: knownAt }
  throw new AverbaError('INVALID_INPUT', 'Cannot use "knownAt": it is no position of the log')
}

/** When the last event up to a position was recorded. */
export async function lastAt(store: Store, position: number): Promise<Instant | undefined> {
  const [event] = await store.read({ after: position + 1, backward: true, limit: 1 })
  return event?.at
}
