import { assign, type SnapshotFrom, setup } from 'xstate'
import type { Event, Message } from '../vocabulary/message.ts'
import { typesOf } from './definition/chart-rules.ts'
import { defineMachine, record } from './definition/define-machine.ts'
import type { Recording, UnexpectedFact } from './definition/machine.ts'

interface DaysLeft {
  /** The service that uses the certificate for authentication, or `receiver` for the receiver's own. */
  readonly service: string
  readonly daysLeft: number
}

export type CertificateEvent =
  /** Recorded when the days left reach one of the warning levels. */
  | Event<'certificate.expiring', DaysLeft>
  /** A new certificate is in use, and no warning applies. */
  | Event<'certificate.renewed', DaysLeft>
  | Event<'certificate.unexpected', UnexpectedFact>

type CertificateMessage = Message<'certificate.observe', DaysLeft>

/** The days left at which an event is recorded, once each. */
const warnings = [30, 14, 7, 3, 1]

interface CertificateContext {
  readonly daysLeft: number
}

const chart = setup({
  types: typesOf<CertificateEvent, CertificateContext>(),
  actions: {
    keepDaysLeft: assign({
      daysLeft: ({ context, event }) => ('daysLeft' in event.data ? event.data.daysLeft : context.daysLeft),
    }),
  },
}).createMachine({
  id: 'certificate',
  description: 'A certificate of ours, and the warnings before it expires.',
  on: { 'certificate.unexpected': {} },
  context: { daysLeft: 0 },
  initial: 'quiet',
  states: {
    quiet: {
      description: 'More than 30 days are left.',
      on: { 'certificate.expiring': { target: 'expiring', actions: 'keepDaysLeft' } },
    },
    expiring: {
      description: 'It expires soon: a warning was recorded at 30, 14, 7, 3 or 1 days.',
      on: {
        'certificate.expiring': { actions: 'keepDaysLeft' },
        'certificate.renewed': { target: 'quiet', actions: 'keepDaysLeft' },
      },
    },
  },
})

function decide(state: SnapshotFrom<typeof chart>, { data }: CertificateMessage): Recording<CertificateEvent> {
  const isExpiring = state.matches('expiring')
  const level = warningLevel(data.daysLeft)
  if (level === undefined) return isExpiring ? record({ type: 'certificate.renewed', data }) : record()
  // Another level than the last one: a lower one, or a higher one when the replacement also expires soon.
  if (isExpiring && warningLevel(state.context.daysLeft) === level) return record()
  return record({ type: 'certificate.expiring', data })
}

function warningLevel(daysLeft: number): number | undefined {
  return warnings.findLast(days => daysLeft <= days)
}

/** Warns before one of our certificates expires. */
export const certificateMachine = defineMachine({
  name: 'certificate',
  version: 1,
  chart,
  decide,
  facts: { 'certificate.observe': ['certificate.expiring', 'certificate.renewed'] },
})
