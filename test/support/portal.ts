import { type Averba, type AverbaOptions, staticHeaders, valueOf } from '../../src/index.ts'
import type { World } from '../../src/simulation/index.ts'
import { openEngine } from './world.ts'

const baseUrl = 'https://portal.exemplo.br'
const session = { authorization: 'sessao-de-exemplo' }

/** Calls the portal as another program of the same user does, and returns its answer. */
export async function callPortal({ portal }: World, method: string, body: object, id = ''): Promise<{ id: number }> {
  const headers = { 'content-type': 'application/json', ...session }
  const path = `${baseUrl}/portal/api/ext/webhook${id}`
  const answer = await portal.fetch(new Request(path, { method, headers, body: JSON.stringify(body) }))
  if (!answer.ok) throw new Error(`The portal answered ${answer.status}`)
  return JSON.parse((await answer.text()) || '{}')
}

/** Opens another engine at the portal of a world: by default on a log of its own, with the same receiver. */
export function openBeside(world: World, options: Partial<AverbaOptions>): Promise<Averba> {
  return openEngine({
    store: ':memory:',
    clock: world.clock,
    fetch: request => world.reach.portal(request),
    portal: { baseUrl, authenticate: staticHeaders(session) },
    receiver: { publicUrl: 'https://receptor.exemplo.br/averba' },
    ...options,
  })
}

/** Makes the portal's subscriptions as they are declared. */
export async function applyPlan({ subscriptions }: Averba): Promise<void> {
  for (const outcome of await subscriptions.apply(await subscriptions.plan())) valueOf(outcome)
}
