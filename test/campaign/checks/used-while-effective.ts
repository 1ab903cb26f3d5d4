import { fromInstant } from '../../../src/vocabulary/instant.ts'
import type { MakeCheck, Used } from '../check.ts'
import type { ReadConsent } from '../people-at-service.ts'

/** How far a service's clock may be wrong in a run, and its history with it. */
const skewMaxMs = 240_000

/** No consent was used when the service's history says that it was not effective, and we could have known. */
export const usedWhileEffective: MakeCheck = (box, say) => {
  const uses: (Used & { readonly knownSince: number })[] = []
  const readAt = new Map<string, number>()
  return {
    rolledBack: () => readAt.clear(),
    read: (cpf, since) => void readAt.set(cpf, since),
    used(used) {
      // A clock that was wrong says nothing about what could have been known.
      if (box.wrongClocks.engine) return
      const asOf = used.ageMaxMs === undefined ? Number.NEGATIVE_INFINITY : used.began - used.ageMaxMs
      uses.push({ ...used, knownSince: Math.max(asOf, readAt.get(used.cpf) ?? Number.NEGATIVE_INFINITY) })
    },
    async end() {
      for (const use of uses) {
        const record = await box.people.read(use)
        const slackMs = box.wrongClocks.services ? skewMaxMs : 0
        // Its expiry was read with it: nobody need ask for that.
        if (fromInstant(record.dataExpiracao) <= use.began - slackMs)
          say(`a consent was used at ${new Date(use.at).toISOString()}, and had expired before`)
        if (isEffectiveWithin(record, use.knownSince - slackMs, use.at + slackMs)) continue
        say(
          `a consent was used at ${new Date(use.at).toISOString()}, and was not effective since the last reading`,
        )
      }
    },
  }
}

/** Whether there was a moment of the span in which it stood. */
function isEffectiveWithin({ historico, dataExpiracao }: ReadConsent, from: number, until: number): boolean {
  const expiresAt = fromInstant(dataExpiracao)
  return historico.some(({ status, dataHora }, i) => {
    const next = historico[i + 1]
    const ends = Math.min(next ? fromInstant(next.dataHora) : Number.POSITIVE_INFINITY, expiresAt)
    return status === 'ATIVO' && fromInstant(dataHora) <= until && ends >= from
  })
}
