import { valueOf } from '../../src/index.ts'
import type { World } from '../../src/simulation/index.ts'
import { cpfOf } from './cpf-of.ts'

const [erased, stays, kept] = [cpfOf(1), cpfOf(2), cpfOf(3)]
const request = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }

/** Erases one of three persons, and another one except for what the law requires to keep. */
export async function eraseSamplePersons({ averba, consentService, validationService }: World): Promise<void> {
  let last = 0
  const validate = async (cpf: string) =>
    valueOf(await averba.validations.validate({ id: `absent-${++last}`, cpf, claims: { nome: 'X' } }))
  for (const cpf of [erased, stays, kept]) {
    consentService.addConsent({ cpf })
    validationService.addPerson(cpf, { nome: 'X' })
    const subject = await averba.consents.enrol({ cpf })
    valueOf(await averba.consents.sync({ subject }))
    await validate(cpf)
  }
  await averba.subjects.erase({ cpf: erased }, request)
  for (const cpf of [stays, kept]) await validate(cpf)
  await averba.subjects.erase({ cpf: kept }, { ...request, keep: ['validation.claims', 'validation.result'] })
}
