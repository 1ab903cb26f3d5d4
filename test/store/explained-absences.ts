import { archiveParts, restoreParts, valueOf } from '../../src/index.ts'
import type { World } from '../../src/simulation/index.ts'
import { cpfOf } from '../crash/cpf-of.ts'
import { newPath } from './sample-store.ts'

const [moved, stays, kept] = [cpfOf(1), cpfOf(2), cpfOf(3)]
const asked = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }

/**
 * Lets parts be missing in a store for every reason there is, but for retention: some moved out, and the person erased
 * that others of them were of; some came back; of one person the law has kept some.
 */
export async function explainAbsences(world: World, store: string): Promise<void> {
  const { averba, clock, consentService, validationService } = world
  let last = 0
  const validate = async (cpf: string) => {
    last += 1
    valueOf(await averba.validations.validate({ id: `absent-${last}`, cpf, claims: { nome: 'X' } }))
  }
  const archive = async () => {
    const bundle = newPath()
    await archiveParts({ store, before: '2100-01-01', to: bundle, clock })
    return bundle
  }
  for (const cpf of [moved, stays, kept]) {
    consentService.addConsent({ cpf })
    validationService.addPerson(cpf, { nome: 'X' })
    const subject = await averba.consents.enrol({ cpf })
    valueOf(await averba.consents.sync({ subject }))
    await validate(cpf)
  }
  await archive()
  await averba.subjects.erase({ cpf: moved }, asked)
  for (const cpf of [stays, kept]) await validate(cpf)
  await restoreParts({ store, from: await archive(), clock })
  await averba.subjects.erase({ cpf: kept }, { ...asked, keep: ['validation.claims', 'validation.result'] })
}
