import { setup } from 'xstate'
import type { Event, Message, PartAddress } from '../vocabulary/message.ts'
import { typesOf } from './definition/chart-rules.ts'
import { defineMachine, record } from './definition/define-machine.ts'

/** Which parts were decrypted for a host, their owners, and the purpose. */
export interface RevealedParts {
  readonly parts: readonly PartAddress[]
  readonly owners: readonly string[]
  readonly purpose: string
  /** The record's keys were disclosed, so others can decrypt the parts. */
  readonly isDisclosed?: true
}

/** The only event of the stream, recorded before anything is decrypted. */
export type RevealEvent = Event<'reveal.recorded', RevealedParts>

type RevealMessage = Message<'reveal.record', RevealedParts>

const chart = setup({ types: typesOf<RevealEvent>() }).createMachine({
  id: 'reveal',
  description: 'The disclosure of personal data to a host, recorded before anything is decrypted.',
  initial: 'absent',
  states: {
    absent: { description: 'Nothing was disclosed.', on: { 'reveal.recorded': 'recorded' } },
    recorded: {
      description: 'It is in the log who received which parts, and why.',
      meta: { refusesAll: { refused: 'it was recorded before' } },
    },
  },
})

/** Records that parts were decrypted for a host; the event's `actor` requested it. */
export const revealMachine = defineMachine({
  name: 'reveal',
  version: 1,
  chart,
  decide: (_, { data }: RevealMessage) => record<RevealEvent>({ type: 'reveal.recorded', data }),
  commands: { 'reveal.record': ['reveal.recorded'] },
})
