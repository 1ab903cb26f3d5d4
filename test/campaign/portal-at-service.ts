import { credentials, type Simulators } from '../../src/simulation/services/create-simulators.ts'

const base = 'https://portal.exemplo.br/portal/api/ext/webhook'
const headers = { ...credentials.portalHeaders, 'content-type': 'application/json' }

interface ListedSubscription {
  readonly id: number
  readonly evento: string
  readonly endpoint: string
  readonly dataExclusao: string | null
}

/** Calls the portal directly, as another client does, without faults and engine. */
export function callPortal({ portal }: Simulators, method: string, path = '', body?: object): Promise<Response> {
  return portal.fetch(new Request(base + path, { method, headers, ...(body && { body: JSON.stringify(body) }) }))
}

export async function listSubscriptions(services: Simulators, query = ''): Promise<readonly ListedSubscription[]> {
  const response = await callPortal(services, 'GET', query)
  return (await response.json()) as ListedSubscription[] // As the portal writes them.
}
