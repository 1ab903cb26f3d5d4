import { perform as performConsents } from './actions/consents.ts'
import { perform as performEngines } from './actions/engines.ts'
import { perform as performKeeping } from './actions/keeping.ts'
import { perform as performOperations } from './actions/operations.ts'
import { perform as performPortal } from './actions/portal.ts'
import { perform as performValidations } from './actions/validations.ts'
import { perform as performWorld } from './actions/world.ts'
import type { Box } from './box.ts'
import type { Deed, Step } from './step.ts'

/** Does one kind of deed. */
export type Perform<K extends Deed['do'] = Deed['do']> = (
  box: Box,
  step: Extract<Step, { do: K }>,
) => Promise<unknown>

export type Performs<K extends Deed['do']> = { readonly [D in K]: Perform<D> }

const performs: Performs<Deed['do']> = {
  ...performConsents,
  ...performEngines,
  ...performKeeping,
  ...performOperations,
  ...performPortal,
  ...performValidations,
  ...performWorld,
}

/** Does a step at its time. */
export async function perform(box: Box, step: Step): Promise<void> {
  box.book.doing = `${step.do} ${step.id}`
  await (performs[step.do] as Perform)(box, step) // The table has each under its own name.
}
