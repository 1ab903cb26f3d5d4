import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { type HttpSocket, openSocket } from '../../../src/adapters/http/transport.ts'
import type { SimulationAddresses } from '../../../src/cli/commands/simulate.ts'
import { requiredVariables } from '../../../src/cli/load-config.ts'
import { configTemplate, staticHeaders, valueOf } from '../../../src/index.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { averba, failedWith, type RunningCommand, startCommand } from '../../support/command-line.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openEngine } from '../../support/world.ts'

let running: { command: RunningCommand; socket: HttpSocket } | undefined

afterEach(stop)

async function stop(): Promise<void> {
  running?.command.stop('SIGTERM')
  await running?.command.ended
  await running?.socket.close()
  running = undefined
}

/** Starts `averba simulate --json`, and reads its first line. */
async function start(...options: string[]) {
  const command = startCommand(['simulate', '--json', ...options])
  const addresses: SimulationAddresses = JSON.parse(await command.line('{'))
  const { cert, key } = addresses.consentService
  const read = (path: string) => readFileSync(path, 'utf8')
  const certificate = { cert: read(cert), key: read(key) }
  const socket = openSocket({ clock: systemClock, ca: read(addresses.ca), certificate })
  running = { command, socket }
  const control = async (path: string, body?: unknown, method = 'POST') => {
    const init = body === undefined ? {} : { method, body: JSON.stringify(body) }
    const response = await fetch(`${addresses.control.baseUrl}${path}`, init)
    return { status: response.status, body: await response.json() }
  }
  const get = async (url: string, headers: Record<string, string> = {}) => {
    const response = await socket.fetch(new Request(url, { headers }))
    return { status: response.status, body: await response.json().catch(() => undefined) }
  }
  return { command, addresses, control, get, certificate, ca: read(addresses.ca) }
}

test('the first line has all addresses, a host works with them, and the variables of averba init are written', async () => {
  const { addresses, certificate, ca } = await start()
  const text = expect.any(String)
  expect(addresses).toEqual({
    consentService: { baseUrl: expect.stringMatching(/^https:\/\/localhost:\d+$/), ca: text, cert: text, key: text },
    tokenService: {
      url: expect.stringMatching(/^https:\/\/localhost:\d+\/token$/),
      ...{ consumerKey: text, consumerSecret: text },
    },
    validationService: { baseUrl: text, service: text },
    portal: { baseUrl: text, headers: expect.any(Object) },
    control: { baseUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) },
    receiver: { cert: text, key: text },
    ca: addresses.consentService.ca,
    samples: { cpf: '25774435016', cnpj: '12ABC34501DE35' },
    env: expect.stringMatching(/averba\.env$/),
  })
  const written = readFileSync(addresses.env, 'utf8')
  const env = parseEnv(written)
  // What Docker reads: everything after the first =, quotes included.
  const raw = Object.fromEntries(written.split('\n').flatMap(line => (line ? [line.split(/=(.*)/s, 2)] : [])))
  expect(raw).toEqual(env)
  expect(requiredVariables(await configTemplate()).filter(name => !env[name])).toEqual([])
  const { consentService, tokenService, validationService, portal } = addresses
  const averba = await openEngine({
    store: ':memory:',
    consentService: { baseUrl: consentService.baseUrl, ca, certificate },
    tokenService: { ...tokenService, ca },
    validationService: { ...validationService, ca },
    portal: { baseUrl: portal.baseUrl, ca, authenticate: staticHeaders({ ...portal.headers }) },
  })
  const { cpf } = addresses.samples
  const subject = await averba.consents.enrol({ cpf })
  expect(valueOf(await averba.consents.sync({ subject })).read).toBe(4)
  expect(valueOf(await averba.validations.validate({ id: 'a', cpf, claims: { sexo: 'F' } })).state).toBe('answered')
  expect((await averba.subscriptions.plan()).changes).toEqual([])
})

test('fixed ports and another name are used for all services, the control server and the certificates', async () => {
  const free = createServer()
  const port = await listenUntilEnd(free)
  await new Promise(done => free.close(done))
  const { addresses, control, get } = await start('--port', `${port}`, '--host', '127.0.0.2', '--name', '127.0.0.2')
  const { consentService, tokenService, validationService, portal } = addresses
  const used = [
    consentService.baseUrl,
    tokenService.url,
    validationService.baseUrl,
    portal.baseUrl,
    addresses.control.baseUrl,
  ]
  expect(used.map(each => new URL(each).host)).toEqual([0, 1, 2, 3, 4].map(i => `127.0.0.2:${port + i}`))
  const { cpf } = addresses.samples
  const list = `https://127.0.0.2:${port}/consentimento/v1/consentimentos/${cpf}`
  expect((await get(list)).status).toBe(200)
  expect((await control('/faults', { kind: 'status', times: 1 })).status).toBe(200)
  expect((await get(list)).status).toBe(500)
  const again = await averba('simulate', '--port', `${port}`, '--host', '127.0.0.2')
  expect(again).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^INVALID_INPUT: Cannot listen on 127\.0\.0\.2:\d+ \(EADDRINUSE\)/),
  })
})

test('a folder goes on where it was: ports, authority, clock, portal, and all that the services know', async () => {
  const folder = join(temporaryFolder(), 'services')
  const first = await start('--dir', folder, '--seed', '3')
  const { cpf, cnpj } = first.addresses.samples
  const list = `${first.addresses.consentService.baseUrl}/consentimento/v1/consentimentos/${cpf}`
  const webhooks = `${first.addresses.portal.baseUrl}/portal/api/ext/webhook`
  const { headers } = first.addresses.portal
  const ask = async (url: string, method: string, more: Record<string, string>, body: string) =>
    (await running?.socket.fetch(new Request(url, { method, body, headers: more })))?.json()
  const basic = { authorization: `Basic ${Buffer.from('chave-de-exemplo:segredo-de-exemplo').toString('base64')}` }
  const form = { ...basic, 'content-type': 'application/x-www-form-urlencoded' }
  const askToken = () => ask(first.addresses.tokenService.url, 'POST', form, 'grant_type=client_credentials')
  await first.control('/consents', { cpf, cnpj, status: 'ATIVO' })
  await first.control('/clock/advance', { ms: 86_400_000 })
  const subscription = { evento: 'e', endpoint: 'https://receptor.exemplo.br/' }
  await ask(webhooks, 'POST', { ...headers, 'content-type': 'application/json' }, JSON.stringify(subscription))
  const notice = { evento: 'e', destinatarioTipo: 'CNPJ', destinatarioId: cnpj, body: {} }
  await first.control('/notifications', notice)
  const seen = async (get: typeof first.get) => ({
    consents: (await get(list)).body,
    subscriptions: (await get(webhooks, headers)).body,
    failures: (await get(`${webhooks}/falhas`, headers)).body,
    token: (await askToken()).access_token,
  })
  const before = await seen(first.get)
  expect(before).toMatchObject({ consents: { length: 5 }, subscriptions: { length: 1 }, failures: { length: 1 } })
  await stop()
  const second = await start('--dir', folder, '--seed', '3')
  expect(second.addresses).toEqual(first.addresses)
  expect(await averba('simulate', '--dir', folder, '--port', '20000')).toMatchObject(
    failedWith('a simulation runs there already'),
  )
  expect(second.ca).toBe(first.ca)
  expect(await seen(second.get)).toEqual(before)
  // A program that runs on has the former client certificate.
  const former = openSocket({ clock: systemClock, ca: first.ca, certificate: first.certificate })
  expect((await former.fetch(new Request(list))).status).toBe(200)
  await former.close()
  const added = [await second.control('/consents', { cpf }), await second.control('/consents', { cpf })]
  expect(new Set([...before.consents, ...added.map(({ body }) => body)].map(({ id }) => id)).size).toBe(7)
  await second.control('/reset', {})
  await stop()
  expect((await (await start('--dir', folder)).get(list)).body).toHaveLength(4)
  await stop()
  const run = JSON.parse(readFileSync(join(folder, 'run.json'), 'utf8'))
  expect(run.isStopped).toBe(true)
  writeFileSync(join(folder, 'run.json'), JSON.stringify({ ...run, isStopped: false }))
  const { command } = await start('--dir', folder)
  await stop()
  expect((await command.ended).err).toContain('The last run here was killed')
  const damaged: [object, RegExp][] = [
    [{ format: 0 }, /its run\.json is of another version/],
    [{ format: 1 }, /its run\.json is of another version, or damaged/],
    [{ ...run, services: {} }, /Cannot go on with the saved services/],
    [{ ...run, services: { ...run.services, authority: { cert: 'x', key: 'y' } } }, /Cannot read the saved authority/],
  ]
  for (const [text, err] of damaged) {
    writeFileSync(join(folder, 'run.json'), JSON.stringify(text))
    expect(await averba('simulate', '--dir', folder)).toMatchObject(failedWith(err))
  }
})

test('the control server advances the clock, adds records and faults, and lists requests', async () => {
  const { addresses, control, get } = await start()
  const { cpf, cnpj } = addresses.samples
  const list = `${addresses.consentService.baseUrl}/consentimento/v1/consentimentos/${cpf}`
  const { body } = await control('/consents', { cpf, cnpj, status: 'ATIVO', expiresInMs: 60_000 })
  expect((await get(`${list}/${body.id}`)).body.status).toBe('ATIVO')
  expect(await control('/clock/advance', { ms: 61_000 })).toMatchObject({ status: 200 })
  expect((await get(`${list}/${body.id}`)).body.status).toBe('EXPIRADO')
  expect(await control('/awareness', { cpf, cnpj })).toMatchObject({ status: 200 })
  expect(await control('/persons', { cpf: '52998224725', nome: 'JOSE' })).toMatchObject({ status: 200 })
  expect(await control('/faults', { kind: 'status', status: 503, retryAfterS: 5, times: 1 })).toMatchObject({
    status: 200,
  })
  expect((await get(list)).status).toBe(503)
  expect((await get(list)).status).toBe(200)
  await get(`${addresses.portal.baseUrl}/portal/api/ext/webhook`, { ...addresses.portal.headers })
  const requests = (await control('/requests')).body
  expect(requests).toHaveLength(5)
  expect(requests.at(-1)).toMatchObject({
    service: 'portal',
    method: 'GET',
    headers: { authorization: '***' },
  })
  expect(JSON.stringify(requests)).not.toContain(addresses.portal.headers.authorization)
  await control('/reset', {})
  expect((await control('/requests')).body).toEqual([])
  expect((await get(list)).body).toHaveLength(4)
})

test('faults are set by option or control server, certificate faults too, and are cleared together', async () => {
  const { addresses, control, get } = await start(
    ...['--fault', '{"kind":"status","status":503,"times":1}'],
    ...['--fault', '{"kind":"clockSkew","ms":-3600000}'],
  )
  const list = `${addresses.consentService.baseUrl}/consentimento/v1/consentimentos/${addresses.samples.cpf}`
  expect((await get(list)).status).toBe(503)
  const answered = await get(list)
  expect(answered.status).toBe(200)
  expect(Date.parse(answered.body[0].dataHora)).toBeLessThan(systemClock.now() - 3_500_000)
  // The connection is open already: the fault ends it, and the next one meets the certificate.
  expect(await control('/faults', { kind: 'expiredCertificate' })).toMatchObject({ status: 200 })
  await expect(get(list)).rejects.toMatchObject({
    name: 'UnsentError',
    message: expect.stringContaining('expired'),
  })
  // As curl -X DELETE sends it: without a body, and without its length.
  const cleared = await new Promise<string>((resolve, reject) =>
    execFile(
      'curl',
      ['-sS', '-X', 'DELETE', '-w', ' %{http_code}', `${addresses.control.baseUrl}/faults`],
      (error, out) => (error ? reject(error) : resolve(out)),
    ),
  )
  expect(cleared).toMatch(/ 200$/)
  expect((await get(list)).status).toBe(200)
})

test('a notification reaches a given receiver on any port, from the --deliver-from address', async () => {
  const { addresses, control, get } = await start('--deliver-from', '127.9.9.9')
  const { cert, key } = addresses.receiver
  const received: string[] = []
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (incoming, outgoing) => {
    received.push(`${incoming.headers['event-type']} from ${incoming.socket.remoteAddress}`)
    incoming.resume().on('end', () => outgoing.writeHead(204).end())
  })
  const to = `127.0.0.1:${await listenUntilEnd(server)}`
  expect(await control('/connect-to', { from: 'receptor.exemplo.br:443', to })).toMatchObject({ status: 200 })
  const url = `${addresses.portal.baseUrl}/portal/api/ext/webhook`
  const subscribe = new Request(url, {
    method: 'POST',
    headers: { ...addresses.portal.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ evento: 'e', endpoint: 'https://receptor.exemplo.br/' }),
  })
  expect((await running?.socket.fetch(subscribe))?.status).toBe(200)
  const notice = {
    evento: 'e',
    destinatarioTipo: 'CNPJ',
    destinatarioId: addresses.samples.cnpj,
    body: { a: 1 },
  }
  expect((await control('/notifications', notice)).body.deliveries).toMatchObject([{ isDelivered: true }])
  expect(received).toEqual(['e from 127.9.9.9'])
  // A change may name another port of the host (document 3, section 4, rule 1).
  const [{ id }] = (await get(url, { ...addresses.portal.headers })).body
  const change = new Request(`${url}/${id}`, {
    method: 'PUT',
    headers: { ...addresses.portal.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ id, evento: 'e', endpoint: 'https://receptor.exemplo.br:8443/' }),
  })
  expect((await running?.socket.fetch(change))?.status).toBe(200)
  expect((await control('/notifications', notice)).body.deliveries).toMatchObject([{ isDelivered: false }])
  await control('/connect-to', { from: 'receptor.exemplo.br:8443', to })
  expect((await control('/notifications', notice)).body.deliveries).toMatchObject([{ isDelivered: true }])
  server.closeAllConnections()
  await new Promise(done => server.close(done))
  expect((await control('/notifications', notice)).body.deliveries).toMatchObject([{ isDelivered: false }])
  expect((await get(`${url}/falhas`, { ...addresses.portal.headers })).body).toHaveLength(2)
})

test('--policies sets policies for every service', async () => {
  const policies = { consentService: { missingRecord: 'badRequest' }, portal: { authentication: 'none' } }
  const { addresses, get } = await start('--policies', JSON.stringify(policies))
  const { consentService, portal, samples } = addresses
  const list = `${consentService.baseUrl}/consentimento/v1/consentimentos/${samples.cpf}`
  expect((await get(`${list}/${'0'.repeat(32)}`)).status).toBe(400)
  expect((await get(`${portal.baseUrl}/portal/api/ext/webhook`)).status).toBe(200)
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
  const stopped = { code: 1, out: '', err: expect.stringMatching(words) }
  expect(await averba('simulate', option, value)).toEqual(stopped)
})

test.each([
  ['a signal', (command: RunningCommand) => command.stop('SIGINT')],
  ['the end of its standard input', (command: RunningCommand) => command.endInput()],
])('averba simulate stops cleanly on %s, and deletes its keys', async (_, end) => {
  const { command, addresses } = await start()
  expect(existsSync(addresses.consentService.key)).toBe(true)
  end(command)
  expect(await command.ended).toMatchObject({ code: 0, err: '' })
  await expect(fetch(`${addresses.control.baseUrl}/requests`)).rejects.toThrow('fetch failed')
  expect(existsSync(addresses.consentService.key)).toBe(false)
})

test('averba simulate stops on a signal while a request is under way', async () => {
  const { command, control, get, addresses } = await start()
  await control('/faults', { kind: 'delay', ms: 3_600_000 })
  const waiting = get(`${addresses.consentService.baseUrl}/x`).catch(() => 'cut')
  await expect.poll(async () => (await control('/requests')).body.length).toBe(1)
  command.stop('SIGTERM')
  expect((await command.ended).code).toBe(0)
  expect(await waiting).toBe('cut')
})

test('a seed makes ids, tokens and random faults repeatable', async () => {
  const half = '{"kind":"status","status":429,"percent":50,"times":8}'
  const run = async (seed: string) => {
    const { addresses, get } = await start('--seed', seed, '--fault', half)
    const list = `${addresses.consentService.baseUrl}/consentimento/v1/consentimentos/${addresses.samples.cpf}`
    const answers: unknown[] = []
    for (let i = 0; i < 24; i++) {
      const { status, body } = await get(list)
      answers.push(status === 200 ? body.map(({ id }: { id: string }) => id) : status)
    }
    await stop()
    return answers
  }
  const first = await run('7')
  expect(first.filter(answer => answer === 429)).toHaveLength(8)
  expect(await run('7')).toEqual(first)
  expect(await run('8')).not.toEqual(first)
})
