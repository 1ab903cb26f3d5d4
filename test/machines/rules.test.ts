import { describe, expect, test } from 'vitest'
import { toMachineTable } from '../../src/machines/definition/machine-table.ts'
import { machines } from '../../src/machines/machines.ts'
import { compileMachine, type PossibleStates } from '../../src/proof/compiled-machine.ts'
import type { RecordedHeader } from '../../src/proof/recorded-header.ts'
import type { Event, Message } from '../../src/vocabulary/message.ts'
import { explore } from './explore.ts'
import { samples } from './samples.ts'

/** Decisions that depend on more than the state: the table allows them, and the machine refuses some. */
const byContext = [
  'budget.spend',
  'token.request',
  'notification.replay',
  'validation.repeat',
  'consent.use',
  'consent.denyInstead',
  'subject.release',
]

const headerOf = (event: Event, causedBy: string) =>
  ({ parts: [], effects: [], ...event, causedBy, data: event.data ?? {} }) as unknown as RecordedHeader // The verifier reads no more.

function pathsOf(value: unknown, path = ''): string[] {
  if (typeof value === 'string') return [path + value]
  return Object.entries(value as object).flatMap(([name, inner]) => pathsOf(inner, `${path}${name}.`))
}

test('every machine has samples', () => {
  const names = machines.map(each => each.name).sort()
  expect(samples.map(each => each.machine.name).sort(), 'add the machine to samples.ts').toEqual(names)
})

describe.each(samples.map(sample => ({ ...sample, name: sample.machine.name })))(
  'the table of $name',
  ({ machine, messages }) => {
    const table = toMachineTable(machine)
    const compiled = compileMachine(JSON.parse(JSON.stringify(table)))
    if (!compiled) throw new Error('The table cannot be read')
    const { start, findViolation: judge, statesAfter: move } = compiled
    const reached = explore(machine, messages).map(each => {
      const standing = each.events.reduce((at: PossibleStates, event) => move(at, headerOf(event, '')), start)
      return { ...each, standing }
    })

    test('leads to the same states as the chart', () => {
      for (const { state, standing } of reached) {
        for (const [i, path] of pathsOf(state.value).entries()) expect(standing.regions[i]).toContain(path)
      }
      const isSure = ({ regions }: PossibleStates) => regions.every(states => states.length === 1)
      expect(reached.filter(({ standing }) => isSure(standing)).length).toBeGreaterThan(0)
    })

    test('accepts every decision of the machine', () => {
      for (const { state, standing } of reached) {
        for (const message of messages) {
          const decision = machine.decide(state, message)
          if ('refused' in decision) continue
          decision.events.reduce((at, event) => {
            const header = headerOf(event, message.type)
            expect(judge(at, header), `${message.type} in ${at.key}`).toBeUndefined()
            return move(at, header)
          }, standing)
        }
      }
    })

    test('rejects every command that the machine refuses', () => {
      const refused = (message: Message) => reached.filter(({ state }) => 'refused' in machine.decide(state, message))
      for (const message of messages.filter(each => !byContext.includes(each.type))) {
        for (const { standing } of refused(message)) {
          for (const rule of table.makes[message.type] ?? []) {
            const header = headerOf({ type: rule.event, data: rule.if ?? {} }, message.type)
            const hint = 'where the state alone does not decide it, add it to byContext'
            expect(judge(standing, header), `${message.type} in ${standing.key}: ${hint}`).toBeDefined()
          }
        }
      }
    })

    test('has a sample of every message, and no other messages are sampled', () => {
      const sampled = new Set(messages.map(message => message.type))
      expect([...sampled].sort(), 'the samples and the rules').toEqual(Object.keys(table.makes).sort())
    })

    test('names only events, states, effects and messages of the machine', () => {
      const states = new Set(reached.flatMap(({ standing }) => standing.regions.flat()))
      const made = new Set(
        reached.flatMap(({ state }) =>
          messages.flatMap(message => {
            const decision = machine.decide(state, message)
            return 'events' in decision ? decision.events.map(event => `${message.type} ${event.type}`) : []
          }),
        ),
      )
      const inTable = Object.entries(table.makes).flatMap(([cause, rules]) =>
        rules.map(rule => ({ place: `${cause} ${rule.event}`, rule })),
      )
      for (const place of made) expect(inTable.map(each => each.place)).toContain(place)
      for (const { rule } of inTable) {
        for (const state of rule.in ?? [])
          expect(
            [...states].some(each => each === state || each.startsWith(`${state}.`)),
            state,
          ).toBe(true)
      }
    })
  },
)

test('a full reading that a list requests, because the history contradicts it, is accepted', () => {
  const consent = machines.find(each => each.name === 'consent') as (typeof machines)[0] // It is there.
  const compiled = compileMachine(JSON.parse(JSON.stringify(toMachineTable(consent))))
  const reading = { status: 'ATIVO', createdAt: null, expiresAt: null, controller: null }
  const listed = { ...reading, consent: 'c', subject: 's', askedAt: '2026-11-22T12:00:00.000Z' }
  const history = [{ status: 'REVOGADO', since: '2026-11-20T12:00:00.000Z' }]
  let state = consent.initial
  let standing = compiled?.start as PossibleStates
  const told = []
  for (const message of [
    { type: 'consent.observe', data: listed },
    { type: 'consentService.consentRead', data: { ...reading, history } },
    { type: 'consent.observe', data: listed },
  ]) {
    const decision = consent.decide(state, message)
    for (const event of 'events' in decision ? decision.events : []) {
      const header = headerOf(event, message.type)
      expect(compiled?.findViolation(standing, header)).toBeUndefined()
      standing = compiled?.statesAfter(standing, header) ?? standing
      state = consent.evolve(state, event)
      told.push(event.type)
    }
  }
  expect(told).toEqual(['consent.appeared', 'consent.described', 'consent.detailRequested'])
})

test('an invalid table is not compiled', () => {
  const table = toMachineTable(machines[0] as (typeof machines)[0]) // There are machines.
  for (const wrong of [
    null,
    [],
    {},
    { ...table, name: 1 },
    { ...table, start: 'open' },
    { ...table, moves: { open: { x: 1 } } },
    { ...table, makes: { x: [{}] } },
    { ...table, makes: { x: [{ event: 'x', in: 'open' }] } },
  ])
    expect(compileMachine(wrong)).toBeUndefined()
})
