import { credentials } from '../../../src/simulation/services.ts'
import type { MakeCheck } from '../check.ts'

const listUrl = 'https://portal.exemplo.br/portal/api/ext/webhook?exibirInativos=true'

/** No subscription of ours is gone at the portal without an event that says so. */
export const deletionsAnnounced: MakeCheck = (box, say) => {
  const streams = new Map<number, string>()
  return {
    rolledBack: () => streams.clear(),
    recorded({ type, stream, data }) {
      if (!stream.startsWith('subscription-')) return
      if (type === 'subscription.registered') {
        streams.set((data as { remoteId: number }).remoteId, stream) // As the machine writes it.
      }
      if (type === 'subscription.deleted') {
        const remoteId = [...streams].findLast(([, name]) => name === stream)?.[0]
        if (remoteId !== undefined) streams.delete(remoteId)
      }
    },
    async end() {
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
