import { readBounded } from '../../adapters/http/bounded-body.ts'
import type { Averba, AverbaOptions } from '../../averba/averba.ts'
import { staticHeaders } from '../../index.ts'
import { type Clock, cancelReason } from '../../runtime/clock.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { answerBytesMax, defaultBudgetMs, type Fetch, limitsOf } from '../../vocabulary/fetch.ts'
import { checkKnownNames } from '../../vocabulary/known-names.ts'
import type { Fault } from '../faults/fault.ts'
import { createSimulators, credentials, type Simulators, samples } from '../services/create-simulators.ts'
import type { Policies } from '../services/policies.ts'
import { seededEntropy } from './seeded-entropy.ts'
import { type CrashPoint, SimulatedProcess } from './simulated-process.ts'
import { VirtualClock } from './virtual-clock.ts'

/** The services, the engine and one virtual clock in one process, without sockets. */
export interface World extends Simulators {
  /** The engine that is alive, or the last one that was: a new one after each restart. */
  readonly averba: Averba
  readonly clock: VirtualClock
  readonly samples: typeof samples
  /**
   * Repeats this world: the same seed and the same calls give the same log, byte for byte, in memory or in new files. A
   * log in a file differs from one in memory.
   */
  readonly seed: number
  /** No engine is alive: it crashed, and was not restarted. */
  readonly isDown: boolean
  /**
   * Lets the engine's process die between two steps. What it was doing stops where it is: its promises never settle,
   * what it had committed stands, and the services go on without it.
   */
  crash(): void
  /**
   * Starts an engine on the same store: after a crash, or after the one that lives was closed as a host would. It has
   * no handlers and no followers until they are registered again. `run` of the one before ends with it.
   */
  restart(): Promise<Averba>
  /** Fills the disk under the store, so that nothing more can be written, or gives it space again. */
  fillDisk(isFull: boolean): Promise<void>
  /**
   * The log in 64 hexadecimal digits: the root of the Merkle tree over the exact bytes of every header. A header holds
   * the hashes of its sealed parts, so equal digests mean equal logs, keys and nonces included.
   */
  digest(): Promise<string>
  close(): Promise<void>
}

/** What a world is made with. */
export interface WorldOptions {
  /** Repeats every id, key, chance and token: 1 by default. */
  readonly seed?: number
  /** The path of a SQLite file; in memory by default, which also outlives a crash of the engine. */
  readonly store?: string
  /** Options of the engine, over those of the world. */
  readonly averba?: Partial<AverbaOptions>
  /** What the services do where the contracts are silent. */
  readonly policies?: Policies
  /** What goes wrong from the start. */
  readonly faults?: readonly Fault[]
  /** Sees every request of the engine first, and may answer it, or throw in its place. */
  readonly intercept?: (request: Request, forward: Fetch) => Promise<Response>
  /**
   * Asked at every point at which the engine's process may die: true lets it. Points count from the opening on, when
   * there is no world to look at yet: answer false until `simulate` has resolved, by a variable of yours.
   */
  readonly crashAt?: (point: CrashPoint) => boolean
}

const hosts = {
  consentService: 'consentimento.exemplo.br',
  tokenService: 'gateway.exemplo.br',
  validationService: 'validacao.exemplo.br',
  portal: 'portal.exemplo.br',
} as const

/** Every option of a world. */
const optionNames: Readonly<Record<keyof WorldOptions, true>> = {
  seed: true,
  store: true,
  averba: true,
  policies: true,
  faults: true,
  intercept: true,
  crashAt: true,
}

/** Where notifications come from and go to. */
const portalAddress = '161.148.0.1'
const receiverUrl = 'https://receptor.exemplo.br/averba'

/**
 * Opens a small world for tests: the services with their samples, the engine, and one clock that moves only when told
 * to. Requests and notifications arrive one after the other, each when everything before it has had its effect, so
 * that the order of events is the same in every run and on every runtime.
 *
 * @throws {AverbaError} what `openAverba` throws; `MISCONFIGURED` when an option of the world is unknown or its seed is
 * not a number; `INVALID_INPUT` when a fault or a policy is not one; `CLOSED` when the process dies while it opens
 */
export async function simulate(options: WorldOptions = {}): Promise<World> {
  checkWorldOptions(options)
  const { seed = 1, intercept, crashAt = () => false } = options
  const clock = new VirtualClock()
  const simulators = createSimulators({
    clock,
    entropy: seededEntropy(seed, 'services '),
    ...(options.policies !== undefined && { policies: options.policies }),
    ...(options.faults && { faults: options.faults }),
    async deliver(request) {
      await clock.arrive()
      request.signal.throwIfAborted() // What the portal has given up does not arrive.
      return process.receive(request, { remoteAddress: portalAddress })
    },
  })
  const forward = throughTheNetwork(clock, simulators)
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
        // No socket asks for it: the simulated service is told the client's name.
        certificate: { cert: '', key: '' },
      },
      tokenService: { url: `https://${hosts.tokenService}/token`, consumerKey, consumerSecret },
      validationService: { baseUrl: `https://${hosts.validationService}`, service },
      portal: { baseUrl: `https://${hosts.portal}`, authenticate: staticHeaders(portalHeaders) },
      receiver: { publicUrl: receiverUrl },
      // A small world does what a test asks for, and nothing by itself unless told to.
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
  const more = '; those of the engine stand in averba'
  checkKnownNames(options, Object.keys(optionNames), { noun: 'option', code: 'MISCONFIGURED', more })
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new AverbaError('MISCONFIGURED', 'Cannot use the seed: it must be a whole number, 0 or more')
}

/** The way to the services by their names. A request arrives once everything before it has had its effect. */
function throughTheNetwork(clock: VirtualClock, { reach }: Simulators): Fetch {
  const services: Record<string, Fetch> = {
    [hosts.consentService]: request => reach.consentService(request, { clientName: 'gestora-de-exemplo' }),
    [hosts.tokenService]: request => reach.tokenService(request),
    [hosts.validationService]: request => reach.validationService(request),
    [hosts.portal]: request => reach.portal(request),
  }
  return withinBudget(clock, async request => {
    const service = services[new URL(request.url).hostname]
    if (!service) throw new TypeError('No simulated service has this name')
    await clock.arrive()
    return service(request)
  })
}

const usual = { budgetMs: defaultBudgetMs, bodyBytesMax: answerBytesMax }

/** Takes answers as a socket would, without one: whole, within the client's budget by this clock, and bounded. */
export function withinBudget(clock: Clock, forward: Fetch): Fetch {
  return async request => {
    const { budgetMs, bodyBytesMax } = limitsOf(request) ?? usual
    const done = new AbortController()
    const late = clock.sleep(budgetMs, done.signal, 'the budget of a request').then(() => undefined)
    try {
      const taken = await Promise.race([takeWhole(forward, request, bodyBytesMax), late])
      if (!taken) throw new DOMException('The budget is over', 'TimeoutError')
      return taken
    } finally {
      done.abort(cancelReason)
    }
  }
}

async function takeWhole(forward: Fetch, request: Request, bytesMax: number): Promise<Response> {
  const { body, status, headers } = await forward(request)
  return new Response(body && (await readBounded(body, bytesMax)), { status, headers })
}
