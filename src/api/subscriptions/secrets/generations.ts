import type { HeldEndpoint } from '../../../machines/subscription/messages.ts'
import { fromInstant, isWithin } from '../../../vocabulary/instant.ts'
import type { RecordedEvent } from '../../../vocabulary/message.ts'
import { effectStream } from '../../../vocabulary/names.ts'
import { type ApiContext, findStream, readEvents } from '../../api-context.ts'
import type { Recorded } from '../../events.ts'

/** How long former secrets are accepted after the portal confirmed a change or rotation. */
export const formerSecretsAcceptedMs = 60 * 60_000

const ageMaxMs = 1_000

const types = [
  'subscription.registered',
  'subscription.changed',
  'subscription.registrationRequested',
  'subscription.changeRequested',
  'subscription.rotationRequested',
  'subscription.drifted',
] as const

interface HoldingEvent extends RecordedEvent {
  readonly data: HeldEndpoint
}

/** A confirmation by the portal: the position at which the confirmed secrets were requested, and its time. */
export type ConfirmedEvent = Pick<RecordedEvent, 'position' | 'at'>

interface GenerationState {
  readonly stream: string
  readonly version: number
  readonly last?: HoldingEvent | undefined
  /** What the portal held before, and until when it is accepted. */
  readonly former?: readonly (HeldEndpoint & { readonly until: number })[]
  readonly request?: HoldingEvent | undefined
  /** The request that the last confirmation answers; `undefined` if a list confirmed it. */
  readonly answered?: HoldingEvent | undefined
  readonly confirmed?: ConfirmedEvent
}

export type SecretGenerations = ReturnType<typeof createGenerations>

/** Reads from the log which generations of derived secrets are in use; the log has no secrets. */
export function createGenerations({ store, clock }: Pick<ApiContext, 'store' | 'clock'>) {
  const states = new Map<string, GenerationState>()
  const cache = new Map<string, { readonly known: Promise<GenerationState | undefined>; readonly at: number }>()

  /** The current generation: 1 before the first rotation. */
  async function current(evento: string): Promise<number> {
    return (await read(evento))?.last?.data.generation ?? 1
  }

  /**
   * What notifications may carry besides the declared endpoint: what the portal holds, what was requested, and for an
   * hour what it held before. A rotation by another process is seen within a second; until then the next generation,
   * which only we can derive, is accepted too.
   */
  async function accepted(evento: string): Promise<{ current: number; others: HeldEndpoint[] }> {
    const { last, request, former = [] } = (await readCached(evento)) ?? {}
    const isOpen = request && request.position > (last?.position ?? 0)
    const held = [...(last ? [last] : []), ...(isOpen ? [request] : [])].map(heldEndpoint)
    const now = clock.now()
    return { current: last?.data.generation ?? 1, others: [...held, ...former.filter(({ until }) => now <= until)] }
  }

  /** The last confirmation by the portal, at most a second old. */
  async function confirmed(evento: string): Promise<ConfirmedEvent | undefined> {
    return (await readCached(evento))?.confirmed
  }

  function readCached(evento: string): Promise<GenerationState | undefined> {
    const now = clock.now()
    let entry = cache.get(evento)
    if (!entry || !isWithin(ageMaxMs, entry.at, now)) {
      entry = { known: read(evento), at: now }
      cache.set(evento, entry)
      entry.known.catch(() => cache.delete(evento))
    }
    return entry.known
  }

  /** Reads what is new. An event keeps its stream, also beyond a deletion. */
  async function read(evento: string): Promise<GenerationState | undefined> {
    const stream = states.get(evento)?.stream ?? (await findStream(store, 'subscription', evento))
    if (stream === undefined) return undefined
    const known = states.get(evento) ?? { stream, version: 0 }
    const newest = await store.lastVersion(stream)
    if (newest <= known.version) return known
    let state: GenerationState = known
    for await (const event of readEvents(store, { stream, types, fromVersion: known.version + 1 }))
      state = applyEvent(state, event)
    const { last } = state
    state = {
      ...state,
      version: Math.max(state.version, newest),
      ...(last && { confirmed: { position: await requestPosition(state, last), at: last.at } }),
    }
    states.set(evento, state)
    return state
  }

  /** The position at which the confirmed secrets were sent: their source may have changed during the call. */
  async function requestPosition({ answered }: GenerationState, { position, settles }: RecordedEvent): Promise<number> {
    if (!answered || !settles) return position
    const stream = effectStream({ id: settles.effect, position: answered.position })
    const attempt = await store.readLast({ stream, types: ['effect.attempted'] })
    return attempt?.position ?? answered.position
  }

  return { current, accepted, confirmed }
}

function applyEvent(state: GenerationState, event: Recorded<(typeof types)[number]>): GenerationState {
  const { version } = event
  switch (event.type) {
    case 'subscription.registered':
    case 'subscription.changed': {
      const { request, last, former = [] } = state
      const isAnswer = request !== undefined && event.settles?.effect.startsWith(`${request.id}/`)
      const after = { ...state, version, last: event, answered: isAnswer ? request : undefined }
      if (!last) return after
      // Two rotations within the hour leave two former secrets.
      const accepted = former.filter(({ until }) => until >= fromInstant(event.at))
      const until = fromInstant(event.at) + formerSecretsAcceptedMs
      return { ...after, former: [...accepted, { ...heldEndpoint(last), until }] }
    }
    case 'subscription.drifted': {
      // When the portal holds a later generation than was known, those before it are no longer accepted.
      const { endpoint, generation } = event.data
      if (generation === null || generation <= (state.last?.data.generation ?? 0)) return { ...state, version }
      const last = { ...event, data: { endpoint, generation } }
      return { ...state, version, last, former: [], answered: undefined }
    }
    default:
      return { ...state, version, request: event }
  }
}

function heldEndpoint({ data: { endpoint, generation } }: HoldingEvent): HeldEndpoint {
  return { endpoint, generation }
}
