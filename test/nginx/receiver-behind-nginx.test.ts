import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { tryReach } from '../../src/adapters/http/try-reach.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { freePort } from '../support/free-port.ts'
import { authority, openClient, own } from '../support/over-tls.ts'
import { root } from '../support/run-script.ts'
import { startExample } from '../support/start-example.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const service = 'consentService'

/** Starts nginx with the file of the documentation: only its port, its certificate and the host's port are others. */
async function startNginx(hostPort: number) {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'logs'))
  writeFileSync(join(folder, 'server.pem'), own.cert)
  writeFileSync(join(folder, 'server.key'), own.key)
  const port = await freePort()
  const others = {
    'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
    '/etc/ssl/hooks.example.pem': join(folder, 'server.pem'),
    '/etc/ssl/hooks.example.key': join(folder, 'server.key'),
    '127.0.0.1:3000': `127.0.0.1:${hostPort}`,
  }
  let server = readFileSync(join(root, 'docs/deploy/nginx.conf'), 'utf8')
  for (const [text, other] of Object.entries(others)) {
    expect(server).toContain(text)
    server = server.replaceAll(text, other)
  }
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const folders = kinds.map(kind => `${kind}_temp_path ${join(folder, kind)};`).join(' ')
  const errors = join(folder, 'logs/error.log')
  const main = `daemon off; master_process off; pid ${join(folder, 'pid')}; error_log ${errors} warn; events {}`
  writeFileSync(join(folder, 'nginx.conf'), `${main}\nhttp {\naccess_log off; ${folders}\n${server}}\n`)
  const args = ['-p', folder, '-c', join(folder, 'nginx.conf')]
  const nginx = spawn('nginx', args, { stdio: ['ignore', 'ignore', 'inherit'] })
  onTestFinished(() => void nginx.kill('SIGKILL'))
  const ended = once(nginx, 'exit').then(() => false)
  const listens = async (): Promise<boolean> => {
    const { detail } = await tryReach(`https://localhost:${port}/`, { service, clock: systemClock, ca: authority.ca })
    return detail.includes('ECONNREFUSED') ? listens() : true
  }
  expect(await Promise.race([ended, listens()])).toBe(true)
  return { url: `https://localhost:${port}/averba`, errors: () => readFileSync(errors, 'utf8') }
}

test('an inbox behind nginx, as the documentation configures it, sees the sender and whole bodies', async () => {
  const inbox = startExample('customs-inbox.ts', [], { HOOK_SECRET: 'do-teste' })
  const { address } = JSON.parse(await inbox.next())
  const { url, errors } = await startNginx(address.port)
  const post = async (given: { body: string; from?: string; path?: string; forged?: string }) => {
    const { body, from = '127.0.0.1', path = '', forged } = given
    const headers = {
      ...{ 'content-type': 'application/json', 'event-type': 'dimp-situacao-import', secret: 'do-teste' },
      ...(forged !== undefined && { 'x-forwarded-for': forged }),
    }
    const { fetch } = openClient({ localAddress: from })
    const answer = await fetch(new Request(`${url}${path}`, { method: 'POST', headers, body }))
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
