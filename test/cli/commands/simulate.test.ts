import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { expect, test } from 'vitest'
import type { SimulationAddresses } from '../../../src/cli/commands/simulate.ts'
import { requiredVariables } from '../../../src/cli/load-config.ts'
import { configTemplate, staticHeaders, valueOf } from '../../../src/index.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { averba, expectFailure, failedWith, startCommand } from '../../support/command-line.ts'
import { freePort } from '../../support/free-port.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { openClient } from '../../support/over-tls.ts'
import { run } from '../../support/run-script.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openEngine } from '../../support/world.ts'

/** Starts `averba simulate --json`, and reads its first line. */
async function start(...options: string[]) {
  const command = startCommand(['simulate', '--json', ...options])
  const addresses: SimulationAddresses = JSON.parse(await command.line('{'))
  const { consentService, portal, control, samples } = addresses
  const read = (path: string) => readFileSync(path, 'utf8')
  const certificate = { cert: read(consentService.cert), key: read(consentService.key) }
  const ca = read(addresses.ca)
  const socket = openClient({ ca, certificate })
  const ask = async (url: string, init: RequestInit = {}) => {
    const response = await socket.fetch(new Request(url, init))
    return { status: response.status, body: await response.json().catch(() => undefined) }
  }
  return {
    ...{ ...command, addresses, ask, certificate, ca },
    /** The address of the sample person's consents. */
    list: `${consentService.baseUrl}/consentimento/v1/consentimentos/${samples.cpf}`,
    control: async (path: string, body?: object) => {
      const init = body && { method: 'POST', body: JSON.stringify(body) }
      const response = await fetch(`${control.baseUrl}${path}`, init)
      return { status: response.status, body: await response.json() }
    },
    askPortal: (path = '', method = 'GET', body?: object) => {
      const headers = { ...portal.headers, 'content-type': 'application/json' }
      const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
      return ask(`${portal.baseUrl}/portal/api/ext/webhook${path}`, init)
    },
  }
}

test('the first line has all addresses, a host works with them, and the variables of averba init are written', async () => {
  const { addresses, certificate, ca } = await start()
  const { consentService, tokenService, validationService, portal } = addresses
  const text = expect.any(String)
  const baseUrl = expect.stringMatching(/^https:\/\/localhost:\d+$/)
  expect(addresses).toEqual({
    consentService: { baseUrl, ca: text, cert: text, key: text },
    tokenService: {
      url: expect.stringMatching(/^https:\/\/localhost:\d+\/token$/),
      ...{ consumerKey: text, consumerSecret: text },
    },
    validationService: { baseUrl: text, service: text },
    portal: { baseUrl: text, headers: expect.any(Object) },
    control: { baseUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) },
    receiver: { cert: text, key: text },
    ca: consentService.ca,
    samples: { cpf: '25774435016', cnpj: '12ABC34501DE35' },
    env: expect.stringMatching(/averba\.env$/),
  })
  const written = readFileSync(addresses.env, 'utf8')
  const env = parseEnv(written)
  // What Docker reads: everything after the first =, quotes included.
  const raw = Object.fromEntries(written.split('\n').flatMap(line => (line ? [line.split(/=(.*)/s, 2)] : [])))
  expect(raw).toEqual(env)
  expect(requiredVariables(await configTemplate()).filter(name => !env[name])).toEqual([])
  const averba = await openEngine({
    store: ':memory:',
    consentService: { baseUrl: consentService.baseUrl, ca, certificate },
    tokenService: { ...tokenService, ca },
    validationService: { ...validationService, ca },
    portal: { baseUrl: portal.baseUrl, ca, authenticate: staticHeaders({ ...portal.headers }) },
  })
  const { cpf } = addresses.samples
  expect(valueOf(await averba.consents.sync({ subject: await averba.consents.enrol({ cpf }) })).read).toBe(4)
  expect(valueOf(await averba.validations.validate({ id: 'a', cpf, claims: { sexo: 'F' } })).state).toBe('answered')
  expect((await averba.subscriptions.plan()).changes).toEqual([])
})

test('fixed ports and another name are used for all services, the control server and the certificates', async () => {
  const port = await freePort()
  const own = ['--port', `${port}`, '--host', '127.0.0.2']
  const { addresses, control, ask, list } = await start(...own, '--name', '127.0.0.2')
  const { consentService, tokenService, validationService, portal } = addresses
  const services = [consentService.baseUrl, tokenService.url, validationService.baseUrl, portal.baseUrl]
  const hosts = [...services, addresses.control.baseUrl].map(each => new URL(each).host)
  expect(hosts).toEqual([0, 1, 2, 3, 4].map(i => `127.0.0.2:${port + i}`))
  expect((await ask(list)).status).toBe(200)
  expect((await control('/faults', { kind: 'status', times: 1 })).status).toBe(200)
  expect((await ask(list)).status).toBe(500)
  await expectFailure(averba('simulate', ...own), /^INVALID_INPUT: Cannot listen on 127\.0\.0\.2:\d+ \(EADDRINUSE\)/)
})

test('a folder goes on where it was: ports, authority, clock, portal, and all that the services know', async () => {
  const folder = join(temporaryFolder(), 'services')
  const first = await start('--dir', folder, '--seed', '3')
  const { cpf, cnpj } = first.addresses.samples
  await first.control('/consents', { cpf, cnpj, status: 'ATIVO' })
  await first.control('/clock/advance', { ms: 86_400_000 })
  await first.askPortal('', 'POST', { evento: 'e', endpoint: 'https://receptor.exemplo.br/' })
  await first.control('/notifications', { evento: 'e', destinatarioTipo: 'CNPJ', destinatarioId: cnpj, body: {} })
  const authorization = `Basic ${Buffer.from('chave-de-exemplo:segredo-de-exemplo').toString('base64')}`
  const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' }
  const form = { method: 'POST', headers, body: 'grant_type=client_credentials' }
  const seen = async ({ ask, askPortal, addresses, list }: typeof first) => ({
    consents: (await ask(list)).body,
    subscriptions: (await askPortal()).body,
    failures: (await askPortal('/falhas')).body,
    token: (await ask(addresses.tokenService.url, form)).body.access_token,
  })
  const before = await seen(first)
  expect(before).toMatchObject({ consents: { length: 5 }, subscriptions: { length: 1 }, failures: { length: 1 } })
  await first.stop('SIGTERM')
  const second = await start('--dir', folder, '--seed', '3')
  expect(second.addresses).toEqual(first.addresses)
  await expectFailure(averba('simulate', '--dir', folder, '--port', '20000'), 'a simulation runs there already')
  expect(second.ca).toBe(first.ca)
  expect(await seen(second)).toEqual(before)
  // A program that runs on has the former client certificate.
  const former = openClient({ ca: first.ca, certificate: first.certificate })
  expect((await former.fetch(new Request(first.list))).status).toBe(200)
  const added = [await second.control('/consents', { cpf }), await second.control('/consents', { cpf })]
  expect(new Set([...before.consents, ...added.map(({ body }) => body)].map(({ id }) => id)).size).toBe(7)
  await second.control('/reset', {})
  await second.stop('SIGTERM')
  const third = await start('--dir', folder)
  expect((await third.ask(third.list)).body).toHaveLength(4)
  await third.stop('SIGTERM')
  const file = join(folder, 'run.json')
  const run = JSON.parse(readFileSync(file, 'utf8'))
  expect(run.isStopped).toBe(true)
  writeFileSync(file, JSON.stringify({ ...run, isStopped: false }))
  const last = await start('--dir', folder)
  expect((await last.stop('SIGTERM')).err).toContain('The last run here was killed')
  const authority = { cert: 'x', key: 'y' }
  for (const [damaged, err] of [
    [{ format: 0 }, /its run\.json is of another version/],
    [{ format: 1 }, /its run\.json is of another version, or damaged/],
    [{ ...run, services: {} }, /Cannot go on with the saved services/],
    [{ ...run, services: { ...run.services, authority } }, /Cannot read the saved authority/],
  ] as const) {
    writeFileSync(file, JSON.stringify(damaged))
    await expectFailure(averba('simulate', '--dir', folder), err)
  }
})

test('the control server advances the clock, adds records and faults, and lists requests', async () => {
  const { addresses, control, ask, askPortal, list } = await start()
  const { cpf, cnpj } = addresses.samples
  const { body } = await control('/consents', { cpf, cnpj, status: 'ATIVO', expiresInMs: 60_000 })
  expect((await ask(`${list}/${body.id}`)).body.status).toBe('ATIVO')
  expect((await control('/clock/advance', { ms: 61_000 })).status).toBe(200)
  expect((await ask(`${list}/${body.id}`)).body.status).toBe('EXPIRADO')
  expect((await control('/awareness', { cpf, cnpj })).status).toBe(200)
  expect((await control('/persons', { cpf: '52998224725', nome: 'JOSE' })).status).toBe(200)
  expect((await control('/faults', { kind: 'status', status: 503, retryAfterS: 5, times: 1 })).status).toBe(200)
  expect((await ask(list)).status).toBe(503)
  expect((await ask(list)).status).toBe(200)
  await askPortal()
  const requests = (await control('/requests')).body
  expect(requests).toHaveLength(5)
  expect(requests.at(-1)).toMatchObject({ service: 'portal', method: 'GET', headers: { authorization: '***' } })
  expect(JSON.stringify(requests)).not.toContain(addresses.portal.headers.authorization)
  await control('/reset', {})
  expect((await control('/requests')).body).toEqual([])
  expect((await ask(list)).body).toHaveLength(4)
})

test('faults are set by option or control server, certificate faults too, and are cleared together', async () => {
  const { addresses, control, ask, list } = await start(
    ...['--fault', '{"kind":"status","status":503,"times":1}'],
    ...['--fault', '{"kind":"clockSkew","ms":-3600000}'],
  )
  expect((await ask(list)).status).toBe(503)
  const answered = await ask(list)
  expect(answered.status).toBe(200)
  expect(Date.parse(answered.body[0].dataHora)).toBeLessThan(systemClock.now() - 3_500_000)
  // The connection is open already: the fault ends it, and the next one meets the certificate.
  expect((await control('/faults', { kind: 'expiredCertificate' })).status).toBe(200)
  await expect(ask(list)).rejects.toMatchObject({ name: 'UnsentError', message: expect.stringContaining('expired') })
  // As curl -X DELETE sends it: without a body, and without its length.
  const curl = ['-sS', '-X', 'DELETE', '-w', ' %{http_code}', `${addresses.control.baseUrl}/faults`]
  expect((await run('curl', curl)).stdout).toMatch(/ 200$/)
  expect((await ask(list)).status).toBe(200)
})

test('a notification reaches a given receiver on any port, from the --deliver-from address', async () => {
  const { addresses, control, askPortal } = await start('--deliver-from', '127.9.9.9')
  const { cert, key } = addresses.receiver
  const received: string[] = []
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (incoming, outgoing) => {
    received.push(`${incoming.headers['event-type']} from ${incoming.socket.remoteAddress}`)
    incoming.resume().on('end', () => outgoing.writeHead(204).end())
  })
  const to = `127.0.0.1:${await listenUntilEnd(server)}`
  expect((await control('/connect-to', { from: 'receptor.exemplo.br:443', to })).status).toBe(200)
  expect((await askPortal('', 'POST', { evento: 'e', endpoint: 'https://receptor.exemplo.br/' })).status).toBe(200)
  const recipient = { destinatarioTipo: 'CNPJ', destinatarioId: addresses.samples.cnpj }
  const deliver = async () => (await control('/notifications', { evento: 'e', ...recipient, body: {} })).body.deliveries
  expect(await deliver()).toMatchObject([{ isDelivered: true }])
  expect(received).toEqual(['e from 127.9.9.9'])
  // A change may name another port of the host (document 3, section 4, rule 1).
  const [{ id }] = (await askPortal()).body
  const change = { id, evento: 'e', endpoint: 'https://receptor.exemplo.br:8443/' }
  expect((await askPortal(`/${id}`, 'PUT', change)).status).toBe(200)
  expect(await deliver()).toMatchObject([{ isDelivered: false }])
  await control('/connect-to', { from: 'receptor.exemplo.br:8443', to })
  expect(await deliver()).toMatchObject([{ isDelivered: true }])
  server.closeAllConnections()
  await new Promise(done => server.close(done))
  expect(await deliver()).toMatchObject([{ isDelivered: false }])
  expect((await askPortal('/falhas')).body).toHaveLength(2)
})

test('--policies sets policies for every service', async () => {
  const policies = { consentService: { missingRecord: 'badRequest' }, portal: { authentication: 'none' } }
  const { addresses, ask, list } = await start('--policies', JSON.stringify(policies))
  expect((await ask(`${list}/${'0'.repeat(32)}`)).status).toBe(400)
  expect((await ask(`${addresses.portal.baseUrl}/portal/api/ext/webhook`)).status).toBe(200)
})

test.each([
  ['--fault', '{"kind":"earthquake"}', /^INVALID_INPUT: Cannot add the fault: kind: /],
  ['--fault', 'lose', /^INVALID_INPUT: Cannot add the fault: it is not JSON\nGive /],
  ['--policies', '{"portal":{"tries":0}}', /^INVALID_INPUT: Cannot set the policies: portal\.tries: /],
  ['--policies', 'null', /^INVALID_INPUT: Cannot set the policies: policies: /],
  ['--policies', 'tries', /^INVALID_INPUT: Cannot set the policies: they are not JSON\nGive /],
  ['--seed', 'x', /^INVALID_INPUT: Cannot use the seed/],
  ['--deliver-from', '161.148.0.1', /^INVALID_INPUT: .*161\.148\.0\.1.*\nUse an address/],
  ['--dir', temporaryFolder(), /^INVALID_INPUT: /],
])('the invalid %s %s stops the command with an error', async (option, value, words) => {
  expect(await averba('simulate', option, value)).toEqual({ out: '', ...failedWith(words) })
})

test('averba simulate stops on a signal while a request is under way, and deletes its keys', async () => {
  const { stop, control, ask, list, addresses } = await start()
  expect(existsSync(addresses.consentService.key)).toBe(true)
  await control('/faults', { kind: 'delay', ms: 3_600_000 })
  const waiting = ask(list).catch(() => 'cut')
  await expect.poll(async () => (await control('/requests')).body.length).toBe(1)
  expect(await stop('SIGTERM')).toMatchObject({ code: 0, err: '' })
  expect(await waiting).toBe('cut')
  await expect(fetch(`${addresses.control.baseUrl}/requests`)).rejects.toThrow('fetch failed')
  expect(existsSync(addresses.consentService.key)).toBe(false)
})

test('a seed makes ids, tokens and random faults repeatable', async () => {
  const half = '{"kind":"status","status":429,"percent":50,"times":8}'
  const run = async (seed: string) => {
    const { stop, ask, list } = await start('--seed', seed, '--fault', half)
    const answers: unknown[] = []
    for (let i = 0; i < 24; i++) {
      const { status, body } = await ask(list)
      answers.push(status === 200 ? body.map(({ id }: { id: string }) => id) : status)
    }
    await stop('SIGTERM')
    return answers
  }
  const first = await run('7')
  expect(first.filter(answer => answer === 429)).toHaveLength(8)
  expect(await run('7')).toEqual(first)
  expect(await run('8')).not.toEqual(first)
})
