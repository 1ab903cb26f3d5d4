import { assign, type SnapshotFrom, setup } from 'xstate'
import type { Event, Message } from '../vocabulary/message.ts'
import { defineMachine } from './definition/define-machine.ts'
import { type Machine, record } from './definition/machine.ts'

// Events

interface DaysLeft {
  /** The service that the certificate is shown to, or `receiver` for the receiver's own. */
  readonly service: string
  readonly daysLeft: number
}

/** What is recorded of a certificate as its end comes near. */
export type CertificateEvent =
  /** It ends soon: said when fewer days are left than one of the warnings. */
  | Event<'certificate.expiring', DaysLeft>
  /** Another one is in use, and no warning holds any longer. */
  | Event<'certificate.renewed', DaysLeft>

// Facts from outside

type CertificateMessage = Message<'certificate.observe', DaysLeft>

/** The days left at which an event is recorded, each once. */
const warnings = [30, 14, 7, 3, 1]

// Chart

interface CertificateContext {
  readonly daysLeft: number
}

const chart = setup({
  types: { context: {} as CertificateContext, events: {} as CertificateEvent },
  actions: { keep: assign({ daysLeft: ({ event }) => event.data.daysLeft }) },
}).createMachine({
  id: 'certificate',
  context: { daysLeft: 0 },
  initial: 'quiet',
  states: {
    quiet: { on: { 'certificate.expiring': { target: 'expiring', actions: 'keep' } } },
    expiring: {
      on: {
        'certificate.expiring': { actions: 'keep' },
        'certificate.renewed': { target: 'quiet', actions: 'keep' },
      },
    },
  },
})

// Decide

function decide(state: SnapshotFrom<typeof chart>, { data }: CertificateMessage) {
  const isExpiring = state.matches('expiring')
  const level = warningLevel(data.daysLeft)
  if (level === undefined)
    return isExpiring ? record({ type: 'certificate.renewed', data } as const) : record()
  // A shorter warning than the last one; or a longer one, when the replacement ends soon as well.
  if (isExpiring && warningLevel(state.context.daysLeft) === level) return record()
  return record({ type: 'certificate.expiring', data } as const)
}

function warningLevel(daysLeft: number): number | undefined {
  return warnings.findLast(days => daysLeft <= days)
}

/** A certificate of ours, as its end comes near. */
export const certificateMachine: Machine = defineMachine({ name: 'certificate', version: 1, chart, decide })
