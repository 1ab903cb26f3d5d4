import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { openAverba } from '../../../src/index.ts'
import { averba, type RunningCommand, startCommand } from '../../support/command-line.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

// Both commands use the folder that they are called in.
const before = process.cwd()
let running: RunningCommand | undefined

afterEach(stop)
afterAll(() => process.chdir(before))

async function stop(): Promise<void> {
  running?.stop('SIGTERM')
  await running?.ended
  running = undefined
}

/** Starts `averba dev`, in an empty folder unless one is given, and waits until it says how to go on. */
async function start({
  args = [] as string[],
  cwd = temporaryFolder(),
} = {}): Promise<RunningCommand & { cwd: string }> {
  process.chdir(cwd)
  running = startCommand(['dev', ...args])
  await running.line('averba trigger')
  return { ...running, cwd }
}

const trigger = (...args: string[]) => averba('trigger', ...args)
const delivered = { code: 0, out: 'delivered\n', err: '' }

test('averba dev and averba trigger deliver a first notification', async () => {
  const { line, cwd } = await start()
  expect(await trigger('dimp-situacao-import')).toEqual(delivered)
  expect(await trigger('')).toMatchObject({ code: 1, err: expect.stringContaining('INVALID_INPUT') })
  expect(await line('received')).toBe('received dimp-situacao-import: 27 bytes, stored')
  expect(await trigger('outro')).toMatchObject({ code: 1, err: expect.stringContaining('NOT_FOUND') })
  expect(await trigger('dimp-situacao-import', '--body', '{')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/the body is not JSON\nQuote it/),
  })
  const second = await averba('dev')
  expect(second).toMatchObject({ code: 1, err: expect.stringMatching(/^REFUSED: .*already\n/) })
  expect(existsSync(join(cwd, '.averba/dev.json'))).toBe(true)
  await stop()
  expect(existsSync(join(cwd, '.averba/dev.json'))).toBe(false)
  expect(await trigger('dimp-situacao-import')).toMatchObject({
    code: 1,
    err: expect.stringContaining('averba dev does not run in this folder'),
  })
})

test.each(['', 'null', '{"control":"http://127.0.0.1:1"}'])(
  'the state file of a killed averba dev (%s) is no obstacle',
  async left => {
    const cwd = temporaryFolder()
    mkdirSync(join(cwd, '.averba'))
    writeFileSync(join(cwd, '.averba', 'dev.json'), left)
    await start({ cwd })
    expect(await trigger('dimp-situacao-import')).toEqual(delivered)
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
  const { cwd } = await start({ args: ['--to', `127.0.0.1:${port}`, '--evento', 'duex-historico'] })
  const read = (name: string) => readFileSync(join(cwd, '.averba', name))
  server.setSecureContext({ cert: read('receiver.pem'), key: read('receiver.key') })
  expect(await trigger('duex-historico', '--body', '{"tipo":"DESEMBARACADA"}')).toEqual(delivered)
  expect(bodies).toEqual(['{"tipo":"DESEMBARACADA"}'])
  expect(await trigger('duex-historico')).toMatchObject({ code: 1, out: 'not delivered: HTTP 500\n' })
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
    const { cwd } = await start({
      args: ['--to', `127.0.0.1:${port}`, '--evento', 'duex-historico', ...more],
    })
    const read = (name: string) => readFileSync(join(cwd, '.averba', name))
    server.setSecureContext({ cert: read('receiver.pem'), key: read('receiver.key') })
    const { out } = await trigger('duex-historico')
    await stop()
    return out
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
  process.chdir(temporaryFolder())
  expect(await averba('dev', '--to', '203.0.113.7:443')).toMatchObject({ code: 1 })
})
