import { expect, test } from 'vitest'
import { commandsOf, nameCommands } from '../../src/pages/name-commands.ts'
import { portugueseMessages } from '../../src/pages/portuguese-messages.ts'
import { countStarts, newProgram } from '../support/command-line.ts'
import { cpuMs } from '../support/cpu-ms.ts'

test('a hint for an operator names commands, with their options, where the library names functions', () => {
  for (const [said, named] of [
    ['1 parked: see effects.retry', '1 parked: see averba effects retry'],
    ["see effects.list({ state: 'unknown' }) for all", 'see averba effects list --state unknown for all'],
    ['call notifications.replay({ failed: true })', 'call averba notifications replay --failed --actor <ref>'],
    ['Correct it, then effects.retry("sub-1/2/0")', 'Correct it, then averba effects retry sub-1/2/0 --actor <ref>'],
    ['compare by subscriptions.plan()', 'compare by averba plan'],
    ['use log.retry("x") or log.skip', 'use averba followers retry x --actor <ref> or averba followers skip'],
  ] as const)
    expect(nameCommands(said)).toBe(named)
})

test('what the host named is never changed, and a long text takes no time', async () => {
  for (const said of [
    'see log.moved, constructor.name and averba.rebuildIndex',
    'Cannot open "/tmp/log.skip": it does not exist',
    'Cannot open "/tmp/effects.list/averba.sqlite"',
    "unknown command 'effects.list'",
    'the address https://log.retry/x, my-effects.list.csv and effects.list.csv',
  ])
    expect(nameCommands(said)).toBe(said)
  const name = 'a'.repeat(50_000)
  for (const long of [`effects.list(${name})`, `effects.list({ ${name}`, `"${name}`, `'${name}.${name}`, `${name}.`])
    expect(await cpuMs(() => nameCommands(long))).toBeLessThan(50)
})

test('the options that a hint names are those of the command', async () => {
  const replay = 'notifications.replay({ failed: true })'
  for (const said of ["effects.list({ state: 'unknown' })", replay, 'effects.retry("a/1/0")'])
    expect(await countStarts(nameCommands(said)), said).toBe(1)
})

/** What a text for an operator names although no command does it, since a program has to; and an event. */
const withoutCommand = [
  ...['consents.enrol', 'subjects.receipt', 'subjects.hold', 'log.follow', 'log.read', 'audit.processing'],
  'log.began',
]

test('a text for operators names no other function', () => {
  const functions = /\b(?:consents|effects|validations|notifications|subscriptions|subjects|audit|log)\.[a-zA-Z]+/g
  const named = Object.keys(portugueseMessages).flatMap(text => nameCommands(text).match(functions) ?? [])
  expect(new Set(named)).toEqual(new Set(withoutCommand))
})

test('every command that a hint names is there', () => {
  const known = newProgram().commands.flatMap(group => {
    return [group.name(), ...group.commands.map(leaf => `${group.name()} ${leaf.name()}`)]
  })
  expect(Object.values(commandsOf).filter(each => !known.includes(each))).toEqual([])
})
