import { credentials } from '../../../src/simulation/services/create-simulators.ts'
import type { RecordedEvent } from '../../../src/vocabulary/message.ts'
import type { CreateCheck } from '../check.ts'

const listUrl = 'https://portal.exemplo.br/portal/api/ext/webhook?exibirInativos=true'

/** Every subscription of ours that was deleted at the portal has an event about the deletion. */
export const deletionsAnnounced: CreateCheck = (simulated, report) => {
  const events: RecordedEvent[] = []
  return {
    rolledBack(to) {
      events.splice(events.findLastIndex(({ position }) => position <= to.position) + 1)
    },
    recorded(event) {
      if (event.type === 'subscription.registered' || event.type === 'subscription.deleted') events.push(event)
    },
    async end() {
      const streams = registeredStreams(events)
      const request = new Request(listUrl, { headers: credentials.portalHeaders })
      const response = await simulated.services.portal.fetch(request)
      const all = (await response.json()) as { id: number; dataExclusao: string | null }[] // As the portal writes them.
      for (const { id, dataExclusao } of all) {
        if (dataExclusao !== null && streams.has(id)) report(`the subscription ${id} is deleted, but there is no event`)
      }
    },
  }
}

/** The streams of the subscriptions that are registered according to the log, by their id at the portal. */
function registeredStreams(events: readonly RecordedEvent[]): ReadonlyMap<number, string> {
  const streams = new Map<number, string>()
  for (const { type, stream, data } of events) {
    if (type === 'subscription.registered') {
      streams.set((data as { remoteId: number }).remoteId, stream) // As the machine writes it.
    } else {
      const remoteId = [...streams].findLast(([, name]) => name === stream)?.[0]
      if (remoteId !== undefined) streams.delete(remoteId)
    }
  }
  return streams
}
