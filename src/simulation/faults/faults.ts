import type { Clock } from '../../runtime/clock.ts'
import type { Entropy } from '../../runtime/entropy.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { ServiceName } from '../../vocabulary/service-name.ts'
import { applyFault } from './apply-fault.ts'
import {
  type Fault,
  type FaultKind,
  type FaultyService,
  faultSchema,
  isCertificateFault,
  isMeantFor,
} from './fault.ts'
import { HeldDeliveries } from './held-deliveries.ts'

/** The certificate that a server shows to a connection: its own, or a bad one. */
export type ShownCertificate = 'own' | 'expired' | 'unknown'

/** Servers whose connections meet certificate faults. Without them, each request counts as a connection. */
export interface Connections {
  /** Ends the connections that are idle, so that the next request needs a new one. */
  renew(): Promise<void>
}

type ServeRequest<T extends readonly unknown[]> = (request: Request, ...rest: T) => Promise<Response>

/** The faults to come, in the order in which they were given. */
export class FaultQueue {
  readonly #clock: Clock
  readonly #entropy: Entropy
  readonly #connections: Connections | undefined
  readonly #held: HeldDeliveries
  readonly #onTaken: (fault: Fault) => void
  #coming: { fault: Fault; left: number }[] = []

  /** `onTaken` is told of each fault when it befalls something. */
  constructor(
    clock: Clock,
    entropy: Entropy,
    connections?: Connections,
    onTaken: (fault: Fault) => void = () => undefined,
  ) {
    this.#clock = clock
    this.#entropy = entropy
    this.#connections = connections
    this.#held = new HeldDeliveries(clock)
    this.#onTaken = onTaken
  }

  /**
   * Adds a fault after those to come. Resolves when it is in force: over sockets only new connections meet a bad
   * certificate, so idle ones are ended first.
   *
   * @throws {AverbaError} `INVALID_INPUT`, at once
   */
  add(given: Fault): Promise<void> {
    const fault = parseFault(given)
    this.#coming.push({ fault, left: fault.times ?? Number.POSITIVE_INFINITY })
    return (isCertificateFault(fault) && this.#connections?.renew()) || Promise.resolve()
  }

  /** Ends all faults; a delivery that was held back goes now. */
  clear(): void {
    this.#coming = []
    this.#held.releaseAll()
  }

  /** Puts the faults between callers and a service. Further arguments of a caller are passed on. */
  around<T extends readonly unknown[]>(service: FaultyService, send: ServeRequest<T>): ServeRequest<T> {
    return async (request, ...rest) => {
      const fault = this.#take(service, request)
      const forward = (through: Request) => send(through, ...rest)
      const go = () => (fault ? applyFault(fault, request, forward, this.#clock) : forward(request))
      if (fault?.kind === 'reorder') return this.#held.hold(request, fault.ms, go)
      return service === 'receiver' ? this.#held.overtake(request, go) : go()
    }
  }

  /** The certificate that the next connection to a service is shown. */
  nextCertificate(service: ServiceName): ShownCertificate {
    const kind = this.#find(service, fault => isCertificateFault(fault))?.kind
    if (kind === undefined) return 'own'
    return kind === 'expiredCertificate' ? 'expired' : 'unknown'
  }

  /** The fault that rejects the token of a call now, if one does. */
  nextRejection(): Fault | undefined {
    return this.#find('validationService', fault => fault.kind === 'rejectToken')
  }

  /** The clock of a service: ours, ahead or behind by the skew that lasts. */
  clockOf(service: ServiceName): Clock {
    const isSkew = ({ kind }: Fault) => kind === 'clockSkew'
    return {
      now: () => this.#clock.now() + (this.#find(service, isSkew)?.ms ?? 0),
      sleep: (...args) => this.#clock.sleep(...args),
    }
  }

  #take(service: FaultyService, request: Request): Fault | undefined {
    return this.#find(service, fault => {
      const { kind, method = request.method, path = '' } = fault
      if (elsewhere.has(kind) || (isCertificateFault(fault) && this.#areShown(service))) return false
      // The delivery that another one waits for must not be held back: the two would wait for each other.
      if (kind === 'reorder' && this.#held.isWaiting(request)) return false
      return method === request.method && new URL(request.url).pathname.includes(path)
    })
  }

  /** Whether sockets show the bad certificates of a service; the receiver's server is never ours. */
  #areShown(service: FaultyService): boolean {
    return this.#connections !== undefined && service !== 'receiver'
  }

  #find(service: FaultyService, isMeant: (fault: Fault) => boolean): Fault | undefined {
    const found = this.#coming.find(
      ({ fault, left }) => left > 0 && isMeantFor(fault, service) && isMeant(fault) && this.#isDrawn(fault),
    )
    if (!found) return undefined
    found.left -= 1
    this.#onTaken(found.fault)
    return found.fault
  }

  #isDrawn({ percent = 100 }: Fault): boolean {
    if (percent === 100) return true
    const [byte = 0] = this.#entropy.bytes(1)
    return byte * 100 < percent * 256
  }
}

/** The kinds that take effect at the service itself, not on the way. */
const elsewhere = new Set<FaultKind>(['rejectToken', 'clockSkew'])

/** Checks a fault, and names what is wrong by its member. */
function parseFault(given: unknown): Fault {
  const parsed = faultSchema.safeParse(given)
  if (parsed.success) return parsed.data
  const fields = parsed.error.issues.map(issue => `${issue.path.join('.') || 'fault'}: ${issue.message}`)
  throw new AverbaError('INVALID_INPUT', `Cannot add the fault: ${fields.join('; ')}`, {
    hint: 'docs/simulating.md has every kind of fault with its members',
  })
}
