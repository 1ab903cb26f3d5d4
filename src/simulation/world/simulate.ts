import { withinBudget } from '../../adapters/http/answer-body.ts'
import type { Averba, AverbaOptions } from '../../averba/averba.ts'
import { staticHeaders } from '../../index.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Fetch } from '../../vocabulary/fetch.ts'
import { checkKnownNames, serviceNames } from '../../vocabulary/names.ts'
import { requireNode } from '../../vocabulary/node-version.ts'
import type { Fault } from '../faults/fault.ts'
import { createSimulators, credentials, type Simulators, samples } from '../services/create-simulators.ts'
import type { Policies } from '../services/policies.ts'
import { seededEntropy } from './seeded-entropy.ts'
import { type CrashPoint, SimulatedProcess } from './simulated-process.ts'
import { VirtualClock } from './virtual-clock.ts'

/** The simulated services, the engine and one virtual clock in one process, without sockets. */
export interface World extends Simulators {
  /** The running engine, or the last one. Each restart creates a new one. */
  readonly averba: Averba
  readonly clock: VirtualClock
  readonly samples: typeof samples
  /** The same seed and calls give the same log, byte for byte. A log in a file differs from one in memory. */
  readonly seed: number
  /** Whether no engine runs, because it crashed and was not restarted. */
  readonly isDown: boolean
  /** Crashes the engine's process: its promises never settle, its committed writes remain, the services go on. */
  crash(): void
  /** Starts a new engine on the same store, and closes a running one first. Register handlers and followers again. */
  restart(): Promise<Averba>
  /** Fills the disk so that no write succeeds, or frees it again. */
  fillDisk(isFull: boolean): Promise<void>
  /**
   * The root of the Merkle tree over the bytes of all headers, in 64 hexadecimal digits. A header has the hashes of its
   * sealed parts, so equal digests mean equal logs, including keys and nonces.
   */
  digest(): Promise<string>
  close(): Promise<void>
}

/** The options of `simulate`. */
export interface WorldOptions {
  /** The seed of all randomness: 1 by default. */
  readonly seed?: number
  /**
   * A file, or a schema on PostgreSQL with `averba.keyring`; by default in memory, which outlives a crash too. No other
   * process should write to it: the world does not look for that, as `averba.run` does.
   */
  readonly store?: string
  /** Options of the engine; they replace those that the world sets. */
  readonly averba?: Partial<AverbaOptions>
  /** What the services do where the contracts are silent. */
  readonly policies?: Policies
  readonly faults?: readonly Fault[]
  /** Receives every request of the engine first. It may forward it, answer it, or throw. */
  readonly intercept?: (request: Request, forward: Fetch) => Promise<Response>
  /**
   * Called at every crash point; true crashes the engine there. The first points come while `simulate` still opens the
   * engine: return false until it has resolved.
   */
  readonly crashAt?: (point: CrashPoint) => boolean
}

/** The host names of the services in a simulated world. */
export const hosts = {
  consentService: 'consentimento.exemplo.br',
  tokenService: 'gateway.exemplo.br',
  validationService: 'validacao.exemplo.br',
  portal: 'portal.exemplo.br',
} as const

const optionNames: Readonly<Record<keyof WorldOptions, true>> = {
  seed: true,
  store: true,
  averba: true,
  policies: true,
  faults: true,
  intercept: true,
  crashAt: true,
}

const portalAddress = '161.148.0.1'
const receiverUrl = 'https://receptor.exemplo.br/averba'

/**
 * Opens a simulated world for tests: the services with their samples, the engine, and a clock that moves only on
 * command. Requests and notifications arrive one at a time, each after all effects of the one before. So the order of
 * events is the same in every run and on every runtime.
 *
 * @throws {AverbaError} what `openAverba` throws; `MISCONFIGURED` for an unknown option or an invalid seed;
 * `INVALID_INPUT` for an invalid fault or policy; `CLOSED` when the process crashes while it opens
 */
export async function simulate(options: WorldOptions = {}): Promise<World> {
  requireNode()
  checkWorldOptions(options)
  const { seed = 1, intercept, crashAt = () => false } = options
  const clock = new VirtualClock()
  const simulators = createSimulators({
    clock,
    entropy: seededEntropy(seed, 'services '),
    policies: options.policies,
    faults: options.faults,
    async deliver(request) {
      await clock.arrive()
      request.signal.throwIfAborted() // The portal may have cancelled the delivery.
      return process.receive(request, { remoteAddress: portalAddress })
    },
  })
  const forward = createNetwork(clock, simulators)
  const { consumerKey, consumerSecret, service, portalHeaders } = credentials
  const process = new SimulatedProcess({
    clock,
    crashAt,
    fetch: request => (intercept ? intercept(request, forward) : forward(request)),
    options: {
      store: options.store ?? ':memory:',
      entropy: seededEntropy(seed),
      consentService: {
        baseUrl: `https://${hosts.consentService}`,
        // Not used without a socket: the simulated service gets the client's name instead.
        certificate: { cert: '', key: '' },
      },
      tokenService: { url: `https://${hosts.tokenService}/token`, consumerKey, consumerSecret },
      validationService: { baseUrl: `https://${hosts.validationService}`, service },
      portal: { baseUrl: `https://${hosts.portal}`, authenticate: staticHeaders(portalHeaders) },
      receiver: { publicUrl: receiverUrl },
      // By default a world does only what a test asks for.
      schedules: false,
      ...options.averba,
    },
  })
  await process.start().catch(async (error: unknown) => {
    await process.end()
    throw error
  })
  return {
    ...simulators,
    get averba() {
      return process.averba
    },
    get isDown() {
      return process.isDown
    },
    clock,
    seed,
    samples,
    crash: () => process.crash(),
    async restart() {
      await process.stop()
      return process.start()
    },
    fillDisk: isFull => process.fillDisk(isFull),
    digest: () => process.root(),
    close: () => process.end(),
  }
}

function checkWorldOptions(options: WorldOptions): void {
  const { seed = 1 } = options
  const more = '; options of the engine go into averba'
  checkKnownNames(options, Object.keys(optionNames), { noun: 'option', code: 'MISCONFIGURED', more })
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new AverbaError('MISCONFIGURED', 'Cannot use the seed: it must be a whole number, 0 or more')
}

/** Routes requests to the services by host name. Each request arrives after all effects of the one before. */
function createNetwork(clock: VirtualClock, { reach }: Simulators): Fetch {
  return withinBudget(clock, async request => {
    const { hostname } = new URL(request.url)
    const service = serviceNames.find(name => hosts[name] === hostname)
    if (!service) throw new TypeError('Cannot send the request: no simulated service has this host name')
    await clock.arrive()
    return reach[service](request, { clientName: 'gestora-de-exemplo' })
  })
}
