import { setTimeout as after } from 'node:timers/promises'
import { systemClock } from '../../src/runtime/clock.ts'
import { seededEntropy } from '../../src/simulation/index.ts'
import { serveControl } from '../../src/simulation/served/serve.ts'
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
  const { port, close } = await serveControl(async request => {
    const { url, method, headers } = request
    const { pathname, search } = new URL(url)
    const init = { method, headers, body: await request.arrayBuffer() }
    return reach(new Request(`https://${headers.get('x-service')}${pathname}${search}`, init))
  })
  return {
    ...{ port, validated, reach, close },
    get tokens() {
      return services.tokenService.requests
    },
    expireToken: () => services.tokenService.expire(),
  }
}
