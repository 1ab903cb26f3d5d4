import { hasLeft, readTrace } from '../../engine/performing/attempt-trace.ts'
import { GenerationalCache } from '../../runtime/generational-cache.ts'
import type { Store } from '../../store/store.ts'
import type { Effect, RecordedEvent } from '../../vocabulary/message.ts'
import { isStreamOf, parseEffectId } from '../../vocabulary/names.ts'
import { serviceNames, serviceOf } from '../../vocabulary/service-name.ts'

/** A call by which personal data left, or may have left. */
export interface SentCall {
  readonly service: string
  /** The names under which the adapter opened it. */
  readonly opened: readonly string[]
  readonly owners: readonly string[]
  /** The event that owed the call. */
  readonly owing: RecordedEvent
}

/** How many events are kept in memory at least; older ones are read again. */
const owingKept = 5_000

/** What ends a call that was not sent, or not once more. */
const withheld: ReadonlySet<string> = new Set(['validation.withheld', 'consent.changeWithheld'])

/** Who is told personal data: a token is asked for without any. */
const told: ReadonlySet<string> = new Set(serviceNames.filter(name => name !== 'tokenService'))

/**
 * Tells from the events, heard in order, for which calls personal data has left: those that the service answered, and
 * those that are in doubt, each of them once. What is only owed has not left, nor has what certainly came to nothing.
 */
export class SentCalls {
  readonly #store: Store
  /** The events of calls that were owed since the reading began, and have not ended. */
  readonly #owing = new GenerationalCache<string, RecordedEvent>(owingKept)
  readonly #doubted = new Set<string>()

  constructor(store: Store) {
    this.#store = store
  }

  /** The calls that, by this event, have left. */
  async hear(event: RecordedEvent): Promise<SentCall[]> {
    for (const [n, effect] of (event.effects ?? []).entries())
      if (isTold(effect)) this.#owing.set(`${event.id}/${n}`, event)
    const left: SentCall[] = []
    for (const id of await this.#endedBy(event)) {
      const owing = this.#owing.get(id) ?? (await this.#read(id))
      this.#owing.delete(id)
      const [, , n] = parseEffectId(id)
      const effect = owing?.effects?.[n]
      if (owing && effect && isTold(effect)) left.push(toLeft(effect, owing))
    }
    return left
  }

  /** A call whose answer was lost may still be answered: it left once, not twice. */
  async #endedBy({ type, settles, cancels = [], data, position }: RecordedEvent): Promise<string[]> {
    const left: string[] = []
    for (const id of cancels) {
      const isTold = this.#doubted.delete(id) || (await this.#wasDoubted(id, position))
      if (!isTold && (await this.#hasLeft(id))) left.push(id)
    }
    if (!settles || this.#doubted.delete(settles.effect)) return left
    if (settles.as !== 'unknown' && (await this.#wasDoubted(settles.effect, position))) return left
    const { sentBefore } = data as { sentBefore?: true } // As the machines write it, where they do.
    if (withheld.has(type) && !sentBefore) return left
    if (settles.as === 'unknown') this.#doubted.add(settles.effect)
    return [...left, settles.effect]
  }

  /** Whether the answer was lost before the period began: then the call has left in an earlier one. */
  async #wasDoubted(id: string, position: number): Promise<boolean> {
    if (this.#owing.get(id)) return false
    const [stream] = parseEffectId(id)
    for (let after = 0; ; ) {
      const page = await this.#store.read({ stream, after })
      const isLost = ({ settles, position: at }: RecordedEvent) =>
        at < position && settles?.effect === id && settles.as === 'unknown'
      if (page.some(isLost)) return true
      const last = page.at(-1)
      if (!last || last.position >= position) return false
      after = last.position
    }
  }

  /**
   * Whether a cancelled call had left. A process that makes an attempt does not hear that the call was ended meanwhile.
   */
  async #hasLeft(id: string): Promise<boolean> {
    const owing = this.#owing.get(id) ?? (await this.#read(id))
    if (!owing) return false
    return hasLeft(await readTrace(this.#store, { id, position: owing.position }))
  }

  async #read(id: string): Promise<RecordedEvent | undefined> {
    const [stream, fromVersion] = parseEffectId(id)
    const [owing] = await this.#store.read({ stream, fromVersion, limit: 1 })
    return owing
  }
}

function isTold({ type, opens = {} }: Effect): boolean {
  return told.has(serviceOf(type)) && Object.keys(opens).length > 0
}

function toLeft({ type, opens = {} }: Effect, owing: RecordedEvent): SentCall {
  const owners = Object.values(opens).flatMap(address => {
    if (!address.startsWith('./')) return isStreamOf('subject', address) ? address.split('/', 1) : []
    return (owing.parts ?? []).flatMap(({ name, owner }) => (address === `./${name}` ? [owner] : []))
  })
  return { service: serviceOf(type), opened: Object.keys(opens), owners, owing }
}
