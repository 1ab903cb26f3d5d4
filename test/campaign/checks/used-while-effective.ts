import { fromInstant } from '../../../src/vocabulary/instant.ts'
import type { ConsentUse, CreateCheck } from '../check.ts'
import type { ReadConsent } from '../people-at-service.ts'

/** How far a service's clock, and so the times of its history, may be wrong in a run. */
const skewMaxMs = 240_000

/** No consent was used while it was not effective according to the service's history, if a reading could have told. */
export const usedWhileEffective: CreateCheck = (simulated, report) => {
  const uses: (ConsentUse & { readonly knownSince: number })[] = []
  const readAt = new Map<string, number>()
  return {
    rolledBack: () => readAt.clear(),
    read: (cpf, since) => void readAt.set(cpf, since),
    used(used) {
      // With a wrong clock it is unclear what could have been known.
      if (simulated.wrongClocks.engine) return
      const asOf = used.ageMaxMs === undefined ? Number.NEGATIVE_INFINITY : used.began - used.ageMaxMs
      uses.push({ ...used, knownSince: Math.max(asOf, readAt.get(used.cpf) ?? Number.NEGATIVE_INFINITY) })
    },
    async end() {
      for (const use of uses) {
        const record = await simulated.people.read(use)
        const slackMs = simulated.wrongClocks.services ? skewMaxMs : 0
        // The expiry is known from the first reading.
        if (fromInstant(record.dataExpiracao) <= use.began - slackMs)
          report(`a consent was used at ${new Date(use.at).toISOString()}, but had expired before`)
        if (isEffectiveWithin(record, use.knownSince - slackMs, use.at + slackMs)) continue
        report(`a consent was used at ${new Date(use.at).toISOString()}, but was not effective since the last reading`)
      }
    },
  }
}

/** Whether the consent was effective at some time of a period. */
function isEffectiveWithin({ historico, dataExpiracao }: ReadConsent, from: number, until: number): boolean {
  const expiresAt = fromInstant(dataExpiracao)
  return historico.some(({ status, dataHora }, i) => {
    const next = historico[i + 1]
    const ends = Math.min(next ? fromInstant(next.dataHora) : Number.POSITIVE_INFINITY, expiresAt)
    return status === 'ATIVO' && fromInstant(dataHora) <= until && ends >= from
  })
}
