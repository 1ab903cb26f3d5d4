import type { Fault } from '../adapters/fault.ts'
import type { Policies } from '../adapters/policies.ts'
import { staticHeaders } from '../adapters/portal/static-headers.ts'
import type { Fetch } from '../adapters/transport.ts'
import { type Averba, openAverba } from '../averba.ts'
import type { AverbaOptions } from '../options.ts'
import { seededEntropy } from './seeded-entropy.ts'
import { createSimulators, credentials, type Simulators, samples } from './services.ts'
import { VirtualClock } from './virtual-clock.ts'
import { withinBudget } from './within-budget.ts'

/** The services, the engine and one virtual clock in one process, without sockets. */
export interface World extends Simulators {
  readonly averba: Averba
  readonly clock: VirtualClock
  readonly samples: typeof samples
  close(): Promise<void>
}

const hosts = {
  consentService: 'consentimento.exemplo.br',
  tokenService: 'gateway.exemplo.br',
  validationService: 'validacao.exemplo.br',
  portal: 'portal.exemplo.br',
} as const

/** Where notifications come from and go to. */
const portalAddress = '161.148.0.1'
const receiverUrl = 'https://receptor.exemplo.br/averba'

/**
 * Opens a small world for tests. `intercept` sees every request of the engine first, and may answer it, or
 * throw in its place.
 */
export async function simulate(
  options: {
    seed?: number
    averba?: Partial<AverbaOptions>
    /** What the services do where the contracts are silent. */
    policies?: Policies
    /** What goes wrong from the start. */
    faults?: readonly Fault[]
    intercept?: (request: Request, forward: Fetch) => Promise<Response>
  } = {},
): Promise<World> {
  const clock = new VirtualClock()
  const entropy = seededEntropy(options.seed ?? 1)
  const simulators = createSimulators({
    clock,
    entropy,
    ...(options.policies !== undefined && { policies: options.policies }),
    ...(options.faults && { faults: options.faults }),
    async deliver(request) {
      request.signal.throwIfAborted() // What the portal has given up does not arrive.
      return averba.receiver.fetch(request, { remoteAddress: portalAddress })
    },
  })
  const { reach } = simulators
  const services: Record<string, Fetch> = {
    [hosts.consentService]: request => reach.consentService(request, { clientName: 'gestora-de-exemplo' }),
    [hosts.tokenService]: request => reach.tokenService(request),
    [hosts.validationService]: request => reach.validationService(request),
    [hosts.portal]: request => reach.portal(request),
  }
  const forward = withinBudget(clock, async request => {
    const service = services[new URL(request.url).hostname]
    if (!service) throw new TypeError('No simulated service has this name')
    return service(request)
  })
  const { intercept } = options
  const { consumerKey, consumerSecret, service, portalHeaders } = credentials
  const averba = await openAverba({
    store: ':memory:',
    clock,
    entropy,
    fetch: request => (intercept ? intercept(request, forward) : forward(request)),
    consentService: {
      baseUrl: `https://${hosts.consentService}`,
      // No socket asks for it: the simulated service is told the client's name.
      certificate: { cert: '', key: '' },
    },
    tokenService: { url: `https://${hosts.tokenService}/token`, consumerKey, consumerSecret },
    validationService: { baseUrl: `https://${hosts.validationService}`, service },
    portal: { baseUrl: `https://${hosts.portal}`, authenticate: staticHeaders(portalHeaders) },
    receiver: { publicUrl: receiverUrl },
    // A small world does what a test asks for, and nothing by itself unless it is told to.
    schedules: false,
    ...options.averba,
  })
  return { ...simulators, averba, clock, samples, close: () => averba.close() }
}
