import { expect, test } from 'vitest'
import { PrintedCommands } from '../../src/cli/printed-commands.ts'
import { averba, countStarts, expectFailure, newProgram } from '../support/command-line.ts'
import { temporaryStore } from '../support/temporary-folder.ts'

/** What completes printed commands after a command line. */
async function complete(line: string): Promise<(text: string) => string> {
  const [printed, program] = [new PrintedCommands(), newProgram()]
  printed.watch(program)
  await program.parseAsync(line.split(' '), { from: 'user' })
  return text => printed.complete(text)
}

test('a printed command names the log as the user did, and works as it is', async () => {
  const onFile = await complete('status --store /a$b/x.sqlite')
  const named = "--store '/a$b/x.sqlite'"
  for (const [text, completed] of [
    ['See: averba effects list --state parked', `See: averba effects list ${named} --state parked`],
    ['averba show consent-1', `averba show ${named} consent-1`],
    ['[averba verify]', `[averba verify ${named}]`],
    ['averba erase --store <log> --actor <ref>', `averba erase ${named} --actor <ref>`],
  ] as const)
    expect(onFile(text)).toBe(completed)
  expect(await countStarts(onFile('averba show consent-1'))).toBe(1)
  // Those take no such option, say where, are the host's words or are none.
  for (const text of [
    ...['averba plan', 'averba erase --store y', '"averba status"', 'averba effects', 'this version of averba works'],
    ...['averba restore a b', '/averba status', 'averba log --help', 'averba doctor --config <file> --token'],
  ])
    expect(onFile(text)).toBe(text)
  const onServer = await complete('log --store postgres://db.local/a?schema=b --keys k')
  expect(onServer('averba backup x')).toBe("averba backup --store 'postgres://db.local/a?schema=b' x")
  expect(onServer('averba doctor')).toBe("averba doctor --store 'postgres://db.local/a?schema=b' --keys k")
  const withName = '--store postgres://a@db.local/a'
  expect((await complete(`log ${withName}`))('averba log')).toContain(withName)
  for (const secret of ['postgres://a:geheim@db.local/a', 'postgres://db.local/a?password=geheim'])
    expect((await complete(`log --store ${secret}`))('averba doctor')).toBe('averba doctor --store <log>')
  expect((await complete('plan --config c.ts'))('averba apply --hash 1')).toBe('averba apply --config c.ts --hash 1')
  expect((await complete("plan --config it's.ts"))('averba apply')).toBe(String.raw`averba apply --config 'it'\''s.ts'`)
  expect((await complete('run --config a.ts b.ts'))('averba plan')).toBe('averba plan --config <file>')
  expect((await complete('plan'))('averba apply')).toBe('averba apply')
})

test('a keyring for an open file, which has its own, is refused with what takes one', async () => {
  const given = averba('status', '--store', temporaryStore(), '--keys', 'a.keys')
  await expectFailure(given, /^INVALID_INPUT: Cannot use --keys here.*\n.* doctor, verify and export take --keys/)
  await expectFailure(averba('replay', '--keys', 'a.keys'), 'averba replay --help shows')
})

test('who names the log as an argument, or where a configuration is needed, is told the option', async () => {
  const store = temporaryStore()
  for (const line of ['status', 'log', 'effects list', 'doctor', 'verify'])
    await expectFailure(averba(...line.split(' '), store), `averba ${line} --store ${store}\n`)
  const { err } = await averba('status', 'postgres://a:geheim@db.local/a')
  expect(err).toMatch(/Expected 0 arguments but got 1\n.*: averba status --store <log>\n$/)
  for (const line of ['run', 'plan', 'consents sync'])
    await expectFailure(averba(...line.split(' '), '--store', store), `averba ${line} --config <file>\n`)
})
