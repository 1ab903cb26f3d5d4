import { type Clock, toInstant } from './clock.ts'
import type { Decisions, Delivery } from './decisions.ts'
import { AverbaError } from './errors.ts'
import type { Actor, Basis, Recorded, Settlement } from './message.ts'
import type { Append, Appended, NewReceipt } from './store/append.ts'
import type { Store } from './store/store.ts'

/** Who asks, why, and under which id. */
export interface About {
  readonly commandId?: string
  readonly correlationId?: string
  readonly actor?: Actor
  readonly basis?: Basis
}

const decisionsMax = 50
/** How often a fact knocks at a store that another process holds: minutes, each knock waits by itself. */
const busyRetriesMax = 60

/** Gets decisions into the log: facts until they are in, commands a bounded number of times. */
export class Recorder {
  readonly #store: Store
  readonly #clock: Clock
  readonly #decisions: Decisions
  readonly #announce: (event: Recorded) => void
  #turn: Promise<unknown> = Promise.resolve()

  constructor(store: Store, clock: Clock, decisions: Decisions, announce: (event: Recorded) => void) {
    this.#store = store
    this.#clock = clock
    this.#decisions = decisions
    this.#announce = announce
  }

  /**
   * Decides and appends. One at a time in this process: only other processes can be in its way.
   *
   * @throws {AverbaError} `REFUSED` and `CONFLICT`, for commands only
   */
  record(deliver: () => Promise<Delivery>, options: RecordOptions): Promise<Made> {
    const made = this.#turn.then(() => this.#recordNow(deliver, options))
    this.#turn = made.catch(() => undefined)
    return made
  }

  async #recordNow(deliver: () => Promise<Delivery>, options: RecordOptions): Promise<Made> {
    const isFact = options.receipt === undefined
    let { settles } = options
    let because = ''
    // A fact is true: it is decided again until it is in. A command may give up.
    for (let decisions = 0; isFact || decisions < decisionsMax; decisions++) {
      const delivery = await deliver()
      const decided = await this.#decisions.decide(delivery)
      const isRefused = decided.refused !== undefined
      if (isRefused && isFact) throw new TypeError(`A fact cannot be refused: ${decided.refused}`)
      const code: NewReceipt['code'] = isRefused ? 'refused' : 'accepted'
      const receipt = options.receipt && { ...options.receipt, code, detail: decided.refused ?? '' }
      const appended = await this.#append(isFact, {
        at: toInstant(this.#clock.now()),
        streams: isRefused ? [] : decided.streams,
        events: isRefused ? [] : decided.events,
        ...(options.about && { about: options.about }),
        ...(receipt && { receipt }),
        ...(settles && { settles }),
        ...(!isRefused && delivery.claims && { claims: delivery.claims }),
      })
      if (appended.status === 'known') return { ...appended, position: appended.receipt.position, events: [] }
      if (appended.status === 'appended') {
        if (isRefused) throw refusal(decided.refused)
        for (const event of appended.events) this.#announce(event)
        return appended
      }
      because = appended.because
      // Someone else ended the effect: what we learned is true all the same, and comes in as a late fact.
      if (settles && !(await this.#store.isOpen(settles.effect))) settles = undefined
    }
    const hint = 'Other processes append all the time: try again'
    throw new AverbaError('CONFLICT', `Cannot record: ${because}`, { hint })
  }

  /** A fact knocks again at a store that another process holds; a command tells its caller. */
  async #append(isFact: boolean, input: Append): Promise<Appended> {
    for (let knocks = 1; ; knocks++) {
      try {
        return await this.#store.append(input)
      } catch (error) {
        const isBusy = error instanceof AverbaError && error.code === 'STORE_BUSY'
        if (!isFact || !isBusy || knocks >= busyRetriesMax) throw error
      }
    }
  }
}

/** Who asks, what to remember of a command, and which effect ends. Without a receipt it is a fact. */
export interface RecordOptions {
  readonly about?: About
  readonly receipt?: Pick<NewReceipt, 'commandId' | 'digest'>
  readonly settles?: { readonly effect: string; readonly as: Settlement; readonly because: string }
}

/** What was appended, or the receipt of the same command. */
export type Made = Exclude<Appended, { status: 'conflict' }> & {
  readonly position: number
  readonly events: readonly Recorded[]
}

/** A refusal as its caller gets it. */
export function refusal(reason: string): AverbaError {
  return new AverbaError('REFUSED', `Cannot do this now: ${reason}`)
}
