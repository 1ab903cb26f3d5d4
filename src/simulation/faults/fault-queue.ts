import type { Clock } from '../../runtime/clock.ts'
import type { Entropy } from '../../runtime/entropy.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { ServiceName } from '../../vocabulary/service-name.ts'
import { applyFault } from './apply-fault.ts'
import { appliesTo, type Fault, type FaultKind, type FaultTarget, faultSchema, isCertificateFault } from './fault.ts'
import { HeldDeliveries } from './held-deliveries.ts'

/** The certificate that a server presents to a connection: its own, or a bad one. */
export type ShownCertificate = 'own' | 'expired' | 'unknown'

/** Servers that present bad certificates. Without them, each request counts as a connection. */
export interface Connections {
  renew(): Promise<void>
}

type SendRequest<T extends readonly unknown[]> = (request: Request, ...rest: T) => Promise<Response>

/** The active faults, in the order in which they were added. */
export class FaultQueue {
  readonly #clock: Clock
  readonly #entropy: Entropy
  readonly #connections: Connections | undefined
  readonly #held: HeldDeliveries
  readonly #onApplied: (fault: Fault) => void
  #active: { fault: Fault; left: number }[] = []

  /** `onApplied` is called each time that a fault takes effect. */
  constructor(
    clock: Clock,
    entropy: Entropy,
    connections?: Connections,
    onApplied: (fault: Fault) => void = () => undefined,
  ) {
    this.#clock = clock
    this.#entropy = entropy
    this.#connections = connections
    this.#held = new HeldDeliveries(clock)
    this.#onApplied = onApplied
  }

  /**
   * Adds a fault after the others. Resolves when it is active: only new connections get a bad certificate, so idle
   * connections are ended first.
   *
   * @throws {AverbaError} `INVALID_INPUT`, synchronously
   */
  add(given: Fault): Promise<void> {
    const fault = parseFault(given)
    this.#active.push({ fault, left: fault.times ?? Number.POSITIVE_INFINITY })
    return (isCertificateFault(fault) && this.#connections?.renew()) || Promise.resolve()
  }

  /** Ends all faults, and sends held deliveries now. */
  clear(): void {
    this.#active = []
    this.#held.releaseAll()
  }

  /** Wraps a sender so that the faults of its target apply. Further arguments are passed on. */
  wrap<T extends readonly unknown[]>(service: FaultTarget, send: SendRequest<T>): SendRequest<T> {
    return async (request, ...rest) => {
      const fault = this.#takeFor(service, request)
      const forward = (through: Request) => send(through, ...rest)
      const sendNow = () => (fault ? applyFault(fault, request, forward, this.#clock) : forward(request))
      if (fault?.kind === 'reorder') return this.#held.hold(request, fault.ms, sendNow)
      return service === 'receiver' ? this.#held.overtake(request, sendNow) : sendNow()
    }
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
    return {
      now: () => this.#clock.now() + (this.#find(service, isSkew)?.ms ?? 0),
      sleep: (...args) => this.#clock.sleep(...args),
    }
  }

  #takeFor(service: FaultTarget, request: Request): Fault | undefined {
    return this.#find(service, fault => {
      const { kind, method = request.method, path = '' } = fault
      if (kindsAppliedByService.has(kind)) return false
      if (isCertificateFault(fault) && this.#presentsCertificates(service)) return false
      // A held delivery waits for this one. Holding both would be a deadlock.
      if (kind === 'reorder' && this.#held.isWaiting(request)) return false
      return method === request.method && new URL(request.url).pathname.includes(path)
    })
  }

  /** Whether a real server presents the bad certificates. The receiver's server is never ours. */
  #presentsCertificates(service: FaultTarget): boolean {
    return this.#connections !== undefined && service !== 'receiver'
  }

  #find(service: FaultTarget, matches: (fault: Fault) => boolean): Fault | undefined {
    const found = this.#active.find(
      ({ fault, left }) => left > 0 && appliesTo(fault, service) && matches(fault) && this.#isDrawn(fault),
    )
    if (!found) return undefined
    found.left -= 1
    this.#onApplied(found.fault)
    return found.fault
  }

  #isDrawn({ percent = 100 }: Fault): boolean {
    if (percent === 100) return true
    const [byte = 0] = this.#entropy.bytes(1)
    return byte * 100 < percent * 256
  }
}

/** Kinds that take effect in the service itself, not in the network. */
const kindsAppliedByService = new Set<FaultKind>(['rejectToken', 'clockSkew'])

function parseFault(given: unknown): Fault {
  const parsed = faultSchema.safeParse(given)
  if (parsed.success) return parsed.data
  const fields = parsed.error.issues.map(issue => `${issue.path.join('.') || 'fault'}: ${issue.message}`)
  throw new AverbaError('INVALID_INPUT', `Cannot add the fault: ${fields.join('; ')}`, {
    hint: 'See docs/simulating.md for every kind of fault and its members',
  })
}
