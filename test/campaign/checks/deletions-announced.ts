import { credentials } from '../../../src/simulation/services/create-simulators.ts'
import type { RecordedEvent } from '../../../src/vocabulary/message.ts'
import type { MakeCheck } from '../check.ts'

const listUrl = 'https://portal.exemplo.br/portal/api/ext/webhook?exibirInativos=true'

/** No subscription of ours is gone at the portal without an event that says so. */
export const deletionsAnnounced: MakeCheck = (box, say) => {
  const told: RecordedEvent[] = []
  return {
    rolledBack(to) {
      told.splice(told.findLastIndex(({ position }) => position <= to.position) + 1)
    },
    recorded(event) {
      if (event.type === 'subscription.registered' || event.type === 'subscription.deleted') told.push(event)
    },
    async end() {
      const streams = registered(told)
      const request = new Request(listUrl, { headers: credentials.portalHeaders })
      const response = await box.services.portal.fetch(request)
      const all = (await response.json()) as { id: number; dataExclusao: string | null }[] // As the portal writes them.
      for (const { id, dataExclusao } of all) {
        if (dataExclusao !== null && streams.has(id))
          say(`the subscription ${id} is gone, and nobody was told`)
      }
    },
  }
}

/** Which stream a subscription of the portal is of, as the log tells it. */
function registered(told: readonly RecordedEvent[]): ReadonlyMap<number, string> {
  const streams = new Map<number, string>()
  for (const { type, stream, data } of told) {
    if (type === 'subscription.registered') {
      streams.set((data as { remoteId: number }).remoteId, stream) // As the machine writes it.
    } else {
      const remoteId = [...streams].findLast(([, name]) => name === stream)?.[0]
      if (remoteId !== undefined) streams.delete(remoteId)
    }
  }
  return streams
}
