import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { root, run, toolPath } from '../support/run-script.ts'
import { folderInPackage } from '../support/temporary-folder.ts'

const page = readFileSync(join(root, 'docs/deno.md'), 'utf8')
const deno = toolPath('deno')
const always = ['--no-prompt', '--no-check', '--no-lock', '--node-modules-dir=manual', '--conditions=averba-source']
const env = { ...process.env, NO_COLOR: '1' }

/** Writes a block of the page to a file in a folder of its own. */
function writeBlock(name: string, file: string) {
  const folder = folderInPackage()
  const [, code = ''] = new RegExp(`^\`\`\`ts deno ${name}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page) ?? []
  writeFileSync(join(folder, file), code)
  return { folder, path: join(folder, file) }
}

/** The permissions in the row of the table that begins so. */
function flagsFor(use: string): string[] {
  const [row = ''] = page.match(new RegExp(`^\\| ${use} \\|.*$`, 'm')) ?? []
  const flags = row.match(/--allow-[^\s`]+/g) ?? []
  expect(flags.length).toBeGreaterThan(0)
  return flags
}

test('the test of the page passes with the permissions that it names', async () => {
  const { path } = writeBlock('test', 'consents_test.ts')
  const flags = flagsFor('a simulation in memory')
  const { stdout } = await run(deno, ['test', ...always, ...flags, path], { cwd: root, env })
  expect(stdout).toMatch(/1 passed \(?.*0 failed/)
})

test('Deno replaces a variable in an environment file, unless the value is in single quotes', async () => {
  const file = join(folderInPackage(), 'own.env')
  writeFileSync(file, "OPEN=a$AVERBA_OTHER-x\nQUOTED='a$AVERBA_OTHER-x'\n")
  const code = "console.log(Deno.env.get('OPEN'), Deno.env.get('QUOTED'))"
  const printed = run(deno, ['eval', `--env-file=${file}`, code], { env: { ...env, AVERBA_OTHER: 'b' } })
  expect((await printed).stdout).toBe('ab-x a$AVERBA_OTHER-x\n')
})

test('the receiver of the page stores, handles and stops, and a missing permission is said in the words of Deno', async () => {
  const { folder, path } = writeBlock('receiver', 'receiver.ts')
  const log = flagsFor('a log').filter(flag => !/read|write/.test(flag))
  const own = [`--allow-write=${folder}`, '--allow-net=127.0.0.1', '--allow-env=AVERBA_STORE']
  const store = join(folder, 'inbox.sqlite')
  const started = spawn(deno, ['run', ...always, ...log, ...own, '--allow-read=.', path], {
    ...{ cwd: root, env: { ...env, AVERBA_STORE: store }, stdio: ['ignore', 'pipe', 'pipe'] },
  })
  const ended = once(started, 'exit')
  const lines: string[] = []
  const seen = (what: RegExp) =>
    new Promise<string>((resolve, reject) => {
      for (const output of [started.stdout, started.stderr])
        createInterface({ input: output }).on('line', line => {
          lines.push(line)
          const [, found] = what.exec(line) ?? []
          if (found !== undefined) resolve(found)
        })
      started.on('exit', () => reject(new Error(lines.join('\n'))))
    })
  const handled = seen(/^handled (.*)$/)
  const address = await seen(/Listening on (http:\S+)/)
  const recipient = { 'destinatario-tipo': 'CNPJ', 'destinatario-id': '12ABC34501DE35' }
  const headers = { 'event-type': 'dimp-situacao-import', ...recipient }
  const { status } = await fetch(`${address}averba`, { method: 'POST', headers, body: '{"numero":"26BR1"}' })
  expect(status).toBe(200)
  expect(await handled).toBe('{"numero":"26BR1"}')
  started.kill('SIGTERM')
  expect(await ended).toEqual([0, null])

  const main = join(root, 'src/cli/main.ts')
  const without = ['run', ...always, '--allow-write', '--allow-env', main, 'status', '--store', store]
  const denied = run(deno, without, { cwd: root, env: { ...env, LANG: 'C' } })
  const said = expect.stringMatching(/^MISCONFIGURED: Cannot go on: Deno does not permit it\nRequires .* access/)
  await expect(denied).rejects.toMatchObject({ code: 1, stderr: said })
})

test('a missing permission is an error of averba that names the flag, for a host and for a call', async () => {
  const [denied, permitted] = [folderInPackage(), folderInPackage()]
  const flags = [...always, '--allow-read', `--allow-write=${permitted}`]
  const script = join(root, 'test/package/denied-on-deno.ts')
  const stores = [denied, permitted].map(folder => join(folder, 'inbox.sqlite'))
  const { stdout } = await run(deno, ['run', ...flags, script, ...stores], { cwd: root, env })
  const message = expect.stringContaining('Deno does not permit')
  const missing = (flag: string) => ({ code: 'MISCONFIGURED', message, hint: expect.stringContaining(flag) })
  expect(JSON.parse(stdout)).toEqual({
    opened: missing('--allow-write'),
    exported: missing('--allow-write'),
    listened: missing('net access to "127.0.0.1:8443", run again with the --allow-net'),
    listenedByName: missing('net access to "localhost", run again with the --allow-net'),
    called: { code: '--allow-env', message },
    writing: expect.objectContaining({ ok: true }),
  })
})
