import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { SimulationAddresses } from '../../src/cli/commands/simulate.ts'
import { run } from '../support/run-script.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type CommandProcess, main, startAverba } from './run-averba.ts'

const running: CommandProcess[] = []

afterEach(async () => {
  for (const { child } of running) child.kill('SIGKILL')
  await Promise.all(running.splice(0).map(({ ended }) => ended))
})

function start(args: readonly string[]): CommandProcess {
  const started = startAverba(args)
  running.push(started)
  return started
}

/** Runs a command in a shell: `"$@"` is `averba`. It has a code unless that is 0. */
async function shell(script: string, ...args: string[]): Promise<{ code?: number; stdout: string; stderr: string }> {
  const command = ['-c', script, 'sh', process.execPath, ...main, ...args]
  return run('bash', command).catch(error => error)
}

test('averba simulate stops at the end of the process that started it, and deletes its keys', async () => {
  const command = start(['simulate', '--json'])
  const { consentService }: SimulationAddresses = JSON.parse(await command.line('{'))
  expect(existsSync(consentService.key)).toBe(true)
  command.child.stdin?.end()
  expect(await command.ended).toMatchObject({ code: 0, err: '' })
  expect(existsSync(consentService.key)).toBe(false)
})

test('averba simulate stops when the npx that started it is stopped', async () => {
  const args = ['-c', '"$@"; true', 'sh', process.execPath, ...main, 'simulate', '--json']
  const env = { ...process.env, npm_command: 'exec' }
  const npx = spawn('bash', args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const [text] = (await once(npx.stdout, 'data')) as [Buffer] // As node writes it.
  const { consentService }: SimulationAddresses = JSON.parse(String(text))
  expect(existsSync(consentService.key)).toBe(true)
  npx.kill('SIGTERM')
  await once(npx.stdout, 'close')
  expect(existsSync(consentService.key)).toBe(false)
})

function startWith(command: string, text: string): CommandProcess {
  const file = join(temporaryFolder(), 'averba.config.ts')
  writeFileSync(file, text)
  return start([command, '--config', file])
}

/** Starts `averba run` with this code in its `prepare`. */
const startRun = (prepare: string) =>
  startWith('run', `export default { store: ':memory:', run: { port: 0, async prepare(averba) { ${prepare} } } }`)

describe('averba run', () => {
  test('ends at once on a second signal', async () => {
    // A follower that never ends keeps the process alive.
    const run = startRun(`
      averba.log.follow('stuck', ['subject.enrolled'], () => new Promise(() => console.log('stuck')))
      await averba.consents.enrol({ cpf: '25774435016' })`)
    await run.line('stuck')
    run.child.kill('SIGINT')
    await run.line('"signal":"SIGINT"')
    run.child.kill('SIGTERM')
    const { code, out } = await run.ended
    expect(code).toBe(143)
    expect(out).not.toContain('"stopped"')
  })

  test('continues when its output pipe is closed, and ends on a signal although a timer would go on', async () => {
    const run = startRun(`
      setInterval(() => undefined, 1_000)
      process.on('SIGUSR2', () => console.log('a line'))`)
    const { port } = JSON.parse(await run.line('"message":"listening"'))
    run.child.stdout?.destroy()
    run.child.kill('SIGUSR2')
    await expect.poll(run.err).toContain('Cannot write the output (EPIPE): continuing without it')
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
    run.child.kill('SIGTERM')
    expect((await run.ended).code).toBe(0)
  })
})

test('a closed output pipe is no error', async () => {
  const { code, stdout, stderr } = await shell('"$@" | head -n 1', 'demo')
  expect([code, stdout.trim().split('\n').length, stderr]).toEqual([undefined, 1, ''])
})

test('a full disk under the output is an error', async () => {
  const error = 'Cannot write the output (ENOSPC)\n'
  expect(await shell('"$@" > /dev/full', '--help')).toMatchObject({ code: 1, stdout: '', stderr: error })
})

test.each([
  ['init', 'averba.config.ts'],
  ['simulate', ''],
])('averba %s on a full disk reports it, and leaves no file that makes the next run fail', async (name, file) => {
  const dir = join(temporaryFolder(), 'new')
  const { code, stderr } = await shell(`trap '' XFSZ; ulimit -S -f 0; exec "$@"`, name, '--dir', dir)
  expect(code).toBe(1)
  expect(stderr).toMatch(/^STORE_UNSAFE: Cannot \w+ ".*": EFBIG\n/)
  expect(existsSync(join(dir, file))).toBe(false)
})

test.each([
  [
    'cannot be read as a module',
    'export default {',
    /it throws SyntaxError\nIts package.json needs the type module \(npm pkg set type=module\)\. /,
  ],
  [
    'imports a missing package',
    "import 'no-such-package'",
    /a package or file that it imports is missing\nInstall what .*: npm install no-such-package/,
  ],
])('a configuration that %s is reported, with exit code 1', async (_, text, error) => {
  const { code, err } = await startWith('plan', text).ended
  expect([code, err]).toEqual([1, expect.stringMatching(/^MISCONFIGURED: Cannot load /)])
  expect(err).toMatch(error)
})
