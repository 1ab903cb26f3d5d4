import { assign, type SnapshotFrom, setup } from 'xstate'
import type { Event, Message } from '../vocabulary/message.ts'
import { defineMachine } from './definition/define-machine.ts'
import { type Machine, record } from './definition/machine.ts'

interface DaysLeft {
  /** The service that uses the certificate for authentication, or `receiver` for the receiver's own. */
  readonly service: string
  readonly daysLeft: number
}

/** The events of a certificate that expires soon. */
export type CertificateEvent =
  /** Recorded when the days left reach one of the warning levels. */
  | Event<'certificate.expiring', DaysLeft>
  /** A new certificate is in use, and no warning applies. */
  | Event<'certificate.renewed', DaysLeft>

type CertificateMessage = Message<'certificate.observe', DaysLeft>

/** The days left at which an event is recorded, once each. */
const warnings = [30, 14, 7, 3, 1]

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

function decide(state: SnapshotFrom<typeof chart>, { data }: CertificateMessage) {
  const isExpiring = state.matches('expiring')
  const level = warningLevel(data.daysLeft)
  if (level === undefined) return isExpiring ? record({ type: 'certificate.renewed', data } as const) : record()
  // Another level than the last one: a lower one, or a higher one when the replacement also expires soon.
  if (isExpiring && warningLevel(state.context.daysLeft) === level) return record()
  return record({ type: 'certificate.expiring', data } as const)
}

function warningLevel(daysLeft: number): number | undefined {
  return warnings.findLast(days => daysLeft <= days)
}

/** Warns before one of our certificates expires. */
export const certificateMachine: Machine = defineMachine({ name: 'certificate', version: 1, chart, decide })
