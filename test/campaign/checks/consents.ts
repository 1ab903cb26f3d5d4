import { credentials } from '../../../src/simulation/services/create-simulators.ts'
import { fromInstant } from '../../../src/vocabulary/instant.ts'
import type { RecordedEvent } from '../../../src/vocabulary/message.ts'
import type { ConsentUse, CreateCheck } from '../check.ts'
import { personOf } from '../people.ts'
import type { ReadConsent } from '../people-at-service.ts'
import type { SimulatedHost } from '../simulated-host.ts'

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

/** The consent of a validation, and the position of its last attempt. */
interface ValidationUnderConsent {
  readonly consent: string
  attemptedAt: number
}

const endTypes = ['consent.revoked', 'consent.expired', 'consent.denied']
/** The events that show a status, whoever changed it. */
const showing = [...endTypes, 'consent.approved', 'consent.conflicted', 'consent.confirmed', 'consent.appeared']
const givenUp = ['consent.endWithdrawn', 'consent.erased']

/**
 * No consent is used, and no validation is sent under it, after the log has its end or our request for one. Whatever the
 * service does, that request ends made, withdrawn or erased, or stays wanted.
 */
export const noUseAfterTheEnd: CreateCheck = (simulated, report) => {
  const endedAt = new Map<string, number>()
  const wanted = new Set<string>()
  const validations = new Map<string, ValidationUnderConsent>()
  return {
    rolledBack() {
      endedAt.clear()
      wanted.clear()
      validations.clear()
    },
    recorded({ type, stream, data, position }: RecordedEvent) {
      // Of the types below.
      const { status, consent, effect, isOld } = data as Partial<Record<string, string>> & { isOld?: true }
      const isEnd = status === 'NEGADO' || status === 'REVOGADO' || status === 'EXPIRADO'
      if (type === 'consent.changeRequested' && isEnd) wanted.add(stream)
      else if (givenUp.includes(type)) wanted.delete(stream)
      // What a reading shows that left before the request says nothing of it.
      else if (isEnd && !isOld && showing.includes(type)) wanted.delete(stream)
      if (endTypes.includes(type)) endedAt.set(stream, position)
      else if (status === 'ATIVO' && type !== 'consent.changeRequested') endedAt.delete(stream)
      if (type === 'consent.used' && (endedAt.has(stream) || wanted.has(stream)))
        report(`${stream} was used at ${position}, but its end was known`)
      if (type === 'validation.requested' && consent !== undefined)
        validations.set(stream, { consent: `consent-${consent}`, attemptedAt: 0 })
      const [owner = ''] = effect?.split('/') ?? []
      const attempted = type === 'effect.attempted' ? validations.get(owner) : undefined
      if (attempted) attempted.attemptedAt = position
      const answered = type === 'validation.answered' ? validations.get(stream) : undefined
      const end = answered && endedAt.get(answered.consent)
      if (answered && end !== undefined && end < answered.attemptedAt)
        report(`${stream} was sent at ${answered.attemptedAt}, after the end of its consent at ${end}`)
    },
    async end() {
      const rows = await simulated.host.ask(averba => averba.views.selectFrom('consents').selectAll().execute(), [])
      for (const row of rows && 'value' in rows ? rows.value : [])
        if (wanted.has(row.consent) && row.end_wanted_at === null)
          report(`${row.consent} was to end, was not ended, and is not blocked`)
    },
  }
}

const listUrl = 'https://portal.exemplo.br/portal/api/ext/webhook'

/** The engine's consents and subscriptions equal those of the services. */
export const viewsEqualServices: CreateCheck = (simulated, report) => ({
  async end() {
    for (const { person, consents } of simulated.people.all()) {
      const { cpf } = personOf(person)
      const asked = await simulated.host.ask(averba => averba.consents.list({ cpf, vanished: true }), ['NOT_FOUND'])
      if (!asked || 'code' in asked) continue // This person was never enrolled.
      const shown = new Map(asked.value.map(each => [each.id, each]))
      for (const at of consents) {
        const truth = await simulated.people.statusAt(at)
        const found = shown.get(at.id)
        if (found?.status === truth && found.knowledge === 'known') continue
        report(`a consent of person ${person} is ${truth}, but shown as ${found?.status} (${found?.knowledge})`)
      }
    }
    const there = (await activeAtPortal(simulated)).map(each => `${each.id} ${each.evento} ${each.endpoint}`)
    const rows = await simulated.host.askFor(averba => averba.views.selectFrom('subscriptions').selectAll().execute())
    const here = (rows ?? [])
      .filter(each => each.state !== 'deleted')
      .map(each => `${each.remote_id} ${each.evento} ${each.endpoint}`)
    if (there.sort().join() !== here.sort().join())
      report(`the portal has ${there.join()}, but the engine shows ${here.join()}`)
  },
})

async function activeAtPortal(
  simulated: SimulatedHost,
): Promise<readonly { id: number; evento: string; endpoint: string }[]> {
  const response = await simulated.services.portal.fetch(new Request(listUrl, { headers: credentials.portalHeaders }))
  return (await response.json()) as { id: number; evento: string; endpoint: string }[] // As the portal writes them.
}
