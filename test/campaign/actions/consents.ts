import { companies, personOf } from '../people.ts'
import type { Performers } from '../perform.ts'
import { askWithAcknowledgement } from './acknowledging.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const basis = { purpose: 'campanha', legalBasis: 'LGPD art. 7, I' } as const

/** The status changes that a data subject can make at the service (contract). */
const statusTable: Readonly<Record<string, readonly string[]>> = {
  PENDENTE: ['ATIVO', 'NEGADO'],
  ATIVO: ['REVOGADO'],
}

/** Deeds about consents, at the host and at the service. */
export const perform: Performers<
  | 'enrol'
  | 'schedule'
  | 'offer'
  | 'sync'
  | 'change'
  | 'changeThere'
  | 'use'
  | 'validateUnder'
  | 'look'
  | 'logIn'
  | 'readInFull'
> = {
  async enrol(simulated, { id, person, everyHours }) {
    const { cpf } = personOf(person)
    const commandId = `enrol-${id}`
    const every = everyHours > 0 && { syncEveryMs: everyHours * hourMs }
    const ask = { commandId, ...every, ...(simulated.actor && { actor: simulated.actor }) }
    const ref = await simulated.host.askFor(averba => averba.consents.enrol({ cpf }, ask))
    if (ref !== undefined) simulated.actor = { kind: 'subject', ref }
  },
  async schedule(simulated, { id, person, everyHours }) {
    const ask = { commandId: `schedule-${id}`, syncEveryMs: everyHours === null ? null : everyHours * hourMs }
    await simulated.host.askFor(averba => averba.consents.schedule(personOf(person), ask), ['NOT_FOUND'])
  },
  async offer(simulated, { person, company, hours, isActive }) {
    const cnpj = companies[company]
    simulated.people.offer(person, {
      ...personOf(person),
      ...(cnpj !== undefined && { cnpj }),
      status: isActive ? 'ATIVO' : 'PENDENTE',
      expiresInMs: hours * hourMs,
    })
  },
  async sync(simulated, { person, company = null }) {
    const { cpf } = personOf(person)
    const since = simulated.clock.now()
    const cnpj = company === null ? undefined : companies[company]
    const which = { cpf, ...(cnpj !== undefined && { cnpj }) }
    const outcome = await simulated.host.askFor(averba => averba.consents.sync(which), ['NOT_FOUND'])
    if (outcome?.status === 'settled' && cnpj === undefined) simulated.runRecord.notify('read', cpf, since)
  },
  async change(simulated, { id, person, consent, verb }) {
    const which = simulated.people.consentOf(person, consent)
    if (!which) return
    const commandId = `${verb}-${id}`
    await askWithAcknowledgement(
      simulated,
      commandId,
      averba =>
        averba.consents[verb](which, {
          ...{ commandId, reason: 'CANARIO MOTIVO' },
          ...(simulated.actor && { actor: simulated.actor }),
        }),
      ['NOT_FOUND', 'REFUSED'],
    )
  },
  async changeThere(simulated, { person, consent, to }) {
    const which = simulated.people.consentOf(person, consent)
    if (!which) return
    const status = await simulated.people.statusAt(which)
    if (statusTable[status]?.includes(to)) simulated.services.consentService.change(which.cpf, which.id, to)
  },
  async use(simulated, { id, person, consent, ageMaxMinutes }) {
    const which = simulated.people.consentOf(person, consent)
    if (!which) return
    const ageMaxMs = ageMaxMinutes < 0 ? undefined : ageMaxMinutes * minuteMs
    const fresh = ageMaxMs === undefined ? {} : { ageMaxMs }
    const began = simulated.clock.now()
    const asked = await simulated.host.ask(
      averba => averba.consents.use({ ...which, ...fresh }, { commandId: `use-${id}`, basis }),
      ['NOT_FOUND', 'CONSENT_NOT_EFFECTIVE', 'OUTCOME'],
    )
    if (asked && 'value' in asked)
      simulated.runRecord.notify('used', { ...which, began, at: simulated.clock.now(), ageMaxMs })
  },
  async validateUnder(simulated, { id, person, consent }) {
    const which = simulated.people.consentOf(person, consent)
    if (!which) return
    const input = { id: `under-${id}`, cpf: which.cpf, claims: { nome: personOf(person).titular.nome } }
    await askWithAcknowledgement(
      simulated,
      input.id,
      averba => averba.validations.validate(input, { basis: { ...basis, consent: which } }),
      ['NOT_FOUND', 'CONSENT_NOT_EFFECTIVE'],
    )
  },
  async readInFull(simulated, { person, consent }) {
    const which = simulated.people.consentOf(person, consent)
    if (!which) return
    await simulated.host.ask(averba => averba.consents.get({ ...which, ageMaxMs: 0 }), ['NOT_FOUND', 'OUTCOME'])
  },
  async logIn(simulated, { person, hours }) {
    simulated.services.consentService.logIn(personOf(person).cpf, simulated.clock.now() + hours * hourMs)
  },
  async look(simulated, { person }) {
    const { cpf } = personOf(person)
    const codes = ['NOT_FOUND', 'OUTCOME'] as const
    await simulated.host.ask(averba => averba.consents.list({ cpf, ageMaxMs: hourMs }), codes)
    await simulated.host.ask(averba => averba.logins.state({ cpf }), codes)
    await simulated.host.ask(averba => averba.awareness.list({ cpf, ageMaxMs: hourMs }), codes)
    const which = simulated.people.consentOf(person, 0)
    if (which) await simulated.host.ask(averba => averba.consents.get({ ...which, ageMaxMs: 0 }), codes)
  },
}
