import assert from 'node:assert/strict'
import type { Events } from '../../api/events.ts'
import { machines } from '../../machines/machines.ts'
import type { ErrorCode } from '../../vocabulary/errors.ts'
import type { Event, Message } from '../../vocabulary/message.ts'
import { checkKnownNames } from '../../vocabulary/names.ts'
import { assertExpected, assertNamed, checkEventTypes, checkExpectation, type ExpectedValue } from './expectation.ts'

/** The name of a machine: its messages and events begin with it. */
export type MachineName = Exclude<
  keyof Events extends infer T ? (T extends `${infer N}.${string}` ? N : never) : never,
  'log'
>

/** The answer of a machine: the events to record, or why it refuses. */
export type DecisionAnswer =
  | { readonly events: readonly Event[] }
  | { readonly refused: string; readonly code?: ErrorCode }

/** An event as a test gives it: without stream, position and time. */
export type GivenEvent = {
  [T in keyof Events]: Pick<Event<T, Events[T]>, 'type' | 'data' | 'anomaly'>
}[keyof Events]

/** One decision of a machine, for `decides`. */
export interface MachineCase {
  readonly machine: MachineName
  /** The events of the stream so far. */
  readonly given?: readonly GivenEvent[]
  /** Messages that the machine decides first and must accept. */
  readonly after?: readonly Message[]
  /** The message to decide: a command, or a fact from outside. */
  readonly when: Message
  /** The expected answer: exactly these events, or a refusal. */
  readonly expected?:
    | { readonly events: readonly ExpectedValue<Event>[] }
    | { readonly refused: string | RegExp; readonly code?: ErrorCode }
}

const caseMembers: readonly (keyof MachineCase)[] = ['machine', 'given', 'after', 'when', 'expected']

/**
 * Lets a machine decide a message, compares its answer with the expected one, and returns it. It is pure: it opens no
 * store, and no time passes.
 *
 * @throws {AssertionError} of `node:assert`, when the answer differs
 * @throws {TypeError} when the machine does not know an event or a message, or refuses a message of `after`; when
 * `expected` is empty, or names an event that no machine records
 * @throws {AverbaError} `INVALID_INPUT` when the case has an unknown member
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
export function decides(machineCase: MachineCase): DecisionAnswer {
  checkKnownNames(machineCase, caseMembers, { noun: 'member', of: 'a case of decides' })
  const { machine: name, given = [], after = [], when, expected } = machineCase
  if (expected !== undefined) checkExpectation('decides', expected, ['events', 'refused', 'code'])
  if (expected && 'events' in expected) checkEventTypes(expected.events)
  const machine = findMachine(name)
  let state = machine.initial
  checkEventTypes(given)
  for (const event of given) {
    if (!event.type.startsWith(`${name}.`)) throw new TypeError(`The machine ${name} has no event ${event.type}`)
    state = machine.evolve(state, event)
  }
  for (const message of after) {
    const answer = machine.decide(state, message)
    if ('refused' in answer) throw new TypeError(`The machine ${name} refuses ${message.type}: ${answer.refused}`)
    for (const event of answer.events) state = machine.evolve(state, event)
  }
  const answer = machine.decide(state, when)
  if (expected) compareAnswer(`the answer of ${name} to ${when.type}`, answer, expected)
  return answer
}

/** Compares an answer. An acceptance in place of a refusal, or the reverse, has its own message. */
function compareAnswer(what: string, answer: DecisionAnswer, expected: NonNullable<MachineCase['expected']>): void {
  if ('events' in answer) {
    const types = answer.events.map(each => each.type).join(', ') || 'no event'
    if ('refused' in expected) assert.fail(`Expected ${what} to be a refusal, but it was accepted: ${types}`)
    assertExpected(`the events of ${what}`, answer.events, expected.events)
    return
  }
  if ('events' in expected) {
    const reason = `${answer.refused}${answer.code === undefined ? '' : ` (${answer.code})`}`
    assert.fail(`Expected ${what} to be events, but it was refused: ${reason}`)
  }
  const { refused, code } = expected
  assertNamed(what, () => {
    if (typeof refused === 'string') assert.equal(answer.refused, refused)
    else assert.match(answer.refused, refused)
    if (code !== undefined) assert.equal(answer.code, code)
  })
}

/** Returns a machine's answer to the last message, after it accepted the others. Throws as `decides` does. */
export function answerOf(machine: MachineName, ...messages: readonly Message[]): DecisionAnswer {
  const when = messages.at(-1)
  if (!when) throw new TypeError('Cannot decide: no message is given')
  return decides({ machine, after: messages.slice(0, -1), when })
}

function findMachine(name: MachineName): (typeof machines)[number] {
  const machine = machines.find(each => each.name === name)
  if (machine) return machine
  const names = machines.map(each => each.name).join(', ')
  throw new TypeError(`Unknown machine ${name}. Known machines: ${names}`)
}
