import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, expect, test } from 'vitest'
import { averba, averbaJson, expectFailure, startCommand } from '../../support/command-line.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openEngine } from '../../support/world.ts'

// Both commands use the folder that they are called in.
const before = process.cwd()
afterAll(() => process.chdir(before))

/** Starts `averba dev`, in an empty folder unless one is given, and waits until it says how to go on. */
async function start(args: readonly string[] = [], cwd = temporaryFolder()) {
  process.chdir(cwd)
  const running = startCommand(['dev', ...args])
  await running.line(args.includes('--json') ? '"control"' : 'averba trigger')
  return { ...running, cwd }
}

const trigger = (...args: string[]) => averba('trigger', ...args)
const delivered = { code: 0, out: 'delivered\n', err: '' }

test.each(['dev', 'simulate'])('averba %s stops on a signal that comes while it starts', async name => {
  process.chdir(temporaryFolder())
  const command = startCommand([name])
  // Its certificates are not made yet.
  await Promise.resolve()
  expect(await command.stop('SIGTERM')).toMatchObject({ code: 0, err: '' })
})

test('averba dev and averba trigger deliver a first notification', async () => {
  const { line, cwd, stop } = await start()
  expect(await trigger('dimp-situacao-import')).toEqual(delivered)
  expect(await averbaJson('trigger', 'dimp-situacao-import')).toMatchObject({ deliveries: [{ isDelivered: true }] })
  await expectFailure(trigger(''), 'INVALID_INPUT')
  expect(await line('received')).toBe('received dimp-situacao-import: 27 bytes, stored')
  await expectFailure(trigger('outro'), 'NOT_FOUND')
  await expectFailure(trigger('dimp-situacao-import', '--body', '{'), /the body is not JSON\nQuote it/)
  await expectFailure(averba('dev'), /^REFUSED: .*already\n/)
  expect(existsSync(join(cwd, '.averba/dev.json'))).toBe(true)
  await stop('SIGTERM')
  expect(existsSync(join(cwd, '.averba/dev.json'))).toBe(false)
  await expectFailure(trigger('dimp-situacao-import'), 'averba dev does not run in this folder')
  for (const to of ['203.0.113.7:443', 'localhost:99999']) await expectFailure(averba('dev', '--to', to), to)
})

const left = ['', 'null', '{"control":"http://127.0.0.1:1"}']
test.each(left)('the state file of a killed averba dev (%s) is no obstacle', async text => {
  const cwd = temporaryFolder()
  mkdirSync(join(cwd, '.averba'))
  writeFileSync(join(cwd, '.averba', 'dev.json'), text)
  const { line } = await start(['--json'], cwd)
  expect(await trigger('dimp-situacao-import')).toEqual(delivered)
  expect(JSON.parse(await line('received'))).toEqual({ received: 'dimp-situacao-import', bodyBytes: 27 })
})

/** A receiver on this machine. Returns a function that lets `averba dev` notify it. */
async function openReceiver(listener: RequestListener) {
  const server = createServer(listener)
  const to = `127.0.0.1:${await listenUntilEnd(server)}`
  return async (...args: string[]) => {
    const running = await start(['--to', to, '--evento', 'duex-historico', ...args])
    const read = (name: string) => readFileSync(join(running.cwd, '.averba', name))
    server.setSecureContext({ cert: read('receiver.pem'), key: read('receiver.key') })
    return running
  }
}

test('a given receiver is notified, on any port', async () => {
  const bodies: string[] = []
  const notifyIt = await openReceiver(async (incoming, outgoing) => {
    bodies.push(await text(incoming))
    outgoing.writeHead(bodies.length === 1 ? 200 : 500).end()
  })
  await notifyIt()
  expect(await trigger('duex-historico', '--body', '{"tipo":"DESEMBARACADA"}')).toEqual(delivered)
  expect(bodies).toEqual(['{"tipo":"DESEMBARACADA"}'])
  expect(await trigger('duex-historico')).toMatchObject({ code: 1, out: 'not delivered: HTTP 500\n' })
})

test('a receiver of averba gets its secret, and a refused delivery is printed with advice', async () => {
  const subscriptions = [{ evento: 'duex-historico', chaveSecreta: 'segredo' }]
  const publicUrl = 'https://receptor.exemplo.br/averba'
  const open = (given: object) => openEngine({ store: ':memory:', receiver: { publicUrl, ...given }, subscriptions })
  let { receiver } = await open({ sources: ['127.0.0.0/8'] })
  const notifyIt = await openReceiver((incoming, outgoing) => receiver.listener(incoming, outgoing))
  const triggered = async (...args: string[]) => {
    const { stop } = await notifyIt(...args)
    const { out } = await trigger('duex-historico')
    await stop('SIGTERM')
    return out
  }
  expect(await triggered('--secret', 'segredo')).toBe('delivered\n')
  expect(await triggered()).toMatch(/^not delivered: HTTP 401\n.*--secret\n$/)
  receiver = (await open({})).receiver
  expect(await triggered('--secret', 'segredo')).toMatch(/^not delivered: HTTP 403\n.*sources.*\n$/)
  await start(['--to', 'localhost:1', '--evento', 'duex-historico'])
  expect((await trigger('duex-historico')).out).toMatch(/^not delivered: .*\n.*start your receiver.*\n$/)
})
