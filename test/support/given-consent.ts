import { type Consent, valueOf } from '../../src/index.ts'
import type { World, WorldOptions } from '../../src/simulation/index.ts'
import { openWorld } from './world.ts'

/** Enrols and reads the sample subject of a world, and finds one consent of it. */
export async function readConsent({ averba: { consents }, samples }: World, status: 'PENDENTE' | 'ATIVO' = 'ATIVO') {
  const subject = await consents.enrol({ cpf: samples.cpf })
  valueOf(await consents.sync({ subject }))
  const [found] = await consents.list({ subject, status })
  const consent = found as Consent // The samples have one of each.
  return { subject, consent, which: { subject, id: consent.id } }
}

/** A world with an enrolled and read subject, and one consent of it. */
export async function givenConsent(
  status: 'PENDENTE' | 'ATIVO',
  intercept?: NonNullable<WorldOptions['intercept']>,
  options: WorldOptions = {},
) {
  const world = await openWorld({ ...options, ...(intercept && { intercept }) })
  return { ...world, world, ...(await readConsent(world, status)) }
}
