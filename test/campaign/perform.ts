import { perform as performConsents } from './actions/consents.ts'
import { perform as performEngines } from './actions/engines.ts'
import { perform as performKeeping } from './actions/keeping.ts'
import { perform as performOperations } from './actions/operations.ts'
import { perform as performPortal } from './actions/portal.ts'
import { perform as performValidations } from './actions/validations.ts'
import { perform as performWorld } from './actions/world.ts'
import type { SimulatedHost } from './simulated-host.ts'
import type { Deed, Step } from './step.ts'

/** Does one kind of deed. */
export type Perform<K extends Deed['do'] = Deed['do']> = (
  simulated: SimulatedHost,
  step: Extract<Step, { do: K }>,
) => Promise<unknown>

export type Performers<K extends Deed['do']> = { readonly [D in K]: Perform<D> }

const performers: Performers<Deed['do']> = {
  ...performConsents,
  ...performEngines,
  ...performKeeping,
  ...performOperations,
  ...performPortal,
  ...performValidations,
  ...performWorld,
}

/** Performs a step. */
export async function perform(simulated: SimulatedHost, step: Step): Promise<void> {
  simulated.runRecord.currentStep = `${step.do} ${step.id}`
  await (performers[step.do] as Perform)(simulated, step) // The table has each performer under its deed.
}
