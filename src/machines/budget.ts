import type { Event, Message } from '../vocabulary/message.ts'
import { defineDecider, record, refuse } from './definition/define-machine.ts'
import type { Decision } from './definition/machine.ts'

/** A paid call was requested; `for` is the id of the command that pays for it. */
export type BudgetEvent = Event<'budget.spent', { for: string }>

/** `max` is the host's current daily limit. */
type BudgetMessage = Message<'budget.spend', { for: string; max: number }>

function decide(spent: number, { data }: BudgetMessage): Decision<BudgetEvent> {
  if (spent >= data.max)
    return refuse(`${spent} paid calls were requested today, and the limit is ${data.max}`, 'BUDGET_SPENT')
  return record({ type: 'budget.spent', data: { for: data.for } })
}

/** Counts the paid calls of a day. Each day has a stream, so all processes on the store share the count. */
export const budgetMachine = defineDecider({
  name: 'budget',
  description: 'The paid calls of one day, which all processes on the store count together.',
  version: 1,
  initial: 0,
  evolve: spent => spent + 1,
  decide,
  commands: { 'budget.spend': ['budget.spent'] },
})
