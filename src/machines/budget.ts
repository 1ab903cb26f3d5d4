import { assign, type SnapshotFrom, setup } from 'xstate'
import type { Event, Message } from '../vocabulary/message.ts'
import { defineMachine } from './definition/define-machine.ts'
import { type Decision, type Machine, record, refuse } from './definition/machine.ts'

// Events

/** One paid call of the day was asked for, by the id of what pays. */
export type BudgetEvent = Event<'budget.spent', { for: string }>

// Commands

/** `max` is the day's limit, as the host has set it now. */
type BudgetMessage = Message<'budget.spend', { for: string; max: number }>

// Chart

const chart = setup({
  types: { context: {} as { readonly spent: number }, events: {} as BudgetEvent },
  actions: { count: assign({ spent: ({ context }) => context.spent + 1 }) },
}).createMachine({
  id: 'budget',
  context: { spent: 0 },
  initial: 'open',
  states: { open: { on: { 'budget.spent': { actions: 'count' } } } },
})

// Decide

function decide(state: SnapshotFrom<typeof chart>, { data }: BudgetMessage): Decision<BudgetEvent> {
  const { spent } = state.context
  if (spent >= data.max) {
    return refuse(
      `${spent} paid calls were asked for today, and no more than ${data.max} may be`,
      'BUDGET_SPENT',
    )
  }
  return record({ type: 'budget.spent', data: { for: data.for } })
}

/** The paid calls of one day: a stream for each day, so that every process of the file counts the same. */
export const budgetMachine: Machine = defineMachine({ name: 'budget', version: 1, chart, decide })
