import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { averba } from '../support/command-line.ts'
import { configFile } from '../support/config-file.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('an unknown command is refused with a suggestion and without a stack', async () => {
  const { code, err } = await averba('rebuidl')
  expect(code).toBe(1)
  expect(err).toMatch(/unknown command 'rebuidl'\n.*rebuild.*\n+averba --help shows every command/)
  expect(err).not.toMatch(/^\s+at /m)
})

test('a missing argument is refused with the way to the help', async () => {
  expect(await averba('backup')).toEqual({
    code: 1,
    out: '',
    err: "error: missing required argument 'store'\naverba --help shows every command.\n",
  })
})

test('averba --version prints the version, and the help of every command its exit codes', async () => {
  const { version } = JSON.parse(readFileSync(resolve(import.meta.dirname, '../../package.json'), 'utf8'))
  expect(await averba('--version')).toEqual({ code: 0, out: `${version}\n`, err: '' })
  for (const command of ['backup', 'restore', 'doctor', 'erase', 'run', 'plan'])
    expect(await averba(command, '--help')).toMatchObject({ code: 0, out: expect.stringMatching(/Exit codes: 0 /) })
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
