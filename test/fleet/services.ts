import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as after } from 'node:timers/promises'
import { systemClock } from '../../src/runtime/clock.ts'
import { seededEntropy } from '../../src/simulation/index.ts'
import { createSimulators } from '../../src/simulation/services/create-simulators.ts'
import { Random } from '../support/random.ts'

/** Validations take up to so long, so that processes die while some are under way. */
const validationMaxMs = 400

/** The token service and the validation service of a fleet, which count what they are asked. */
export interface FleetServices {
  readonly port: number
  /** How often each validation was accepted, by its request. */
  readonly validated: ReadonlyMap<string, number>
  /** How many tokens were asked for. */
  readonly tokens: number
  /** Ends the present token. */
  expireToken(): void
  reach(request: Request): Promise<Response>
  close(): Promise<void>
}

/** Starts simulated services for several processes. `beforeValidation` says how long an answer takes. */
export async function startFleetServices(
  seed: number,
  beforeValidation = (random: Random) => after(random.below(validationMaxMs)),
): Promise<FleetServices> {
  const deliver = async () => new Response()
  const services = createSimulators({ clock: systemClock, entropy: seededEntropy(seed), deliver })
  const random = new Random(seed)
  const validated = new Map<string, number>()
  const reach = async (request: Request): Promise<Response> => {
    const { host, pathname } = new URL(request.url)
    if (host === 'gateway.exemplo.br') return services.reach.tokenService(request)
    const asked = `${pathname} ${await request.clone().text()}`
    await beforeValidation(random)
    const answer = await services.reach.validationService(request)
    // A token that ended on the way: nothing was validated.
    if (answer.status !== 401) validated.set(asked, (validated.get(asked) ?? 0) + 1)
    return answer
  }
  const server = createServer(async (incoming, outgoing) => {
    const body = await Array.fromAsync(incoming as AsyncIterable<Buffer>)
    const {
      'x-service': host,
      connection: _,
      'content-length': __,
      ...headers
    } = incoming.headers as Record<string, string> // Each is sent once.
    const hasBody = body.length > 0
    const init = { method: incoming.method ?? 'GET', headers, ...(hasBody && { body: Buffer.concat(body) }) }
    const answer = await reach(new Request(`https://${host}${incoming.url}`, init))
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers))
    outgoing.end(Buffer.from(await answer.arrayBuffer()))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port, // It listens on a port.
    validated,
    get tokens() {
      return services.tokenService.requests
    },
    expireToken: () => services.tokenService.expire(),
    reach,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
