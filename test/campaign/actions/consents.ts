import { hourMs, minuteMs } from '../../../src/vocabulary/instant.ts'
import { companies, inputOf, personOf } from '../people.ts'
import type { Performers } from '../perform.ts'
import { acknowledged } from './acknowledging.ts'

const basis = { purpose: 'campanha', legalBasis: 'LGPD art. 7, I' } as const

/** The status changes that a data subject can make at the service (contract). */
const statusTable: Readonly<Record<string, readonly string[]>> = { PENDENTE: ['ATIVO', 'NEGADO'], ATIVO: ['REVOGADO'] }

export const consentDeeds = {
  async enrol(simulated, { id, person, everyHours }) {
    const every = everyHours > 0 && { syncEveryMs: everyHours * hourMs }
    const ask = { commandId: `enrol-${id}`, ...every, ...simulated.asker }
    const ref = await simulated.host.askFor(averba => averba.consents.enrol({ cpf: personOf(person).cpf }, ask))
    if (ref !== undefined) simulated.asker = { actor: { kind: 'subject', ref } }
  },
  async schedule({ host }, { id, person, everyHours }) {
    const ask = { commandId: `schedule-${id}`, syncEveryMs: everyHours === null ? null : everyHours * hourMs }
    await host.askFor(averba => averba.consents.schedule({ cpf: personOf(person).cpf }, ask), ['NOT_FOUND'])
  },
  async offer({ people }, { person, company, hours, isActive }) {
    const cnpj = companies[company] ?? companies[0]
    const status = isActive ? 'ATIVO' : 'PENDENTE'
    people.offer(person, { ...personOf(person), cnpj, status, expiresInMs: hours * hourMs })
  },
  async sync({ host, clock, runRecord }, { person, company = null }) {
    const { cpf } = personOf(person)
    const since = clock.now()
    const cnpj = company === null ? undefined : companies[company]
    const which = { cpf, ...(cnpj !== undefined && { cnpj }) }
    const outcome = await host.askFor(averba => averba.consents.sync(which), ['NOT_FOUND'])
    if (outcome?.status === 'settled' && cnpj === undefined) runRecord.notify('read', cpf, since)
  },
  async change(simulated, { id, verb }, which) {
    const commandId = `${verb}-${id}`
    const ask = { commandId, reason: 'CANARIO MOTIVO', ...simulated.asker }
    const change = acknowledged(simulated, commandId, averba => averba.consents[verb](which, ask))
    await simulated.host.ask(change, ['NOT_FOUND', 'REFUSED'])
  },
  async changeThere({ people, services }, { to }, which) {
    const { status } = await people.read(which)
    if (statusTable[status]?.includes(to)) services.consentService.change(which.cpf, which.id, to)
  },
  async use({ host, clock, runRecord }, { id, ageMaxMinutes }, which) {
    const ageMaxMs = ageMaxMinutes < 0 ? undefined : ageMaxMinutes * minuteMs
    const fresh = { ...which, ...(ageMaxMs !== undefined && { ageMaxMs }) }
    const began = clock.now()
    const asked = await host.ask(
      averba => averba.consents.use(fresh, { commandId: `use-${id}`, basis }),
      ['NOT_FOUND', 'CONSENT_NOT_EFFECTIVE', 'OUTCOME'],
    )
    if (asked && 'value' in asked) runRecord.notify('used', { ...which, began, at: clock.now(), ageMaxMs })
  },
  async validateUnder(simulated, { id, person }, consent) {
    const input = inputOf(`under-${id}`, person)
    const under = { basis: { ...basis, consent } }
    const validate = acknowledged(simulated, input.id, averba => averba.validations.validate(input, under))
    await simulated.host.ask(validate, ['NOT_FOUND', 'CONSENT_NOT_EFFECTIVE'])
  },
  async readInFull({ host }, _, which) {
    await host.ask(averba => averba.consents.get({ ...which, ageMaxMs: 0 }), ['NOT_FOUND', 'OUTCOME'])
  },
  async logIn({ services, clock }, { person, hours }) {
    services.consentService.logIn(personOf(person).cpf, clock.now() + hours * hourMs)
  },
  async look({ host, people }, { person }) {
    const { cpf } = personOf(person)
    const codes = ['NOT_FOUND', 'OUTCOME'] as const
    await host.ask(averba => averba.consents.list({ cpf, ageMaxMs: hourMs }), codes)
    await host.ask(averba => averba.logins.state({ cpf }), codes)
    await host.ask(averba => averba.awareness.list({ cpf, ageMaxMs: hourMs }), codes)
    const which = people.consentOf(person, 0)
    if (which) await host.ask(averba => averba.consents.get({ ...which, ageMaxMs: 0 }), codes)
  },
} satisfies Partial<Performers>
