import { expect, test } from 'vitest'
import { createSay } from '../../src/cli/language.ts'
import { createProgram } from '../../src/cli/program.ts'
import { commandsOf, nameCommands } from '../../src/pages/name-commands.ts'

test('a hint for an operator names commands, with their options, where the library names functions', () => {
  for (const [said, named] of [
    ['1 parked: see effects.retry', '1 parked: see averba effects retry'],
    ["see effects.list({ state: 'unknown' }) for all", 'see averba effects list --state unknown for all'],
    ['then call notifications.replay({ parked: true })', 'then call averba notifications replay --parked'],
    ['Correct it, then effects.retry("sub-1/2/0")', 'Correct it, then averba effects retry sub-1/2/0'],
    ['compare by subscriptions.plan()', 'compare by averba plan'],
    ['use log.retry or log.skip', 'use averba followers retry or averba followers skip'],
    [
      'see log.moved, constructor.name and averba.rebuildIndex',
      'see log.moved, constructor.name and averba.rebuildIndex',
    ],
  ] as const)
    expect(nameCommands(said)).toBe(named)
})

test('every command that a hint names is there', () => {
  const terminal = { say: createSay('en'), stdout: process.stdout, stderr: process.stderr }
  const program = createProgram(terminal as never, async () => undefined) // Nothing else of it is used.
  const known = program.commands.flatMap(each => [
    each.name(),
    ...each.commands.map(leaf => `${each.name()} ${leaf.name()}`),
  ])
  expect(Object.values(commandsOf).filter(each => !known.includes(each))).toEqual([])
})
