import { isDeepStrictEqual } from 'node:util'
import { type Clock, cancelReason, systemClock } from '../../runtime/clock.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { isWithin } from '../../vocabulary/instant.ts'
import { type Certificate, loadCertificate, type UsableCertificate } from './certificate.ts'
import { type Source, valueFrom } from './secret.ts'

/** How long a certificate from a function is used before the function is called again. */
const ageMaxMs = 60_000

interface RenewalOptions {
  readonly whose: 'client' | 'server'
  readonly clock: Clock
  /** Called when a function no longer returns a usable certificate: the previous one stays in use. */
  readonly onTrouble: (error: AverbaError) => void
  /** While the current certificate is valid, `prepare` waits for a renewal only so long, in real time. */
  readonly waitMs?: number
}

interface Renewal {
  readonly done: Promise<void>
  /** Resolves when those who could use the current certificate stop waiting. */
  readonly waitOver: Promise<void>
}

/** A certificate in use. A function that gives it is called again every minute. */
export class RenewedCertificate {
  readonly #source: Source<Certificate>
  readonly #options: RenewalOptions
  #given: Certificate | undefined
  #current: UsableCertificate | undefined
  #fetchedAt = Number.NEGATIVE_INFINITY
  #renewal: Renewal | undefined

  constructor(source: Source<Certificate>, options: RenewalOptions) {
    this.#source = source
    this.#options = options
  }

  /** The newest certificate that was usable when it was fetched; `undefined` before the first. */
  get current(): UsableCertificate | undefined {
    return this.#current
  }

  /** Whether a function gives it that has to be called again. */
  get isOld(): boolean {
    return typeof this.#source === 'function' && !isWithin(ageMaxMs, this.#fetchedAt, this.#options.clock.now())
  }

  /**
   * Waits until `current` can be used, and renews it when that is due. It is never expired: some services answer then
   * as if they refused the operation.
   * @throws {AverbaError} `MISCONFIGURED` when there is no usable one
   */
  async prepare(): Promise<void> {
    if (this.#isUsable && !this.isOld) return
    const { done, waitOver } = this.#startRenewal()
    await (this.#isUsable ? Promise.race([done, waitOver]) : done)
  }

  /**
   * Fetches it. An unavailable vault or a half-written file does not end the use of a valid certificate.
   * @throws {AverbaError} `MISCONFIGURED`
   */
  renew(): Promise<void> {
    return this.#startRenewal().done
  }

  get #isUsable(): boolean {
    return this.#current !== undefined && this.#current.endsAt >= this.#options.clock.now()
  }

  /** One renewal at a time: a burst of requests must not call the function for each. */
  #startRenewal(): Renewal {
    if (this.#renewal) return this.#renewal
    const finished = new AbortController()
    const done = this.#load().finally(() => {
      this.#renewal = undefined
      finished.abort(cancelReason)
    })
    done.catch(() => undefined) // Callers that await `done` get the error.
    this.#renewal = { done, waitOver: systemClock.sleep(this.#options.waitMs ?? 0, finished.signal) }
    return this.#renewal
  }

  async #load(): Promise<void> {
    const { whose, clock, onTrouble } = this.#options
    try {
      const given = await valueFrom(this.#source, `${whose} certificate`)
      if (this.#isUsable && isDeepStrictEqual(given, this.#given)) return
      const next = await loadCertificate(given, clock.now(), whose)
      if (this.#current && next.notBefore !== undefined) {
        const why = `Cannot use the ${whose} certificate: it is not valid before ${next.notBefore}`
        throw new AverbaError('MISCONFIGURED', why, { hint: 'The previous certificate stays in use until then' })
      }
      this.#current = next
      this.#given = given
    } catch (error) {
      if (!this.#isUsable || !(error instanceof AverbaError)) throw error
      onTrouble(error)
    } finally {
      this.#fetchedAt = clock.now()
    }
  }
}
