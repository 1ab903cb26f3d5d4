import type { HeldEndpoint } from '../../../machines/subscription/messages.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { logPageRows } from '../../../store/log/read.ts'
import type { Store } from '../../../store/store.ts'
import { fromInstant, isWithin } from '../../../vocabulary/instant.ts'
import type { RecordedEvent } from '../../../vocabulary/message.ts'
import { effectStream, streamOf } from '../../../vocabulary/names.ts'

/** How long former secrets are accepted after the portal confirmed a change or rotation. */
export const formerSecretsAcceptedMs = 60 * 60_000

const ageMaxMs = 1_000

const confirmationTypes = ['subscription.registered', 'subscription.changed']
const requestTypes = [
  'subscription.registrationRequested',
  'subscription.changeRequested',
  'subscription.rotationRequested',
]

/** Has a generation when the portal holds a later one than was known. */
const driftType = 'subscription.drifted'
const types = [...confirmationTypes, ...requestTypes, driftType]

/** A confirmation by the portal: the position at which the confirmed secrets were requested, and its time. */
export type ConfirmedEvent = Pick<RecordedEvent, 'position' | 'at'>

/** What the portal held before, and until when it is accepted. */
interface FormerSecrets extends HeldEndpoint {
  readonly until: number
}

interface GenerationState {
  /** What the portal confirmed last; `undefined` before the first registration. */
  readonly held: HeldEndpoint | undefined
  readonly requested: HeldEndpoint | undefined
  readonly former: readonly FormerSecrets[]
  readonly confirmed: ConfirmedEvent | undefined
}

interface StreamGenerations {
  readonly version: number
  /** The last event that says what the portal holds. */
  readonly last?: RecordedEvent | undefined
  readonly former?: readonly FormerSecrets[]
  readonly request?: RecordedEvent | undefined
  /** The request that the last confirmation answers; `undefined` if a list confirmed it. */
  readonly answered?: RecordedEvent | undefined
}

/** Reads from the log which generations of derived secrets are in use; the log has no secrets. */
export class SecretGenerations {
  readonly #store: Store
  readonly #clock: Clock
  readonly #streams = new Map<string, StreamGenerations>()
  readonly #cache = new Map<string, { readonly known: Promise<GenerationState>; readonly at: number }>()

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** The current generation: 1 before the first rotation. */
  async current(evento: string): Promise<number> {
    return (await this.#read(evento)).held?.generation ?? 1
  }

  /**
   * What notifications may carry besides the declared endpoint: what the portal holds, what was requested, and for an
   * hour what it held before. A rotation by another process is seen within a second; until then the next generation,
   * which only we can derive, is accepted too.
   */
  async accepted(evento: string): Promise<{ current: number; others: HeldEndpoint[] }> {
    const { held, requested, former } = await this.#readCached(evento)
    const now = this.#clock.now()
    const others = [held, requested].filter(each => each !== undefined)
    return {
      current: held?.generation ?? 1,
      others: [...others, ...former.filter(({ until }) => now <= until)],
    }
  }

  /** The last confirmation by the portal, at most a second old. */
  async confirmed(evento: string): Promise<ConfirmedEvent | undefined> {
    return (await this.#readCached(evento)).confirmed
  }

  #readCached(evento: string): Promise<GenerationState> {
    const now = this.#clock.now()
    let entry = this.#cache.get(evento)
    if (!entry || !isWithin(ageMaxMs, entry.at, now)) {
      entry = { known: this.#read(evento), at: now }
      this.#cache.set(evento, entry)
      entry.known.catch(() => this.#cache.delete(evento))
    }
    return entry.known
  }

  async #read(evento: string): Promise<GenerationState> {
    const subscription = await this.#store.lookUp('subscription', evento)
    if (subscription === undefined) return { held: undefined, requested: undefined, former: [], confirmed: undefined }
    const state = await this.#readStream(streamOf('subscription', subscription))
    const { last, former = [], request } = state
    const isOpen = request && request.position > (last?.position ?? 0)
    return {
      held: last && heldEndpoint(last),
      requested: isOpen ? heldEndpoint(request) : undefined,
      former,
      confirmed: last && { position: await this.#requestPosition(state, last), at: last.at },
    }
  }

  /** The position at which the confirmed secrets were sent: their source may have changed during the call. */
  async #requestPosition({ answered }: StreamGenerations, { position, settles }: RecordedEvent): Promise<number> {
    if (!answered || !settles) return position
    const stream = effectStream({ id: settles.effect, position: answered.position })
    const attempt = await this.#store.readLast({ stream, types: ['effect.attempted'] })
    return attempt?.position ?? answered.position
  }

  /** Reads the stream from the last version read, without its many failures. */
  async #readStream(stream: string): Promise<StreamGenerations> {
    const known = this.#streams.get(stream) ?? { version: 0 }
    const newest = await this.#store.readLast({ stream })
    if (!newest || newest.version <= known.version) return known
    let state = known
    for (let page: RecordedEvent[] | undefined; !page || page.length === logPageRows; ) {
      page = await this.#store.read({
        stream,
        types: types,
        fromVersion: state.version + 1,
        limit: logPageRows,
      })
      state = page.reduce(applyEvent, state)
    }
    state = { ...state, version: Math.max(state.version, newest.version) }
    this.#streams.set(stream, state)
    return state
  }
}

function applyEvent(state: StreamGenerations, event: RecordedEvent): StreamGenerations {
  const { version } = event
  if (requestTypes.includes(event.type)) return { ...state, version, request: event }
  if (event.type === driftType) {
    // Generations before the one that another log rotated to are no longer accepted.
    return raisesGeneration(event)
      ? { ...state, version, last: event, former: [], answered: undefined }
      : { ...state, version }
  }
  const { request, last, former = [] } = state
  const isAnswer = request !== undefined && event.settles?.effect.startsWith(`${request.id}/`)
  return {
    ...{ ...state, version, last: event, answered: isAnswer ? request : undefined },
    former: last ? [...former.filter(isAcceptedAt(event)), toFormer(last, event)] : former,
  }
}

function toFormer(last: RecordedEvent, { at }: RecordedEvent): FormerSecrets {
  return { ...heldEndpoint(last), until: fromInstant(at) + formerSecretsAcceptedMs }
}

/** Two rotations within the hour leave two former secrets. */
function isAcceptedAt({ at }: RecordedEvent): (former: FormerSecrets) => boolean {
  return ({ until }) => until >= fromInstant(at)
}

function raisesGeneration({ data }: RecordedEvent): boolean {
  return (data as { generation?: number }).generation !== undefined // As the machine writes it.
}

function heldEndpoint({ data }: RecordedEvent): HeldEndpoint {
  const { endpoint, generation } = data as HeldEndpoint // As the machine writes it.
  return { endpoint, generation }
}
