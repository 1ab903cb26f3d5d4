import type { Clock } from '../../runtime/clock.ts'
import type { Entropy } from '../../runtime/entropy.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Fetch } from '../../vocabulary/fetch.ts'
import type { ServiceName } from '../../vocabulary/names.ts'
import { applyFault } from './apply-fault.ts'
import {
  appliesTo,
  describeIssues,
  type Fault,
  type FaultKind,
  type FaultTarget,
  faultSchema,
  isCertificateFault,
} from './fault.ts'

/** The certificate that a server presents to a connection: its own, or a bad one. */
export type ShownCertificate = 'own' | 'expired' | 'unknown'

interface FaultQueueOptions {
  readonly clock: Clock
  readonly entropy: Entropy
  /** Whether servers present the bad certificates. Without servers, a request fails as its connection would. */
  readonly overTls?: boolean
  /** Called each time that a fault takes effect. */
  readonly onFault?: ((fault: Fault) => void) | undefined
}

/** The active faults, in the order in which they were added. */
export class FaultQueue {
  readonly #options: FaultQueueOptions
  readonly #held: ReturnType<typeof createHeldDeliveries>
  #active: { fault: Fault; left: number }[] = []

  constructor(options: FaultQueueOptions) {
    this.#options = options
    this.#held = createHeldDeliveries(options.clock)
  }

  /**
   * Adds a fault after the others.
   *
   * @throws {AverbaError} `INVALID_INPUT`
   */
  add(given: Fault): void {
    const fault = parseFault(given)
    this.#active.push({ fault, left: fault.times ?? Number.POSITIVE_INFINITY })
  }

  /** Ends all faults, and sends held deliveries now. */
  clear(): void {
    this.#active = []
    this.#held.releaseAll()
  }

  /** Sends a request to a target, whose faults apply. `forward` sends it without them. */
  async send(target: FaultTarget, request: Request, forward: Fetch): Promise<Response> {
    const fault = this.#takeFor(target, request)
    const sendNow = () => (fault ? applyFault(fault, request, forward, this.#options.clock) : forward(request))
    if (fault?.kind === 'reorder') return this.#held.hold(request, fault.ms, sendNow)
    return target === 'receiver' ? this.#held.overtake(request, sendNow) : sendNow()
  }

  nextCertificate(service: ServiceName): ShownCertificate {
    const kind = this.#find(service, fault => isCertificateFault(fault))?.kind
    if (kind === undefined) return 'own'
    return kind === 'expiredCertificate' ? 'expired' : 'unknown'
  }

  /** The fault that rejects the token of the current call, if any. */
  nextRejection(): Fault | undefined {
    return this.#find('validationService', fault => fault.kind === 'rejectToken')
  }

  /** The clock of a service: ours, shifted by an active `clockSkew`. */
  clockOf(service: ServiceName): Clock {
    const isSkew = ({ kind }: Fault) => kind === 'clockSkew'
    const { clock } = this.#options
    return { now: () => clock.now() + (this.#find(service, isSkew)?.ms ?? 0), sleep: (...args) => clock.sleep(...args) }
  }

  #takeFor(service: FaultTarget, request: Request): Fault | undefined {
    return this.#find(service, fault => {
      const { kind, method = request.method, path = '' } = fault
      if (kindsAppliedByService.has(kind)) return false
      // The receiver's server is never ours.
      if (isCertificateFault(fault) && this.#options.overTls && service !== 'receiver') return false
      // A held delivery waits for this one. Holding both would be a deadlock.
      if (kind === 'reorder' && this.#held.isWaiting(request)) return false
      const { pathname } = new URL(request.url)
      // Operations 6 and 7 of the consent service have no 403 (document 1, section 5).
      if (kind === 'status' && fault.status === 403 && /\/autenticacao\/\d+(\/url)?$/.test(pathname)) return false
      return method === request.method && pathname.includes(path)
    })
  }

  #find(service: FaultTarget, matches: (fault: Fault) => boolean): Fault | undefined {
    const found = this.#active.find(
      ({ fault, left }) => left > 0 && appliesTo(fault, service) && matches(fault) && this.#isDrawn(fault),
    )
    if (!found) return undefined
    found.left -= 1
    this.#options.onFault?.(found.fault)
    return found.fault
  }

  #isDrawn({ percent = 100 }: Fault): boolean {
    if (percent === 100) return true
    const [byte = 0] = this.#options.entropy.bytes(1)
    return byte * 100 < percent * 256
  }
}

/** Kinds that take effect in the service itself, not in the network. */
const kindsAppliedByService = new Set<FaultKind>(['rejectToken', 'clockSkew'])

function parseFault(given: unknown): Fault {
  const { data, error } = faultSchema.safeParse(given)
  if (data) return data
  throw new AverbaError('INVALID_INPUT', `Cannot add the fault: ${describeIssues(error, 'fault')}`, {
    hint: 'See docs/simulating.md for every kind of fault and its members',
  })
}

/** How long a delivery waits for the next one by default: well below the portal's 3500 ms. */
const defaultHoldMs = 1_000

/** Holds deliveries until the next one to the same receiver has been sent. */
function createHeldDeliveries(clock: Clock) {
  /** Releases a held delivery, by the host of its receiver. */
  const waiting = new Map<string, AbortController>()
  return {
    isWaiting: ({ url }: Request) => waiting.has(new URL(url).host),
    /** Sends a delivery after the next one, or after `ms`. */
    async hold<T>({ url }: Request, ms = defaultHoldMs, send: () => Promise<T>): Promise<T> {
      const { host } = new URL(url)
      const released = new AbortController()
      waiting.set(host, released)
      await clock.sleep(ms, released.signal, 'the fault reorder')
      if (waiting.get(host) === released) waiting.delete(host)
      return send()
    },
    /** Sends a delivery at once, and then releases the one that waits for it. */
    async overtake<T>({ url }: Request, send: () => Promise<T>): Promise<T> {
      const { host } = new URL(url)
      const held = waiting.get(host)
      // The pair is complete: the next delivery may be held again.
      waiting.delete(host)
      return send().finally(() => held?.abort())
    },
    releaseAll(): void {
      for (const released of waiting.values()) released.abort()
    },
  }
}
