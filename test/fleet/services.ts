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

/**
 * Starts the token service and the validation service for several processes. They count how often each validation was
 * accepted, by its request. `beforeValidation` says how long an answer takes.
 */
export async function startFleetServices(
  seed: number,
  beforeValidation = (random: Random) => after(random.below(validationMaxMs)),
) {
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
    const headers = new Headers(incoming.headers as Record<string, string>) // Each is sent once.
    for (const name of ['x-service', 'connection', 'content-length']) headers.delete(name)
    const init = { method: incoming.method ?? 'GET', headers, ...(body.length > 0 && { body: Buffer.concat(body) }) }
    const answer = await reach(new Request(`https://${incoming.headers['x-service']}${incoming.url}`, init))
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers))
    outgoing.end(Buffer.from(await answer.arrayBuffer()))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // It listens on a port.
  const close = async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  return {
    ...{ port, validated, reach, close },
    /** How many tokens were asked for. */
    get tokens() {
      return services.tokenService.requests
    },
    expireToken: () => services.tokenService.expire(),
  }
}
