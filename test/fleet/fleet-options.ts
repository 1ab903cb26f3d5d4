import type { AverbaOptions } from '../../src/index.ts'
import { credentials } from '../../src/simulation/services/create-simulators.ts'

/** The options of each engine of a fleet, with a function that reaches the services. */
export function fleetOptions(store: string, keyring: string, fetch: AverbaOptions['fetch']): AverbaOptions {
  const { consumerKey, consumerSecret, service } = credentials
  return {
    ...{ store, keyring, schedules: false },
    ...(fetch && { fetch }),
    tokenService: { url: 'https://gateway.exemplo.br/token', consumerKey, consumerSecret },
    validationService: { baseUrl: 'https://validacao.exemplo.br', service, requestsAtOnceMax: 200 },
  }
}
