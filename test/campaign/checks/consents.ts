import { fromInstant } from '../../../src/vocabulary/instant.ts'
import type { Checks, ConsentUse } from '../check.ts'
import type { ReadConsent } from '../people-at-service.ts'
import { listSubscriptions } from '../portal-at-service.ts'

/** How far a service's clock, and so the times of its history, may be wrong in a run. */
const skewMaxMs = 240_000

const endTypes = ['consent.revoked', 'consent.expired', 'consent.denied']
/** The events that show a status, whoever changed it. */
const showing = [...endTypes, 'consent.approved', 'consent.conflicted', 'consent.confirmed', 'consent.appeared']
const givenUp = ['consent.endWithdrawn', 'consent.erased']

export const consentChecks: Checks = {
  /** No consent was used while it was not effective by the service's history, if a reading could have told. */
  'used-while-effective': (simulated, report) => {
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
          report(
            `a consent was used at ${new Date(use.at).toISOString()}, but was not effective since the last reading`,
          )
        }
      },
    }
  },

  /**
   * No consent is used, and no validation is sent under it, after the log has its end or our request for one. Whatever
   * the service does, that request ends made, withdrawn or erased, or stays wanted.
   */
  'no-use-after-the-end': (simulated, report) => {
    const endedAt = new Map<string, number>()
    const wanted = new Set<string>()
    const sent = new Set<string>()
    const unread = new Set<string>()
    /** The consent of a validation, and the position of its last attempt. */
    const validations = new Map<string, { readonly consent: string; attemptedAt: number }>()
    return {
      rolledBack() {
        for (const each of [endedAt, wanted, sent, unread, validations]) each.clear()
      },
      recorded({ type, stream, data, position }) {
        // Of the types below.
        const { status, consent, effect, isOld, isAnswered, ...withdrawn } = data as Partial<Record<string, string>>
        const isEnd = status === 'NEGADO' || status === 'REVOGADO' || status === 'EXPIRADO'
        const [owner = ''] = effect?.split('/') ?? []
        if (isAnswered && wanted.has(owner)) sent.add(owner)
        if (['consent.changeLost', 'consent.changeDeclined'].includes(type) && wanted.has(stream)) sent.add(stream)
        const isWaiting = withdrawn.isUnsent || withdrawn.sentBefore
        if (type === 'consent.endWithdrawn' && isWaiting && sent.has(stream)) unread.add(stream)
        if (type === 'consent.described' || showing.includes(type)) unread.delete(stream)
        if (['consent.changeRequested', 'consent.used'].includes(type) && unread.has(stream))
          report(`${stream}: ${type} at ${position}, after an end that was sent was given up, and not read`)
        if (type === 'consent.changeRequested' && isEnd) wanted.add(stream)
        else if (givenUp.includes(type)) wanted.delete(stream)
        // What a reading shows that left before the request says nothing of it.
        else if (isEnd && !isOld && showing.includes(type)) wanted.delete(stream)
        if (!wanted.has(stream)) sent.delete(stream)
        if (endTypes.includes(type)) endedAt.set(stream, position)
        else if (status === 'ATIVO' && type !== 'consent.changeRequested') endedAt.delete(stream)
        if (type === 'consent.used' && (endedAt.has(stream) || wanted.has(stream)))
          report(`${stream} was used at ${position}, but its end was known`)
        if (type === 'validation.requested' && consent !== undefined)
          validations.set(stream, { consent: `consent-${consent}`, attemptedAt: 0 })
        const attempted = type === 'effect.attempted' ? validations.get(owner) : undefined
        if (attempted) attempted.attemptedAt = position
        const answered = type === 'validation.answered' ? validations.get(stream) : undefined
        const end = answered && endedAt.get(answered.consent)
        if (answered && end !== undefined && end < answered.attemptedAt)
          report(`${stream} was sent at ${answered.attemptedAt}, after the end of its consent at ${end}`)
      },
      async end() {
        const rows = await simulated.host.askFor(averba => averba.views.selectFrom('consents').selectAll().execute())
        for (const row of rows ?? [])
          if (wanted.has(row.consent) && row.end_wanted_at === null)
            report(`${row.consent} was to end, was not ended, and is not blocked`)
      },
    }
  },

  /** The engine's consents and subscriptions equal those of the services. */
  'views-equal-services': (simulated, report) => ({
    async end() {
      const { host, people, services } = simulated
      for (const [person, consents] of people.consents.entries()) {
        const [first] = consents
        if (!first) continue
        const all = { cpf: first.cpf, vanished: true }
        const listed = await host.askFor(averba => averba.consents.list(all), ['NOT_FOUND'])
        if (!listed) continue // This person was never enrolled.
        for (const at of consents) {
          const { status } = await people.read(at)
          const found = listed.find(({ id }) => id === at.id)
          // A list shows one whose end is wanted as uncertain. Its row does not.
          if (found?.status === status && /^(known|uncertain)$/.test(found.knowledge)) continue
          report(`a consent of person ${person} is ${status}, but shown as ${found?.status} (${found?.knowledge})`)
        }
      }
      const known = await host.askFor(averba => averba.views.selectFrom('consents').selectAll().execute())
      for (const { consent, knowledge } of known ?? [])
        if (!/^(known|vanished|erased)$/.test(knowledge)) report(`${consent} is ${knowledge}`)
      const there = (await listSubscriptions(services)).map(each => `${each.id} ${each.evento} ${each.endpoint}`)
      const rows = await host.askFor(averba => averba.views.selectFrom('subscriptions').selectAll().execute())
      const active = (rows ?? []).filter(each => each.state !== 'deleted')
      const here = active.map(each => `${each.remote_id} ${each.evento} ${each.endpoint}`)
      if (there.sort().join() !== here.sort().join())
        report(`the portal has ${there.join()}, but the engine shows ${here.join()}`)
    },
  }),
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
