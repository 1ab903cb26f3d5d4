import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openClient } from '../support/over-tls.ts'
import { root } from '../support/run-script.ts'
import { startExample } from '../support/start-example.ts'
import { startNginx } from './start-nginx.ts'

/** The file of the documentation: only its port, its certificate and the host's port are others. */
function documentedServer(port: number, hostPort: number): string {
  const others = {
    'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
    '/etc/ssl/hooks.example.pem': 'server.crt',
    '/etc/ssl/hooks.example.key': 'server.key',
    '127.0.0.1:3000': `127.0.0.1:${hostPort}`,
  }
  const documented = readFileSync(join(root, 'docs/deploy/nginx.conf'), 'utf8')
  return Object.entries(others).reduce((text, [its, other]) => {
    expect(text).toContain(its)
    return text.replaceAll(its, other)
  }, documented)
}

test('an inbox behind nginx, as the documentation configures it, sees the sender and whole bodies', async () => {
  const inbox = startExample('customs-inbox.ts', [], { HOOK_SECRET: 'do-teste' })
  const { address } = JSON.parse(await inbox.next())
  const { url, errors } = await startNginx(port => documentedServer(port, address.port))
  const post = async (given: { body: string; from?: string; path?: string; forged?: string }) => {
    const { body, from = '127.0.0.1', path = '', forged } = given
    const headers = {
      ...{ 'content-type': 'application/json', 'event-type': 'dimp-situacao-import', secret: 'do-teste' },
      ...(forged !== undefined && { 'x-forwarded-for': forged }),
    }
    const { fetch } = openClient({ localAddress: from })
    const answer = await fetch(new Request(`${url}averba${path}`, { method: 'POST', headers, body }))
    return { status: answer.status, text: await answer.text() }
  }
  const told = (numero: string, bytes = 0) =>
    JSON.stringify({ numero, situacao: 'REGISTRADA', more: 'x'.repeat(bytes) })

  expect(await post({ body: told('26BR1') })).toEqual({ status: 200, text: '' })
  expect(await inbox.next()).toBe('26BR1 is REGISTRADA')
  // Nothing of it lies in a file of nginx.
  expect(await post({ body: told('26BR2', 900_000) })).toEqual({ status: 200, text: '' })
  expect(await inbox.next()).toBe('26BR2 is REGISTRADA')
  expect(errors()).not.toContain('temporary file')

  // By the address that nginx saw, whatever the sender claims.
  expect((await post({ body: told('26BR3'), from: '127.9.9.9' })).status).toBe(403)
  expect((await post({ body: told('26BR3'), from: '127.9.9.9', forged: '127.0.0.1' })).status).toBe(403)
  expect((await post({ body: told('26BR3'), forged: '127.9.9.9' })).status).toBe(200)
  expect(await inbox.next()).toBe('26BR3 is REGISTRADA')

  // averba refuses what is too large for it, nginx what is far too large. averba closes the connection before it has read
  // everything, and nginx may see that before the answer: then it answers 502.
  expect([413, 502]).toContain((await post({ body: told('26BR4', 1_100_000) })).status)
  expect((await post({ body: told('26BR5', 2_200_000) })).text).toContain('nginx')
  expect((await post({ body: told('26BR6'), path: '/more' })).status).toBe(404)

  // A host that is down is an error to the portal, which keeps a failure record.
  await inbox.end()
  expect((await post({ body: told('26BR7') })).status).toBe(502)
})
