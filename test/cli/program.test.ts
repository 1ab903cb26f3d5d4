import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { averba, countStarts, expectFailure, expectOutput, newProgram } from '../support/command-line.ts'
import { configFile } from '../support/config-file.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('an unknown command is refused with a suggestion, and a missing argument with the way to the help', async () => {
  const { err: unknown } = await expectFailure(averba('rebuidl'), /unknown command 'rebuidl'\n.*rebuild/)
  expect(unknown).not.toMatch(/^\s+at /m)
  const missing = "Cannot use the command line: missing required argument 'file'"
  const err = `INVALID_INPUT: ${missing}\naverba backup --help shows what it takes\n`
  expect(await averba('backup')).toEqual({ code: 1, out: '', err })
})

test.each([
  [['backup'], "missing required argument 'file'"],
  [['status', '--sotre', 'x'], "unknown option '--sotre'"],
  [['effects', 'retry', '--state', 'open'], '--actor is missing'],
  [['effects'], "unknown option '--json'"],
  [['effects', 'retry', 'x', '--actor'], "option '--actor <ref>' argument missing"],
])('with --json a wrong command line is an object too: %j', async (args, said) => {
  for (const language of ['en', 'pt-BR']) {
    const { code, out, err } = await averba(...args, '--json', '--lang', language)
    expect([code, out]).toEqual([1, ''])
    const hint = args[1] === '--sotre' ? '(Did you mean --store?)' : expect.any(String)
    expect(JSON.parse(err)).toEqual({ code: 'INVALID_INPUT', message: expect.stringContaining(said), hint })
  }
})

test('averba --version prints the version, and the help of every command its exit codes', async () => {
  const { version } = JSON.parse(readFileSync(resolve(import.meta.dirname, '../../package.json'), 'utf8'))
  expect(await averba('--version')).toEqual({ code: 0, out: `${version}\n`, err: '' })
  for (const command of ['backup', 'restore', 'doctor', 'erase', 'run', 'plan'])
    await expectOutput(averba(command, '--help'), 'Exit codes: 0 ')
})

test('with --json an error is one object on standard error', async () => {
  const { code, out, err } = await averba('status', '--store', join(temporaryFolder(), 'none'), '--json')
  expect([code, out]).toEqual([1, ''])
  expect(JSON.parse(err)).toEqual({
    ...{ code: 'NOT_FOUND', message: expect.stringContaining('the file is missing') },
    hint: 'Name the file of a log, or a backup of one',
  })
})

test('an error that is not one of averba is a bug: exit code 70, with its stack', async () => {
  const prepare = () => {
    throw new TypeError('x')
  }
  const config = configFile({ store: join(temporaryFolder(), 'log.sqlite'), run: { port: 0, prepare } })
  const { code, err } = await averba('run', '--config', config)
  expect(code).toBe(70)
  expect(err).toMatch(/^This is a bug in averba, or in your code that averba called: TypeError: x\n\s+at \S*prepare/)
})

function leavesOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf)
}

/** The words of every command of the command line, those of groups included. */
const commands = leavesOf(newProgram()).map(leaf => [...(leaf.parent?.parent ? [leaf.parent.name()] : []), leaf.name()])

test('every command has --json and an example in its help, and the example is a command line that parses', async () => {
  expect((await averba('--help')).code).toBe(0)
  expect(commands.length).toBeGreaterThan(40)
  for (const words of commands.filter(([first]) => first !== 'completion')) {
    const { out } = await averba(...words, '--help')
    const [, example = ''] = /^Example: (.+)$/m.exec(out) ?? []
    const name = words.join(' ')
    expect(`${example} `).toMatch(new RegExp(`^averba ${name} `))
    expect(await countStarts(example), name).toBe(1)
    expect(out, name).toContain('--json')
  }
})

test('every command on one log is told which by --store or --config, and by no argument', () => {
  const leaves = leavesOf(newProgram())
  const nameOf = (leaf: Command) => leaf.name()
  const takes = (leaf: Command, flag: string) => leaf.options.some(each => each.long === flag)
  const places = /^(store|log|from|to|backup)$/
  const named = leaves.filter(leaf => leaf.registeredArguments.some(each => places.test(each.name())))
  // These have two places.
  expect(named.map(nameOf).sort()).toEqual(['copy', 'restore'])
  const keeping = ['verify', 'export', 'prove', 'replay', 'backup', 'resume', 'rebuild', 'change-root-key']
  const all = [...keeping, 'status', 'log', 'show', 'doctor', 'erase', 'report', 'console']
  for (const leaf of leaves.filter(each => all.includes(each.name())))
    expect([leaf.name(), takes(leaf, '--store'), takes(leaf, '--config')]).toEqual([leaf.name(), true, true])
})

test('no help is wider than 80 columns, in both languages, but for command lines to copy', async () => {
  const tooWide = (help: string) =>
    help.split('\n').filter(line => line.length > 80 && !/^(Example|Exemplo): /.test(line))
  for (const language of ['en', 'pt-BR'])
    for (const words of [[], ...commands])
      expect(tooWide((await averba(...words, '--help', '--lang', language)).out), words.join(' ')).toEqual([])
})

test('a shell completes commands, subcommands and options', async () => {
  const complete = async (...words: string[]) => (await averba('completion', 'words', '--', ...words)).out.split('\n')
  expect(await complete('eff')).toEqual(['effects', ''])
  expect(await complete('effects', '')).toContain('withdraw')
  expect(await complete('effects', 'list', '--st')).toEqual(['--state', '--stream', '--store', ''])
  expect(await complete('status', '--la')).toEqual(['--lang', ''])
  expect(await complete('effects', 'list', '--state', 'p')).toEqual(['pending', 'parked', ''])
  expect(await complete('status', '--lang', '')).toEqual(['en', 'pt-BR', ''])
  for (const shell of ['bash', 'zsh', 'fish'])
    await expectOutput(averba('completion', shell), 'averba completion words')
  expect(await averba('completion', 'cmd')).toMatchObject({ code: 1 })
  // The script of bash is run.
  const { out: script } = await averba('completion', 'bash')
  const main = resolve(import.meta.dirname, '../../src/cli/main.ts')
  const run = `averba() { "${process.execPath}" --conditions=averba-source "${main}" "$@"; }
${script}
COMP_WORDS=(averba effects w); COMP_CWORD=2; _averba; echo "\${COMPREPLY[@]}"`
  expect(execFileSync('bash', ['-c', run], { encoding: 'utf8' })).toBe('withdraw\n')
})
