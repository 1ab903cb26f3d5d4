import type { Recorded } from '../../src/index.ts'
import type { World, WorldOptions } from '../../src/simulation/index.ts'
import { givenConsent } from './given-consent.ts'

/** Whether a request reads a consent in full. */
export const isDetail = ({ method, url }: Request) => method === 'GET' && /consentimentos\/\d+\/\w+$/.test(url)

/** Whether a request reads a list of consents. */
export const isList = ({ method, url }: Request) => method === 'GET' && /consentimentos\/\d+$/.test(url)

/**
 * A service that defers or loses every change, made or not, while it is busy. Its lists omit one consent and show an
 * older state of another.
 */
export async function givenTroubled(
  status: 'PENDENTE' | 'ATIVO',
  trouble: 'busy' | 'lost' | 'made and lost' = 'busy',
  options: WorldOptions = {},
) {
  const service = { isTroubled: true, trouble, hidden: '', older: '', changes: 0 }
  const given = await givenConsent(
    status,
    async (request, forward) => {
      if (request.method === 'PUT' && service.isTroubled) {
        if (service.trouble === 'busy') return Response.json({}, { status: 503, headers: { 'retry-after': '3600' } })
        if (service.trouble === 'made and lost') await forward(request)
        throw new TypeError('reset')
      }
      if (request.method === 'PUT') service.changes += 1
      const response = await forward(request)
      if (!isList(request) || (service.hidden === '' && service.older === '')) return response
      const records = (await response.json()) as { id: string }[]
      const listed = records.filter(({ id }) => id !== service.hidden)
      return Response.json(listed.map(each => (each.id === service.older ? { ...each, status: 'PENDENTE' } : each)))
    },
    options,
  )
  return { ...given, service }
}

/** The events of some types, in their order. */
export async function eventsOf({ averba }: World, ...types: Recorded['type'][]): Promise<Recorded[]> {
  return Array.fromAsync(averba.log.read({ types }))
}
