import { valueOf } from '../../src/index.ts'
import type { World } from '../../src/simulation/index.ts'
import { cpfOf } from '../crash/cpf-of.ts'

const [erased, stays, kept] = [cpfOf(1), cpfOf(2), cpfOf(3)]
const asked = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }

/**
 * Lets parts be missing in a store: one person is erased, and of another the law has kept some. Of a third everything
 * is there, between the two.
 */
export async function eraseSamplePersons({
  averba,
  consentService,
  validationService,
}: World): Promise<void> {
  let last = 0
  const validate = async (cpf: string) => {
    last += 1
    valueOf(await averba.validations.validate({ id: `absent-${last}`, cpf, claims: { nome: 'X' } }))
  }
  for (const cpf of [erased, stays, kept]) {
    consentService.addConsent({ cpf })
    validationService.addPerson(cpf, { nome: 'X' })
    const subject = await averba.consents.enrol({ cpf })
    valueOf(await averba.consents.sync({ subject }))
    await validate(cpf)
  }
  await averba.subjects.erase({ cpf: erased }, asked)
  for (const cpf of [stays, kept]) await validate(cpf)
  await averba.subjects.erase({ cpf: kept }, { ...asked, keep: ['validation.claims', 'validation.result'] })
}
