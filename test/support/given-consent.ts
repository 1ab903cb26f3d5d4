import { type Consent, valueOf } from '../../src/index.ts'
import type { WorldOptions } from '../../src/simulation/index.ts'
import { openWorld } from './world.ts'

/** A world with an enrolled and read subject, and one consent of it. */
export async function givenConsent(
  status: 'PENDENTE' | 'ATIVO',
  intercept?: NonNullable<WorldOptions['intercept']>,
  options: WorldOptions = {},
) {
  const world = await openWorld({ ...options, ...(intercept && { intercept }) })
  const subject = await world.averba.consents.enrol({ cpf: world.samples.cpf })
  valueOf(await world.averba.consents.sync({ subject }))
  const [consent] = await world.averba.consents.list({ subject, status })
  return { world, subject, consent: consent as Consent } // The samples have one of each.
}
