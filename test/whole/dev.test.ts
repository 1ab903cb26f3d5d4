import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { openAverba } from '../../src/index.ts'

const main = resolve(import.meta.dirname, '../../src/cli/main.ts')
let child: ChildProcess | undefined

afterEach(() => {
  child?.kill('SIGKILL')
  child = undefined
})

/** Starts `averba dev`, in an empty folder unless one is given, and waits for its instructions. */
async function start({ args = [] as string[], cwd = mkdtempSync(join(tmpdir(), 'averba-dev-')) } = {}) {
  const running = spawn(process.execPath, [main, 'dev', ...args], { cwd })
  child = running
  const lines: string[] = []
  const ready = Promise.withResolvers<void>()
  createInterface({ input: running.stdout }).on('line', line => {
    lines.push(line)
    if (line.includes('averba trigger')) ready.resolve()
  })
  const ended = new Promise<number | null>(done => running.once('exit', done))
  await Promise.race([ready.promise, ended])
  const trigger = (...rest: string[]) => promisify(execFile)(process.execPath, [main, 'trigger', ...rest], { cwd })
  return { cwd, lines, trigger, running, ended }
}

test('averba dev and averba trigger deliver a first notification', async () => {
  const { lines, trigger, running, ended } = await start()
  expect((await trigger('dimp-situacao-import')).stdout).toBe('delivered\n')
  await expect(trigger('')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('INVALID_INPUT'),
  })
  await expect.poll(() => lines.at(-1)).toBe('received dimp-situacao-import: 27 bytes, stored')
  await expect(trigger('outro')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('NOT_FOUND'),
  })
  running.kill('SIGTERM')
  expect(await ended).toBe(0)
  await expect(trigger('dimp-situacao-import')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('averba dev does not run in this folder'),
  })
})

test('a second averba dev in the same folder is refused; one that was killed is no obstacle', async () => {
  const { cwd, trigger, running, ended } = await start()
  const second = promisify(execFile)(process.execPath, [main, 'dev'], { cwd })
  await expect(second).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^REFUSED: .*already\n/),
  })
  expect((await trigger('dimp-situacao-import')).stdout).toBe('delivered\n')
  running.kill('SIGKILL')
  await ended
  const next = await start({ cwd })
  expect((await next.trigger('dimp-situacao-import')).stdout).toBe('delivered\n')
})

test.each(['', 'null', '{"control":"http://127.0.0.1:1"}'])(
  'the state file of a killed averba dev (%s) is no obstacle',
  async left => {
    const cwd = mkdtempSync(join(tmpdir(), 'averba-dev-'))
    mkdirSync(join(cwd, '.averba'))
    writeFileSync(join(cwd, '.averba', 'dev.json'), left)
    const { trigger } = await start({ cwd })
    expect((await trigger('dimp-situacao-import')).stdout).toBe('delivered\n')
  },
)

test('a given receiver is notified, on any port', async () => {
  const bodies: string[] = []
  const server = createServer((incoming, outgoing) => {
    let body = ''
    incoming.on('data', chunk => {
      body += chunk
    })
    incoming.on('end', () => {
      bodies.push(body)
      outgoing.writeHead(bodies.length === 1 ? 200 : 500).end()
    })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const { cwd, trigger } = await start({ args: ['--to', `127.0.0.1:${port}`, '--evento', 'duex-historico'] })
  const read = (name: string) => readFileSync(join(cwd, '.averba', name))
  server.setSecureContext({ cert: read('receiver.pem'), key: read('receiver.key') })
  expect((await trigger('duex-historico', '--body', '{"tipo":"DESEMBARACADA"}')).stdout).toBe('delivered\n')
  expect(bodies).toEqual(['{"tipo":"DESEMBARACADA"}'])
  await expect(trigger('duex-historico')).rejects.toMatchObject({
    code: 1,
    stdout: 'not delivered: HTTP 500\n',
  })
  server.closeAllConnections()
  server.close()
})

test('a receiver of averba gets its secret, and a refused delivery is printed with advice', async () => {
  const averba = await openAverba({
    store: ':memory:',
    receiver: { publicUrl: 'https://receptor.exemplo.br/averba', sources: ['127.0.0.0/8'] },
    subscriptions: [{ evento: 'duex-historico', chaveSecreta: 'segredo' }],
  })
  const away = await openAverba({
    store: ':memory:',
    receiver: { publicUrl: 'https://receptor.exemplo.br/averba' },
    subscriptions: [{ evento: 'duex-historico', chaveSecreta: 'segredo' }],
  })
  let receiver = averba.receiver
  const server = createServer((incoming, outgoing) => receiver.listener(incoming, outgoing))
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const notify = async (...more: string[]) => {
    const { cwd, trigger, running, ended } = await start({
      args: ['--to', `127.0.0.1:${port}`, '--evento', 'duex-historico', ...more],
    })
    const read = (name: string) => readFileSync(join(cwd, '.averba', name))
    server.setSecureContext({ cert: read('receiver.pem'), key: read('receiver.key') })
    const said = await trigger('duex-historico').catch((error: { stdout: string }) => error)
    running.kill('SIGTERM')
    await ended
    return said.stdout
  }
  expect(await notify('--secret', 'segredo')).toBe('delivered\n')
  expect(await notify()).toMatch(/^not delivered: HTTP 401\n.*--secret\n$/)
  receiver = away.receiver
  expect(await notify('--secret', 'segredo')).toMatch(/^not delivered: HTTP 403\n.*sources.*\n$/)
  server.closeAllConnections()
  server.close()
  await averba.close()
  await away.close()
})

test('an address of another machine is refused', async () => {
  const { ended } = await start({ args: ['--to', '203.0.113.7:443'] })
  expect(await ended).toBe(1)
})

test.each([
  ['SIGINT', (child: ChildProcess) => child.kill('SIGINT')],
  ['the end of the pipe of whoever started it', (child: ChildProcess) => child.stdin?.end()],
])('averba dev stops cleanly on %s', async (_, stop) => {
  const { cwd, running, ended } = await start()
  expect(existsSync(join(cwd, '.averba/dev.json'))).toBe(true)
  stop(running)
  expect(await ended).toBe(0)
  expect(existsSync(join(cwd, '.averba/dev.json'))).toBe(false)
})
