import type { HeldEndpoint } from '../../../machines/subscription/messages.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { logPageRows } from '../../../store/log/read.ts'
import type { Store } from '../../../store/store.ts'
import { fromInstant, isWithin } from '../../../vocabulary/instant.ts'
import type { RecordedEvent } from '../../../vocabulary/message.ts'
import { effectStream, streamOf } from '../../../vocabulary/names.ts'

/** For how long the secrets before a change or rotation are accepted after the portal confirmed it. */
export const formerSecretsAcceptedMs = 60 * 60_000

/** How old the receiver's knowledge of the generations may be. */
const ageMaxMs = 1_000

const confirmationTypes = ['subscription.registered', 'subscription.changed']
const requestTypes = [
  'subscription.registrationRequested',
  'subscription.changeRequested',
  'subscription.rotationRequested',
]

/** Says which generation the portal holds where that is a later one than was known. */
const driftType = 'subscription.drifted'
const generationTypes = [...confirmationTypes, ...requestTypes, driftType]

/** Up to where in the log what we gave the portal is what it holds, and when it confirmed that. */
export type ConfirmedEvent = Pick<RecordedEvent, 'position' | 'at'>

/** What the portal held until it confirmed something else, and until when it is accepted. */
interface FormerSecrets extends HeldEndpoint {
  readonly until: number
}

/** What the log says of the secrets of one event. */
interface GenerationState {
  /** What the portal confirmed last; `undefined` before the first registration. */
  readonly held: HeldEndpoint | undefined
  /** What it was asked to hold since. */
  readonly asked: HeldEndpoint | undefined
  /** What it held before, and until when each of that is accepted. */
  readonly former: readonly FormerSecrets[]
  /** When the portal confirmed what it holds. */
  readonly confirmed: ConfirmedEvent | undefined
}

/** What a stream says up to a version: what the portal confirmed last, what is left of before, and the last request. */
interface StreamGenerations {
  readonly version: number
  readonly last?: RecordedEvent | undefined
  readonly former?: readonly FormerSecrets[]
  readonly request?: RecordedEvent | undefined
  /** The request that the last confirmation answers; a list answers none. */
  readonly answered?: RecordedEvent | undefined
}

/** Which generations of derived secrets are in use, read from the log: the secrets themselves are nowhere in it. */
export class SecretGenerations {
  readonly #store: Store
  readonly #clock: Clock
  readonly #streams = new Map<string, StreamGenerations>()
  readonly #cache = new Map<string, { readonly known: Promise<GenerationState>; readonly at: number }>()

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** The generation in use: 1 before the first rotation. */
  async current(evento: string): Promise<number> {
    return (await this.#read(evento)).held?.generation ?? 1
  }

  /**
   * What notifications may carry, besides what is declared today: what the portal holds, what it was asked to hold, and
   * for an hour what it held before. This process learns of a rotation by another one within a second; until then the
   * next generation, which only we can derive, is accepted as well.
   */
  async accepted(evento: string): Promise<{ current: number; others: HeldEndpoint[] }> {
    const { held, asked, former } = await this.#readCached(evento)
    const now = this.#clock.now()
    const others = [held, asked].filter(each => each !== undefined)
    return {
      current: held?.generation ?? 1,
      others: [...others, ...former.filter(({ until }) => now <= until)],
    }
  }

  /** When the portal confirmed last what we gave it: known within a second. */
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
    if (subscription === undefined)
      return { held: undefined, asked: undefined, former: [], confirmed: undefined }
    const told = await this.#readStream(streamOf('subscription', subscription))
    const { last, former = [], request } = told
    const isOpen = request && request.position > (last?.position ?? 0)
    return {
      held: last && heldEndpoint(last),
      asked: isOpen ? heldEndpoint(request) : undefined,
      former,
      confirmed: last && { position: await this.#requestPosition(told, last), at: last.at },
    }
  }

  /** The position at which the confirmed secrets were asked for: they may have changed during the call. */
  async #requestPosition(
    { answered }: StreamGenerations,
    { position, settles }: RecordedEvent,
  ): Promise<number> {
    if (!answered || !settles) return position
    const stream = effectStream({ id: settles.effect, position: answered.position })
    const attempt = await this.#store.readLast({ stream, types: ['effect.attempted'] })
    return attempt?.position ?? answered.position
  }

  /** Reads on from where the stream was read up to: failures make it long, and none of them matters here. */
  async #readStream(stream: string): Promise<StreamGenerations> {
    const known = this.#streams.get(stream) ?? { version: 0 }
    const newest = await this.#store.readLast({ stream })
    if (!newest || newest.version <= known.version) return known
    let told = known
    for (let page: RecordedEvent[] | undefined; !page || page.length === logPageRows; ) {
      page = await this.#store.read({
        stream,
        types: generationTypes,
        fromVersion: told.version + 1,
        limit: logPageRows,
      })
      told = page.reduce(applyEvent, told)
    }
    told = { ...told, version: Math.max(told.version, newest.version) }
    this.#streams.set(stream, told)
    return told
  }
}

function applyEvent(told: StreamGenerations, event: RecordedEvent): StreamGenerations {
  const { version } = event
  if (requestTypes.includes(event.type)) return { ...told, version, request: event }
  if (event.type === driftType) {
    // A generation that a log before this one rotated away is no longer accepted.
    return raisesGeneration(event)
      ? { ...told, version, last: event, former: [], answered: undefined }
      : { ...told, version }
  }
  const { request, last, former = [] } = told
  const isAnswer = request !== undefined && event.settles?.effect.startsWith(`${request.id}/`)
  return {
    ...{ ...told, version, last: event, answered: isAnswer ? request : undefined },
    former: last ? [...former.filter(isAcceptedAt(event)), toFormer(last, event)] : former,
  }
}

function toFormer(last: RecordedEvent, { at }: RecordedEvent): FormerSecrets {
  return { ...heldEndpoint(last), until: fromInstant(at) + formerSecretsAcceptedMs }
}

/** Two rotations within the hour leave two of them. */
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
