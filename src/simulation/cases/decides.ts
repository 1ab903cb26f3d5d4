import type { Events } from '../../api/events.ts'
import { machines } from '../../machines/machines.ts'
import type { ErrorCode } from '../../vocabulary/errors.ts'
import { checkKnownNames } from '../../vocabulary/known-names.ts'
import type { Event, Message } from '../../vocabulary/message.ts'
import { checkExpectation, checkTypes, type MembersOf, typesIn } from './check-case.ts'
import { ExpectationError, type ExpectedValue, isMatcher, meets } from './expectation.ts'

/** The machines of averba, by the name that their messages and events begin with. */
export type MachineName = Exclude<
  keyof Events extends infer T ? (T extends `${infer N}.${string}` ? N : never) : never,
  'log'
>

type AnyMachine = (typeof machines)[number]

/** What a machine answers: the events to record, or why it refuses. */
export type DecisionAnswer =
  | { readonly events: readonly Event[] }
  | { readonly refused: string; readonly code?: ErrorCode }

/** An event that a machine knows, as a test gives it. */
export type GivenEvent = {
  [T in keyof Events]: Pick<Event<T, Events[T]>, 'type' | 'data' | 'anomaly'>
}[keyof Events]

/** One decision of a machine. */
export interface MachineCase {
  readonly machine: MachineName
  /** What had happened: the stream as it stands in the log. */
  readonly given?: readonly GivenEvent[]
  /** Commands and facts that the machine decides first, and has to accept. */
  readonly after?: readonly Message[]
  /** The command, or the fact from outside, to be decided. */
  readonly when: Message
  /** The expected answer: these events and no others, or a refusal. */
  readonly expected?:
    | { readonly events: readonly ExpectedValue<Event>[] }
    | { readonly refused: string | RegExp; readonly code?: ErrorCode }
}

const caseMembers: MembersOf<keyof MachineCase> = {
  machine: true,
  given: true,
  after: true,
  when: true,
  expected: true,
}
const answerMembers = { events: true, refused: true, code: true } as const

/**
 * Asks a machine what it decides, and compares the answer with the one expected. Pure: nothing is opened, and no time
 * passes. Returns the answer.
 *
 * @throws {ExpectationError} when the answer differs
 * @throws {TypeError} when an event is given that the machine does not have, refuses a message of `after`, or
 * has no such message; and when the case has other members, its `expected` expects nothing, or it names an event that
 * no machine records
 *
 * @example
 * ```ts
 * decides({
 *   machine: 'validation',
 *   after: [{ type: 'validation.request', data: { validation: 'v', id: 'pedido', subject: 's' } }],
 *   when: { type: 'validationService.lost', data: {} },
 *   expected: { events: [{ type: 'validation.inconclusive' }] },
 * })
 * ```
 */
export function decides(asked: MachineCase): DecisionAnswer {
  checkCase(asked)
  const { machine: name, given = [], after = [], when, expected } = asked
  const machine = machineOf(name)
  let state = machine.initial
  checkTypes(typesIn(given))
  for (const event of given) {
    if (!event.type.startsWith(`${name}.`))
      throw new TypeError(`The machine ${name} has no event ${event.type}`)
    state = machine.evolve(state, event)
  }
  for (const message of after) {
    const answer = ask(machine, state, message)
    if ('refused' in answer) throw new TypeError(`It refuses ${message.type}: ${answer.refused}`)
    for (const event of answer.events) state = machine.evolve(state, event)
  }
  const answer: DecisionAnswer = ask(machine, state, when)
  if (expected) compare(`the answer of ${name} to ${when.type}`, answer, expected)
  return answer
}

/** A test that cannot fail is refused. */
function checkCase(asked: MachineCase): void {
  checkKnownNames(asked, Object.keys(caseMembers), { noun: 'member', of: 'a case of decides' })
  const { expected } = asked
  if (expected === undefined || typeof expected === 'function' || isMatcher(expected)) return
  checkExpectation('decides', expected, answerMembers)
  if ('events' in expected) checkTypes(typesIn(expected.events))
}

/** An acceptance in place of a refusal, or the reverse, is told in words before anything is compared. */
function compare(what: string, answer: DecisionAnswer, expected: NonNullable<MachineCase['expected']>): void {
  if ('refused' in expected && 'events' in answer) {
    const types = answer.events.map(each => each.type).join(', ') || 'no event'
    throw new ExpectationError(
      `Expected ${what} to be a refusal, and it was accepted: ${types}`,
      expected,
      answer,
    )
  }
  if ('events' in expected && 'refused' in answer) {
    const reason = `${answer.refused}${answer.code === undefined ? '' : ` (${answer.code})`}`
    throw new ExpectationError(
      `Expected ${what} to be events, and it was refused: ${reason}`,
      expected,
      answer,
    )
  }
  meets(what, answer, expected)
}

/** What a machine answers to the last of some messages, after it accepted the others. Throws as `decides` does. */
export function answerOf(machine: MachineName, ...messages: readonly Message[]): DecisionAnswer {
  const when = messages.at(-1)
  if (!when) throw new TypeError('There is no message to decide')
  return decides({ machine, after: messages.slice(0, -1), when })
}

/** Asks a machine. One that does not know the message decides nothing at all. */
function ask(machine: AnyMachine, state: AnyMachine['initial'], message: Message): DecisionAnswer {
  const answer: DecisionAnswer | undefined = machine.decide(state, message)
  if (answer) return answer
  throw new TypeError(`The machine ${machine.name} has no message ${message.type}`)
}

function machineOf(name: MachineName): AnyMachine {
  const machine = machines.find(each => each.name === name)
  if (machine) return machine
  throw new TypeError(`There is no machine ${name}: there are ${machines.map(each => each.name).join(', ')}`)
}
