import { mayHaveBeenSent, readTrace } from '../../engine/performing/attempt-trace.ts'
import { GenerationalCache } from '../../runtime/generational-cache.ts'
import type { Effect } from '../../vocabulary/message.ts'
import { isStreamOf, parseEffectId, serviceNames, serviceOf } from '../../vocabulary/names.ts'
import { readEvents } from '../api-context.ts'
import type { LogStore, Recorded } from '../events.ts'

/** A call that sent, or may have sent, personal data. */
export interface SentCall {
  readonly service: string
  /** The names of the parts that the adapter opened. */
  readonly partNames: readonly string[]
  readonly owners: readonly string[]
  /** The event that requested the call. */
  readonly requestedBy: Recorded
}

/** The minimum number of events kept in memory; older ones are read again. */
const cachedEventsMin = 5_000

/** The services that receive personal data: all but the token service. */
const recipients: ReadonlySet<string> = new Set(serviceNames.filter(name => name !== 'tokenService'))

/**
 * Finds, from events in order, the calls that sent personal data: those answered and those in doubt, each once. Pending
 * calls and calls that certainly did nothing sent none.
 */
export class SentCalls {
  readonly #store: LogStore
  /** The requesting events of calls that have not ended, since the reading began. */
  readonly #requests = new GenerationalCache<string, Recorded>(cachedEventsMin)

  constructor(store: LogStore) {
    this.#store = store
  }

  /** The calls that this event shows to have been sent. */
  async findSent(event: Recorded): Promise<SentCall[]> {
    for (const [n, effect] of (event.effects ?? []).entries())
      if (sharesPersonalData(effect)) this.#requests.set(`${event.id}/${n}`, event)
    const sent: SentCall[] = []
    for (const id of await this.#sentIds(event)) {
      const request = this.#requests.get(id) ?? (await this.#readRequest(id))
      this.#requests.delete(id)
      const [, , n] = parseEffectId(id)
      const effect = request?.effects?.[n]
      if (request && effect && sharesPersonalData(effect)) sent.push(toSentCall(effect, request))
    }
    return sent
  }

  /** The ids of these calls. A call whose lost answer still comes is counted once. */
  async #sentIds(event: Recorded): Promise<string[]> {
    const { settles, cancels = [], position } = event
    const sent: string[] = []
    for (const id of cancels) if (!(await this.#wasInDoubt(id, position)) && (await this.#hasLeft(id))) sent.push(id)
    if (!settles) return sent
    if (settles.as !== 'unknown' && (await this.#wasInDoubt(settles.effect, position))) return sent
    if (isWithheld(event) && !event.data.sentBefore) return sent
    return [...sent, settles.effect]
  }

  /** Whether the answer was lost before: the call was then counted when that was recorded. */
  async #wasInDoubt(id: string, position: number): Promise<boolean> {
    if (this.#requests.get(id)) return false
    const [stream] = parseEffectId(id)
    for await (const { settles, position: at } of readEvents(this.#store, { stream })) {
      if (at >= position) return false
      if (settles?.effect === id && settles.as === 'unknown') return true
    }
    return false
  }

  /** Whether a cancelled call was sent: the process that made the attempt did not know of the cancellation. */
  async #hasLeft(id: string): Promise<boolean> {
    const request = this.#requests.get(id) ?? (await this.#readRequest(id))
    if (!request) return false
    return mayHaveBeenSent(await readTrace(this.#store, { id, position: request.position }))
  }

  async #readRequest(id: string): Promise<Recorded | undefined> {
    const [stream, fromVersion] = parseEffectId(id)
    const [request] = await this.#store.read({ stream, fromVersion, limit: 1 })
    return request
  }
}

/** Whether the event ends a call that was not sent, or not sent again. */
function isWithheld(event: Recorded): event is Recorded<'validation.withheld' | 'consent.changeWithheld'> {
  return event.type === 'validation.withheld' || event.type === 'consent.changeWithheld'
}

function sharesPersonalData({ type, opens = {} }: Effect): boolean {
  return recipients.has(serviceOf(type)) && Object.keys(opens).length > 0
}

function toSentCall({ type, opens = {} }: Effect, request: Recorded): SentCall {
  const owners = Object.values(opens).flatMap(address => {
    if (!address.startsWith('./')) return isStreamOf('subject', address) ? address.split('/', 1) : []
    return (request.parts ?? []).flatMap(({ name, owner }) => (address === `./${name}` ? [owner] : []))
  })
  return { service: serviceOf(type), partNames: Object.keys(opens), owners, requestedBy: request }
}
