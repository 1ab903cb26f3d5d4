import { assign, type SnapshotFrom, setup } from 'xstate'
import type { Event, Message } from '../vocabulary/message.ts'
import { defineMachine } from './definition/define-machine.ts'
import { type Decision, type Machine, record, refuse } from './definition/machine.ts'

/** A paid call was requested; `for` is the id of the command that pays for it. */
export type BudgetEvent = Event<'budget.spent', { for: string }>

/** `max` is the host's current daily limit. */
type BudgetMessage = Message<'budget.spend', { for: string; max: number }>

const chart = setup({
  types: { context: {} as { readonly spent: number }, events: {} as BudgetEvent },
  actions: { count: assign({ spent: ({ context }) => context.spent + 1 }) },
}).createMachine({
  id: 'budget',
  context: { spent: 0 },
  initial: 'open',
  states: { open: { on: { 'budget.spent': { actions: 'count' } } } },
})

function decide(state: SnapshotFrom<typeof chart>, { data }: BudgetMessage): Decision<BudgetEvent> {
  const { spent } = state.context
  if (spent >= data.max) {
    return refuse(`${spent} paid calls were requested today, and the limit is ${data.max}`, 'BUDGET_SPENT')
  }
  return record({ type: 'budget.spent', data: { for: data.for } })
}

/** Counts the paid calls of a day. Each day has a stream, so all processes on the store share the count. */
export const budgetMachine: Machine = defineMachine({ name: 'budget', version: 1, chart, decide })
