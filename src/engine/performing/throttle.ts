import type { Clock } from '../../runtime/clock.ts'
import { KeyedLock, Semaphore } from '../../runtime/locks.ts'
import type { Rates } from '../../store/ledger/rates.ts'

export interface ServiceLimits {
  /** How many calls of all processes begin per second; as many may begin at once. Unlimited when absent. */
  readonly requestsPerSecond?: number
  /** Calls of one process in progress at the same time. */
  readonly requestsAtOnceMax?: number
}

const requestsAtOnceDefault = 8
/** For how long a turn that was granted and not used is kept. */
const turnKeptMs = 1_000

export interface ThrottleParts {
  readonly clock: Clock
  readonly rates: Pick<Rates, 'take'>
  readonly service: string
  readonly limits: ServiceLimits
}

/** Limits calls to one service, in order: a semaphore for calls in progress, and turns of the service's rate. */
export class Throttle {
  readonly #parts: ThrottleParts
  readonly #semaphore: Semaphore
  readonly #queue = new KeyedLock()
  #waiting = 0
  #turns = 0
  #grantedAt = 0

  constructor(parts: ThrottleParts) {
    this.#parts = parts
    this.#semaphore = new Semaphore(parts.limits.requestsAtOnceMax ?? requestsAtOnceDefault)
  }

  get atOnceMax(): number {
    return this.#semaphore.max
  }

  /** Runs the work when its turn comes; false if the signal came first. Work that made no call gives its turn back. */
  run(work: () => Promise<boolean>, signal: AbortSignal): Promise<boolean> {
    return this.#semaphore.within(async () => {
      if (!(await this.#waitForTurn(signal))) return false
      if (!(await work())) this.#turns += 1
      return true
    })
  }

  async #waitForTurn(signal: AbortSignal): Promise<boolean> {
    const { requestsPerSecond = Number.POSITIVE_INFINITY } = this.#parts.limits
    if (requestsPerSecond === Number.POSITIVE_INFINITY) return !signal.aborted
    this.#waiting += 1
    const turn = this.#queue.run(['turn'], () => this.#takeTurn(requestsPerSecond, signal))
    return turn.finally(() => {
      this.#waiting -= 1
    })
  }

  /** Takes a turn for each call that waits here, all in one request. */
  async #takeTurn(perSecond: number, signal: AbortSignal): Promise<boolean> {
    const { clock, rates, service } = this.#parts
    while (!signal.aborted) {
      if (Math.abs(clock.now() - this.#grantedAt) > Math.max(turnKeptMs, 1_000 / perSecond)) this.#turns = 0
      if (this.#turns > 0) {
        this.#turns -= 1
        return true
      }
      const { turns, waitMs } = await rates.take(service, this.#waiting, perSecond)
      if (waitMs > 0) await clock.sleep(waitMs, signal, 'the turn of a call')
      this.#turns += turns
      this.#grantedAt = clock.now()
    }
    return false
  }
}
