import { isIPv4 } from 'node:net'
import { z } from 'zod'
import { openSocket } from '../../adapters/http/transport.ts'
import type { AverbaOptions } from '../../averba/averba.ts'
import { staticHeaders } from '../../index.ts'
import { type Clock, systemClock } from '../../runtime/clock.ts'
import { type Entropy, systemEntropy } from '../../runtime/entropy.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { StreamingFetch } from '../../vocabulary/fetch.ts'
import { checkKnownNames, type ServiceName, serviceNames } from '../../vocabulary/names.ts'
import { requireNode } from '../../vocabulary/node-version.ts'
import type { Fault } from '../faults/fault.ts'
import { createSimulators, credentials, samples } from '../services/create-simulators.ts'
import { Memory, type SavedMemory } from '../services/memory.ts'
import type { Policies } from '../services/policies.ts'
import type { Deliver } from '../services/portal/deliveries.ts'
import { createAuthority, type IssuedCertificate } from './authority.ts'
import { type Peer, type Server, serveHttps } from './serve.ts'

/** The simulated services, running behind real TLS on loopback. */
export type RunningServices = Readonly<Awaited<ReturnType<typeof startServices>>>

/** What services leave to those that go on: their ports and authority, and what they knew. */
export interface SavedServices {
  readonly ports: readonly number[]
  readonly authority: IssuedCertificate
  readonly memory: SavedMemory
}

/** The options of `startServices`. */
export interface ServicesOptions {
  readonly clock?: Clock
  readonly entropy?: Entropy | undefined
  /** What the services do where the contracts are silent. */
  readonly policies?: Policies | undefined
  /** Faults from the start, until a reset. */
  readonly faults?: readonly Fault[]
  /** The source address of deliveries: one of this machine, in 127.0.0.0/8. */
  readonly deliverFrom?: string | undefined
  /** The first of four ports, for consents, tokens, validations and the portal; free ones when absent. */
  readonly port?: number | undefined
  /** What earlier services saved: these go on with their ports, their authority and all that they knew. */
  readonly saved?: SavedServices | undefined
  /** The address that they listen on; that of loopback when absent. Anybody who reaches it can use them. */
  readonly host?: string | undefined
  /** The name in their addresses and certificates; `localhost` when absent. */
  readonly name?: string | undefined
}

const optionNames: Readonly<Record<keyof ServicesOptions, true>> = {
  clock: true,
  entropy: true,
  policies: true,
  faults: true,
  deliverFrom: true,
  port: true,
  saved: true,
  host: true,
  name: true,
}

/**
 * Starts the four services as HTTPS servers, with certificates created for this run.
 *
 * @throws {AverbaError} `INVALID_INPUT` when `deliverFrom` is not an address of 127.0.0.0/8, or a fault, a policy or
 * `saved` is invalid; `MISCONFIGURED` for an unknown option
 */
export async function startServices(options: ServicesOptions = {}) {
  requireNode()
  checkKnownNames(options, Object.keys(optionNames), { noun: 'option', code: 'MISCONFIGURED' })
  const {
    clock = systemClock,
    entropy = systemEntropy,
    deliverFrom,
    port: firstPort,
    saved,
    host,
    name = 'localhost',
  } = options
  if (deliverFrom !== undefined) checkLoopback(deliverFrom)
  if (saved !== undefined) checkSaved(saved)
  // TLS checks certificates against the system time.
  const issuedAt = Math.min(clock.now(), systemClock.now())
  const { authority, ca, server, client, receiver } = await createCertificates(issuedAt, name, saved?.authority)
  let memory = new Memory(saved?.memory)
  const routes = () => memory.keep('routes', new Map<string, { host: string; port: number }>())
  const outgoing = openSocket({
    clock,
    ca,
    ...(deliverFrom !== undefined && { localAddress: deliverFrom }),
    connectTo: target => routes().get(target),
  })
  const common = { clock, entropy, deliver: deliverOverSockets(outgoing.stream), overTls: true }
  const create = (faults: readonly Fault[] = []) =>
    createSimulators({ ...common, memory, policies: options.policies, faults })
  const simulators = create(options.faults)
  const start = (service: ServiceName, i: number) =>
    serveHttps(async (request: Request, peer: Peer) => simulators.reach[service](await bufferRequest(request), peer), {
      ...{ ...server.own, host, port: firstPort ? firstPort + i : saved?.ports[i] },
      replaceCertificate: () => server[simulators.faults.nextCertificate(service)],
      clientCa: service === 'consentService' ? ca : undefined,
    })
  const servers = await allOrNone(serviceNames.map(start))
  const urls = servers.map(each => `https://${name}:${each.port}`)
  const [consentUrl = '', tokenUrl = '', validationUrl = '', portalUrl = ''] = urls
  const { consumerKey, consumerSecret, service, portalHeaders } = credentials
  return Object.assign(simulators, {
    samples,
    /** The authority that all parties trust, as PEM text. */
    ca,
    /** The client certificate that the consent service accepts. */
    client,
    /** The consumer key and secret that the token service accepts. */
    credentials: { consumerKey, consumerSecret },
    /** The headers that authenticate a call at the portal. */
    portalHeaders,
    /** A server certificate for `localhost` and `*.exemplo.br`, for a receiver. */
    receiver,
    /** Options for `openAverba`: the addresses of the services, and how to authenticate. */
    options: {
      consentService: { baseUrl: consentUrl, ca, certificate: client },
      tokenService: { url: `${tokenUrl}/token`, ca, consumerKey, consumerSecret },
      validationService: { baseUrl: validationUrl, ca, service },
      portal: { baseUrl: portalUrl, ca, authenticate: staticHeaders(portalHeaders) },
    } satisfies Pick<Required<AverbaOptions>, ServiceName>,
    /** Sends deliveries for a host, on port 443 or as in `host:8443`, to a port of this machine. */
    connect: (host: string, port: number, address = '127.0.0.1') =>
      void routes().set(host.includes(':') ? host : `${host}:443`, { host: address, port }),
    /** Starts over with only the samples: no faults, no requests, no `connect` routes. */
    reset(): void {
      memory = new Memory()
      Object.assign(simulators, create())
    },
    /** What services that start later can go on with, as JSON: for `saved`. */
    save: async (): Promise<SavedServices> => ({
      ports: servers.map(each => each.port),
      authority: await authority.save(),
      memory: memory.save(),
    }),
    async close(): Promise<void> {
      await outgoing.close()
      await Promise.all(servers.map(each => each.close()))
    },
  })
}

/** Waits for all servers. When one cannot listen, the others do not stay behind. */
async function allOrNone(starting: readonly Promise<Server>[]): Promise<readonly Server[]> {
  const ended = await Promise.allSettled(starting)
  const servers = ended.flatMap(each => (each.status === 'fulfilled' ? [each.value] : []))
  const failed = ended.find(each => each.status === 'rejected')
  if (!failed) return servers
  await Promise.all(servers.map(each => each.close()))
  throw failed.reason
}

async function createCertificates(now: number, name: string, saved?: IssuedCertificate) {
  const authority = await createAuthority(now, undefined, saved)
  const unknownAuthority = await createAuthority(now, 'averba unknown authority')
  const names = [...new Set([name, 'localhost', '127.0.0.1'])]
  const server = {
    own: await authority.issueServer(names),
    expired: await authority.issueExpiredServer(names),
    unknown: await unknownAuthority.issueServer(names),
  }
  const client = await authority.issueClient('gestora-de-exemplo')
  const receiver = await authority.issueServer(['localhost', '*.exemplo.br'])
  return { authority, ca: authority.ca, server, client, receiver }
}

/** Reads the whole body first, so that a service never waits for a socket. */
async function bufferRequest(request: Request): Promise<Request> {
  if (request.body === null) return request
  const { url, method, headers } = request
  return new Request(url, { method, headers, body: await request.arrayBuffer() })
}

/** Delivers over real sockets, timed by the system clock: advancing another clock makes no receiver slower. */
function deliverOverSockets(stream: StreamingFetch): Deliver {
  return async (request, { onConnected, countBy }) => {
    const end = countBy(systemClock)
    try {
      const { body, status, headers } = await stream(request, onConnected)
      if (body === null) end()
      return new Response(body?.pipeThrough(new TransformStream({ flush: end })), { status, headers })
    } catch (error) {
      end()
      throw error
    }
  }
}

const savedSchema = z.object({
  ports: z.array(z.int().min(1).max(65_535)).length(4),
  authority: z.object({ cert: z.string(), key: z.string() }),
  memory: z.record(z.string(), z.unknown()),
})

function checkSaved(saved: SavedServices): void {
  if (savedSchema.safeParse(saved).success) return
  throw new AverbaError('INVALID_INPUT', 'Cannot go on with the saved services: they have another form', {
    hint: 'Give what save() returned, unchanged',
  })
}

/** Only loopback addresses belong to this machine on every system that lets a client choose its address. */
function checkLoopback(address: string): void {
  if (isIPv4(address) && address.startsWith('127.')) return
  const message = `Cannot deliver from "${address.slice(0, 40)}": it is not a loopback address`
  throw new AverbaError('INVALID_INPUT', message, { hint: 'Use an address such as 127.9.9.9' })
}
