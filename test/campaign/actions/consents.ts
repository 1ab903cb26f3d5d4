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
  'enrol' | 'offer' | 'sync' | 'change' | 'changeThere' | 'use' | 'validateUnder' | 'look' | 'logIn' | 'readInFull'
> = {
  async enrol(box, { id, person, everyHours }) {
    const { cpf } = personOf(person)
    const commandId = `enrol-${id}`
    const every = everyHours > 0 && { syncEveryMs: everyHours * hourMs }
    const ask = { commandId, ...every, ...(box.actor && { actor: box.actor }) }
    const asked = await box.host.ask(averba => averba.consents.enrol({ cpf }, ask))
    if (asked && 'value' in asked) box.actor = { kind: 'subject', ref: asked.value }
  },
  async offer(box, { person, company, hours, isActive }) {
    const cnpj = companies[company]
    box.people.offer(person, {
      ...personOf(person),
      ...(cnpj !== undefined && { cnpj }),
      status: isActive ? 'ATIVO' : 'PENDENTE',
      expiresInMs: hours * hourMs,
    })
  },
  async sync(box, { person }) {
    const { cpf } = personOf(person)
    const since = box.clock.now()
    const asked = await box.host.ask(averba => averba.consents.sync({ cpf }), ['NOT_FOUND'])
    if (asked && 'value' in asked && asked.value.status === 'settled') box.book.notify('read', cpf, since)
  },
  async change(box, { id, person, consent, verb }) {
    const which = box.people.consentOf(person, consent)
    if (!which) return
    const commandId = `${verb}-${id}`
    await askWithAcknowledgement(
      box,
      commandId,
      averba =>
        averba.consents[verb](which, {
          ...{ commandId, reason: 'CANARIO MOTIVO' },
          ...(box.actor && { actor: box.actor }),
        }),
      ['NOT_FOUND', 'REFUSED'],
    )
  },
  async changeThere(box, { person, consent, to }) {
    const which = box.people.consentOf(person, consent)
    if (!which) return
    const status = await box.people.statusAt(which)
    if (statusTable[status]?.includes(to)) box.services.consentService.change(which.cpf, which.id, to)
  },
  async use(box, { id, person, consent, ageMaxMinutes }) {
    const which = box.people.consentOf(person, consent)
    if (!which) return
    const ageMaxMs = ageMaxMinutes < 0 ? undefined : ageMaxMinutes * minuteMs
    const fresh = ageMaxMs === undefined ? {} : { ageMaxMs }
    const began = box.clock.now()
    const asked = await box.host.ask(
      averba => averba.consents.use({ ...which, ...fresh }, { commandId: `use-${id}`, basis }),
      ['NOT_FOUND', 'CONSENT_NOT_EFFECTIVE', 'OUTCOME'],
    )
    if (asked && 'value' in asked) box.book.notify('used', { ...which, began, at: box.clock.now(), ageMaxMs })
  },
  async validateUnder(box, { id, person, consent }) {
    const which = box.people.consentOf(person, consent)
    if (!which) return
    const input = { id: `under-${id}`, cpf: which.cpf, claims: { nome: personOf(person).titular.nome } }
    await askWithAcknowledgement(
      box,
      input.id,
      averba => averba.validations.validate(input, { basis: { ...basis, consent: which } }),
      ['NOT_FOUND', 'CONSENT_NOT_EFFECTIVE'],
    )
  },
  async readInFull(box, { person, consent }) {
    const which = box.people.consentOf(person, consent)
    if (!which) return
    await box.host.ask(averba => averba.consents.get({ ...which, ageMaxMs: 0 }), ['NOT_FOUND', 'OUTCOME'])
  },
  async logIn(box, { person, hours }) {
    box.services.consentService.logIn(personOf(person).cpf, box.clock.now() + hours * hourMs)
  },
  async look(box, { person }) {
    const { cpf } = personOf(person)
    const codes = ['NOT_FOUND', 'OUTCOME'] as const
    await box.host.ask(averba => averba.consents.list({ cpf, ageMaxMs: hourMs }), codes)
    await box.host.ask(averba => averba.logins.state({ cpf }), codes)
    await box.host.ask(averba => averba.awareness.list({ cpf, ageMaxMs: hourMs }), codes)
    const which = box.people.consentOf(person, 0)
    if (which) await box.host.ask(averba => averba.consents.get({ ...which, ageMaxMs: 0 }), codes)
  },
}
