import { consentDeeds } from './actions/consents.ts'
import { engineDeeds } from './actions/engines.ts'
import { keepingDeeds } from './actions/keeping.ts'
import { operationDeeds } from './actions/operations.ts'
import { portalDeeds } from './actions/portal.ts'
import { validationDeeds } from './actions/validations.ts'
import { worldDeeds } from './actions/world.ts'
import type { ConsentAddress } from './people-at-service.ts'
import type { SimulatedHost } from './simulated-host.ts'
import type { Deed, Step } from './step.ts'

/** What does each kind of deed; `which` is the consent of the step. */
export type Performers = {
  readonly [K in Deed['do']]: (
    simulated: SimulatedHost,
    step: Extract<Step, { do: K }>,
    which: ConsentAddress,
  ) => Promise<unknown>
}

const performers: Performers = {
  ...consentDeeds,
  ...engineDeeds,
  ...keepingDeeds,
  ...operationDeeds,
  ...portalDeeds,
  ...validationDeeds,
  ...worldDeeds,
}

/** Performs a step, unless it is about a consent and the person has none. */
export async function perform(simulated: SimulatedHost, step: Step): Promise<void> {
  simulated.runRecord.currentStep = `${step.do} ${step.id}`
  const which = 'consent' in step ? simulated.people.consentOf(step.person, step.consent) : undefined
  if ('consent' in step && !which) return
  const performStep = performers[step.do] as (...given: unknown[]) => Promise<unknown>
  await performStep(simulated, step, which) // The table has each performer under its deed.
}
