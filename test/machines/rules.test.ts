import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AnyMachineSnapshot } from 'xstate'
import { consentMachine } from '../../src/machines/consent/consent.ts'
import { chartOf, takingRule } from '../../src/machines/definition/chart-rules.ts'
import type { Machine, MachineState } from '../../src/machines/definition/machine.ts'
import { toMachineTable } from '../../src/machines/definition/machine-table.ts'
import { machines } from '../../src/machines/machines.ts'
import { type CompiledMachine, compileMachine, type PossibleStates } from '../../src/proof/decision-checker.ts'
import type { RecordedHeader } from '../../src/proof/recorded-header.ts'
import type { Event } from '../../src/vocabulary/message.ts'
import { eventsOf, explore, statePaths } from './explore.ts'
import { namedSamples } from './samples.ts'

const headerOf = (event: Event, causedBy: string) =>
  ({ parts: [], effects: [], ...event, causedBy, data: event.data ?? {} }) as unknown as RecordedHeader // The verifier reads no more.

function compile(machine: Machine): CompiledMachine {
  const compiled = compileMachine(JSON.parse(JSON.stringify(toMachineTable(machine))))
  if (!compiled) throw new Error('The table cannot be read')
  return compiled
}

/** Whether the chart takes an event. A machine without a chart takes all of its events. */
function takesOf(machine: Machine): (state: MachineState, event: Event) => boolean {
  const chart = chartOf(machine)
  const refusalOf = chart && takingRule(chart)
  return (state, event) => refusalOf?.(state as AnyMachineSnapshot, event) === undefined // From `explore`.
}

test('every machine has samples', () => {
  expect(namedSamples.map(each => each.name).sort()).toEqual(machines.map(each => each.name).sort())
})

describe.each(namedSamples)('the table of $name', ({ machine, messages }) => {
  const table = toMachineTable(machine)
  const takes = takesOf(machine)
  const { start, findViolation, statesAfter } = compile(machine)
  const reached = explore(machine, messages).map(each => ({
    ...each,
    states: each.events.reduce((at: PossibleStates, event) => statesAfter(at, headerOf(event, '')), start),
  }))
  /** Every event that is recorded in a reached state, with its cause and the states before it. */
  const recorded = reached.flatMap(({ state, states }) =>
    messages.flatMap(message => {
      let before = states
      return eventsOf(machine, state, message).map(event => {
        const each = { event, before, causedBy: message.type }
        before = statesAfter(before, headerOf(event, message.type))
        return each
      })
    }),
  )

  /** Where the table knows the state of each region. */
  const sure = reached.filter(({ states }) => states.regions.every(possible => possible.length === 1))

  test('leads to the same states as the chart', () => {
    for (const { state, states } of reached) {
      for (const [i, path] of statePaths(state.value).entries()) expect(states.regions[i]).toContain(path)
    }
    expect(sure.length).toBeGreaterThan(0)
  })

  test('accepts every decision', () => {
    expect(recorded.length).toBeGreaterThan(0)
    for (const { event, before, causedBy } of recorded)
      expect(findViolation(before, headerOf(event, causedBy)), `${causedBy} in ${before.regions}`).toBeUndefined()
  })

  test('rejects every event of a command or fact where the chart refuses it', () => {
    const isUnsure = (type: string) => Object.values(table.moves).some(of => of[type]?.some(move => move.perhaps))
    // The same event is recorded in many states.
    const different = new Map(recorded.map(each => [JSON.stringify([each.event, each.causedBy]), each])).values()
    for (const { event, causedBy } of different) {
      const refusing = isUnsure(event.type) ? [] : sure.filter(({ state }) => !takes(state, event))
      for (const { states } of refusing)
        expect(findViolation(states, headerOf(event, causedBy)), `${event.type} in ${states.regions}`).toBeDefined()
    }
  })

  test('rejects an event with an effect that it does not list', () => {
    for (const { event, before, causedBy } of recorded) {
      const effects = [...(event.effects ?? []), { type: 'portal.unlisted', data: {} }]
      expect(findViolation(before, headerOf({ ...event, effects }, causedBy))).toContain('may not request')
    }
  })

  test('rejects an event of another command or fact', () => {
    for (const { event, before } of recorded)
      expect(findViolation(before, headerOf(event, 'other.command'))).toContain('does not lead to')
  })

  test('accepts an unexpected fact in every state, if it is marked as an anomaly', () => {
    const type = `${machine.name}.unexpected`
    for (const fact of machine.chart ? Object.keys(machine.messages.facts) : []) {
      for (const { states } of reached) {
        expect(findViolation(states, headerOf({ type, data: {}, anomaly: 'it is new' }, fact))).toBeUndefined()
        expect(findViolation(states, headerOf({ type, data: {} }, fact))).toContain('not marked as an anomaly')
      }
    }
  })

  test('in any order, no fact is refused, and chart and table take all that is recorded', () => {
    const step = fc.record({ message: fc.constantFrom(...messages), isStale: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), steps => {
        let [state, states] = [machine.initial, start]
        for (const { message, isStale } of steps) {
          const decision = machine.decide(state, isStale ? { ...message, isStale } : message)
          if (Object.hasOwn(machine.messages.facts, message.type)) expect(decision).not.toHaveProperty('refused')
          for (const event of 'events' in decision ? decision.events : []) {
            expect(takes(state, event)).toBe(true)
            const header = headerOf(event, message.type)
            expect(findViolation(states, header)).toBeUndefined()
            state = machine.evolve(state, event)
            states = statesAfter(states, header)
          }
        }
      }),
      { numRuns: 300 },
    )
  })
})

describe('the table of consent', () => {
  const { start, findViolation, statesAfter } = compile(consentMachine)
  const appeared = { type: 'consent.appeared', data: { status: 'ATIVO' } }
  const requested = (status: string) => ({ type: 'consent.changeRequested', data: { status } })
  const statesOf = (...events: Event[]) => events.reduce((at, event) => statesAfter(at, headerOf(event, '')), start)

  test('rejects a consent that appears although it is listed, and one that is described before it appears', () => {
    const revoked = { ...appeared, data: { status: 'REVOGADO' } }
    const appears = headerOf(appeared, 'consent.observe')
    expect(findViolation(statesOf(revoked), appears)).toContain('in this state')
    expect(findViolation(statesOf(revoked, { type: 'consent.vanished', data: {} }), appears)).toBeUndefined()
    for (const type of ['consent.described', 'consent.conflicted']) {
      const described = headerOf({ ...appeared, type }, 'consentService.consentRead')
      expect(findViolation(start, described)).toContain('in this state')
    }
  })

  test('rejects an event whose data belongs to another command', () => {
    const violation = findViolation(statesOf(appeared), headerOf(requested('REVOGADO'), 'consent.approve'))
    expect(violation).toBe('"consent.approve" leads to another "consent.changeRequested"')
  })
})

test('an invalid table is not compiled', () => {
  const table = toMachineTable(consentMachine)
  expect(compileMachine(table)).toBeDefined()
  for (const wrong of [
    null,
    [],
    {},
    { ...table, name: 1 },
    { ...table, version: '1' },
    { ...table, start: 'open' },
    { ...table, moves: { open: { x: 1 } } },
    { ...table, moves: { open: 'x' } },
    { ...table, moves: { open: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [i, [{ to: `s${i}` }]])) } },
    { ...table, moves: { open: { x: Array(21).fill({}) } } },
    { ...table, makes: { x: [{}] } },
    { ...table, makes: { x: [{ event: 'x', if: 'open' }] } },
    { ...table, effects: { x: 'y' } },
    { ...table, effects: undefined },
  ])
    expect(compileMachine(wrong)).toBeUndefined()
})
