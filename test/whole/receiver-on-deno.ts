/** A receiver behind Deno.serve on a SQLite file, with a handler. Prints what happened as one JSON object. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openAverba } from '../../src/index.ts'

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
  store: join(mkdtempSync(join(tmpdir(), 'averba-deno-')), 'log.sqlite'),
  subscriptions: [{ evento, chaveSecreta: 'certa' }],
  receiver: { publicUrl: 'https://receptor.exemplo.br/averba', sources: ['127.0.0.1/32'] },
})
const handled: unknown[] = []
averba.notifications.handle(evento, 'crm', async ({ body }) => void handled.push(body))

const server = deno.serve({ hostname: '127.0.0.1', port: 0, onListen: () => undefined }, (request, info) =>
  averba.receiver.fetch(request, { remoteAddress: info.remoteAddr.hostname }),
)
const statuses: number[] = []
for (const secret of ['certa', 'errada', 'certa']) {
  const answer = await fetch(`http://127.0.0.1:${server.addr.port}/averba`, {
    method: 'POST',
    headers: { 'event-type': evento, secret },
    body: '{"numero":"26BR1"}',
  })
  statuses.push(answer.status)
}
await server.shutdown()
await averba.settle()

const states: unknown[] = []
for await (const { state, copies } of averba.notifications.list()) states.push({ state, copies })
await averba.close()
console.log(JSON.stringify({ statuses, handled, states }))
