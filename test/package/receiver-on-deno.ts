import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openAverba } from '../../src/index.ts'
import { temporaryStore } from '../support/temporary-folder.ts'

/** What is used of Deno: its types are not those of Node. */
interface Deno {
  serve(
    options: { hostname: string; port: number; onListen: () => void },
    handle: (request: Request, info: { remoteAddr: { hostname: string } }) => Promise<Response>,
  ): { addr: { port: number }; shutdown(): Promise<void> }
}
const { Deno: deno } = globalThis as unknown as { Deno: Deno } // This script runs on Deno only.

const evento = 'dimp-situacao-import'
const averba = await openAverba({
  store: temporaryStore(),
  subscriptions: [{ evento, chaveSecreta: 'certa' }],
  receiver: { publicUrl: 'https://receptor.exemplo.br/averba', sources: ['127.0.0.1/32'] },
})
const handled: unknown[] = []
averba.notifications.handle(evento, 'crm', async ({ body }) => void handled.push(body))

async function post(port: number, secret = 'certa', body = '{"numero":"26BR1"}'): Promise<number> {
  const headers = { 'event-type': evento, secret, connection: 'close' }
  const answer = await fetch(`http://127.0.0.1:${port}/averba`, { method: 'POST', headers, body })
  await answer.text()
  return answer.status
}

/** Some hosts forget the body of a request. */
let isForgetful = false
const server = deno.serve({ hostname: '127.0.0.1', port: 0, onListen: () => undefined }, (request, info) => {
  const { url, method, headers } = request
  const passed = isForgetful ? new Request(url, { method, headers }) : request
  return averba.receiver.fetch(passed, { remoteAddress: info.remoteAddr.hostname })
})
const statuses: number[] = []
for (const secret of ['certa', 'errada', 'certa']) statuses.push(await post(server.addr.port, secret))
isForgetful = true
const forgotten = await post(server.addr.port, 'certa', '{"numero":"26BR2"}')
await server.shutdown()

/** What stands in front of the listener, and lets the body flow or reads of it. */
const middlewares: Record<string, (incoming: IncomingMessage) => Promise<unknown> | undefined> = {
  log: incoming => void incoming.on('data', () => undefined),
  drain: incoming => void incoming.resume(),
  decode: incoming => void incoming.setEncoding('utf8'),
  read: incoming => new Promise(resolve => incoming.once('data', resolve)),
}
const listened: Record<string, number> = {}
for (const [name, before] of Object.entries(middlewares)) {
  const nodeServer = createServer((incoming, outgoing) => {
    const waiting = before(incoming)
    if (waiting) waiting.then(() => averba.receiver.listener(incoming, outgoing))
    else averba.receiver.listener(incoming, outgoing)
  })
  await new Promise<void>(resolve => nodeServer.listen(0, '127.0.0.1', resolve))
  const { port } = nodeServer.address() as AddressInfo // It listens on a port.
  listened[name] = await post(port, 'certa', JSON.stringify({ numero: `não ${name}` }))
  nodeServer.close()
}
await averba.settle()

const states = await Array.fromAsync(averba.notifications.list(), ({ state, copies }) => ({ state, copies }))
await averba.close()
console.log(JSON.stringify({ statuses, forgotten, listened, handled, states }))
