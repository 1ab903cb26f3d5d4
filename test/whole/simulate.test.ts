import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parseEnv, promisify } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { type HttpSocket, openSocket } from '../../src/adapters/http/transport.ts'
import type { SimulationAddresses } from '../../src/cli/commands/simulate.ts'
import { openAverba, staticHeaders, valueOf } from '../../src/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'

const root = resolve(import.meta.dirname, '../..')
const main = join(root, 'src/cli/main.ts')
const run = promisify(execFile)
// Only files inside the package can import it by its name.
mkdirSync(join(root, '.averba'), { recursive: true })
let running: { child: ChildProcess; socket: HttpSocket } | undefined

afterEach(async () => {
  await running?.socket.close()
  running?.child.kill('SIGKILL')
  running = undefined
})

/** Starts `averba simulate --json` as another program would, and reads its first line. */
async function start(...options: string[]) {
  const child = spawn(process.execPath, ['src/cli/main.ts', 'simulate', '--json', ...options], { cwd: root })
  const [line] = await createInterface({ input: child.stdout })
    [Symbol.asyncIterator]()
    .next()
    .then(({ value }) => [String(value)])
  const addresses: SimulationAddresses = JSON.parse(line ?? '')
  const { cert, key } = addresses.consentService
  const read = (path: string) => readFileSync(path, 'utf8')
  const certificate = { cert: read(cert), key: read(key) }
  const socket = openSocket({ clock: systemClock, ca: read(addresses.ca), certificate })
  running = { child, socket }
  const ended = new Promise<number | null>(done => child.once('exit', code => done(code)))
  const control = async (path: string, body?: unknown, method = 'POST') => {
    const init = body === undefined ? {} : { method, body: JSON.stringify(body) }
    const response = await fetch(`${addresses.control.baseUrl}${path}`, init)
    return { status: response.status, body: await response.json() }
  }
  const get = async (url: string, headers: Record<string, string> = {}) => {
    const response = await socket.fetch(new Request(url, { headers }))
    return { status: response.status, body: await response.json().catch(() => undefined) }
  }
  return { child, addresses, control, get, ended, certificate, ca: read(addresses.ca) }
}

test('the first line has all addresses, and a host works with them', async () => {
  const { addresses, certificate, ca } = await start()
  expect(addresses).toEqual({
    consentService: {
      baseUrl: expect.stringMatching(/^https:\/\/localhost:\d+$/),
      ca: addresses.ca,
      cert: expect.any(String),
      key: expect.any(String),
    },
    tokenService: {
      url: expect.stringMatching(/^https:\/\/localhost:\d+\/token$/),
      consumerKey: expect.any(String),
      consumerSecret: expect.any(String),
    },
    validationService: { baseUrl: expect.any(String), service: expect.any(String) },
    portal: { baseUrl: expect.any(String), headers: expect.any(Object) },
    control: { baseUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) },
    receiver: { cert: expect.any(String), key: expect.any(String) },
    ca: expect.any(String),
    samples: { cpf: '25774435016', cnpj: '12ABC34501DE35' },
    env: expect.stringMatching(/averba\.env$/),
  })
  const { consentService, tokenService, validationService, portal } = addresses
  const averba = await openAverba({
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
  await averba.close()
})

test('averba simulate writes the variables for the configuration of averba init', async () => {
  const { addresses } = await start()
  const folder = mkdtempSync(join(root, '.averba', 'simulate-'))
  const env = parseEnv(readFileSync(addresses.env, 'utf8'))
  const averba = (...args: string[]) =>
    run(process.execPath, ['--conditions=averba-source', main, ...args], {
      cwd: folder,
      env: { ...process.env, ...env },
    })
  const { variables } = JSON.parse((await averba('init', '--json')).stdout)
  expect(variables.filter((name: string) => !env[name])).toEqual([])
  expect((await averba('plan').catch(error => error)).stdout).toContain('create dimp-situacao-import')
  const { checks } = JSON.parse((await averba('doctor', '--token', '--json')).stdout)
  expect(checks.filter((check: { ok: boolean }) => !check.ok)).toEqual([])
  rmSync(folder, { recursive: true })
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
  // The connection is open already: the fault ends it, and the next one gets the certificate.
  expect(await control('/faults', { kind: 'expiredCertificate' })).toMatchObject({ status: 200 })
  await expect(get(list)).rejects.toMatchObject({
    name: 'UnsentError',
    message: expect.stringContaining('expired'),
  })
  expect(await control('/faults', {}, 'DELETE')).toMatchObject({ status: 200 })
  expect((await get(list)).status).toBe(200)
})

test.each([
  ['{"kind":"earthquake"}', 'INVALID_INPUT: Cannot add the fault: kind: '],
  ['lose', 'INVALID_INPUT: Cannot add the fault: it is not JSON'],
])('the invalid fault %s stops the command with an error', async (fault, words) => {
  const child = spawn(process.execPath, ['src/cli/main.ts', 'simulate', '--fault', fault], { cwd: root })
  let said = ''
  child.stderr.on('data', chunk => {
    said += chunk
  })
  expect(await new Promise(done => child.once('close', done))).toBe(1)
  expect(said).toContain(words)
})

test('a notification reaches a given receiver on any port, from the --deliver-from address', async () => {
  const { addresses, control, get } = await start('--deliver-from', '127.9.9.9')
  const { cert, key } = addresses.receiver
  const received: string[] = []
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (incoming, outgoing) => {
    received.push(`${incoming.headers['event-type']} from ${incoming.socket.remoteAddress}`)
    incoming.resume().on('end', () => outgoing.writeHead(204).end())
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const to = `127.0.0.1:${(server.address() as AddressInfo).port}`
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
  server.closeAllConnections()
  await new Promise(done => server.close(done))
  expect((await control('/notifications', notice)).body.deliveries).toMatchObject([{ isDelivered: false }])
  expect((await get(`${url}/falhas`, { ...addresses.portal.headers })).body).toHaveLength(1)
})

test.each([
  ['/clock/advance', { ms: -1 }, 'ms'],
  ['/clock/advance', {}, 'ms'],
  ['/faults', { kind: 'earthquake' }, 'kind'],
  ['/faults', { kind: 'duplicate', service: 'portal' }, 'service: duplicate applies to the receiver only'],
  ['/connect-to', { from: 'a.exemplo.br:80', to: '127.0.0.1:1' }, 'host:443'],
  ['/connect-to', { from: 'a.exemplo.br:443', to: '203.0.113.7:1' }, 'this machine'],
  ['/notifications', { evento: 'e' }, 'destinatarioTipo'],
  ['/notifications', { evento: 'e', destinatarioTipo: 'CPF', destinatarioId: '1', body: 1 }, 'destinatarioId'],
])('%s with %o is refused with a reason', async (path, body, words) => {
  const { control } = await start()
  expect(await control(path, body)).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining(words) },
  })
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
  ['{"portal":{"tries":0}}', /^INVALID_INPUT: Cannot set the policies: portal\.tries: /],
  ['null', /^INVALID_INPUT: Cannot set the policies: policies: /],
  ['tries', /^INVALID_INPUT: Cannot set the policies: they are not JSON\nGive /],
])('the invalid policies %s stop the command with an error', (policies, words) => {
  const args = ['src/cli/main.ts', 'simulate', '--policies', policies]
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  expect([status, stderr]).toEqual([1, expect.stringMatching(words)])
})

test('a --deliver-from address of another machine is refused', () => {
  const args = ['src/cli/main.ts', 'simulate', '--deliver-from', '161.148.0.1']
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  expect([status, stderr]).toEqual([1, expect.stringMatching(/^INVALID_INPUT: .*161\.148\.0\.1.*\nUse an address/)])
})

/** Reports whether a server still answers. */
const isServing = (baseUrl: string) =>
  fetch(`${baseUrl}/requests`).then(
    () => true,
    () => false,
  )

test.each(['SIGINT', 'SIGTERM'] as const)('averba simulate stops cleanly on %s, and deletes its keys', async signal => {
  const { child, ended, addresses } = await start()
  expect(existsSync(addresses.consentService.key)).toBe(true)
  child.kill(signal)
  expect(await ended).toBe(0)
  expect(await isServing(addresses.control.baseUrl)).toBe(false)
  expect(existsSync(addresses.consentService.key)).toBe(false)
})

test('a seed makes ids, tokens and random faults repeatable', async () => {
  const half = '{"kind":"status","status":429,"percent":50,"times":8}'
  const run = async (seed: string) => {
    const { addresses, get, child, ended } = await start('--seed', seed, '--fault', half)
    const list = `${addresses.consentService.baseUrl}/consentimento/v1/consentimentos/${addresses.samples.cpf}`
    const answers: unknown[] = []
    for (let i = 0; i < 24; i++) {
      const { status, body } = await get(list)
      answers.push(status === 200 ? body.map(({ id }: { id: string }) => id) : status)
    }
    child.kill('SIGTERM')
    await ended
    await running?.socket.close()
    running = undefined
    return answers
  }
  const first = await run('7')
  expect(first.filter(answer => answer === 429)).toHaveLength(8)
  expect(await run('7')).toEqual(first)
  expect(await run('8')).not.toEqual(first)
})

test('averba simulate stops when its standard input closes', async () => {
  const { child, ended, addresses } = await start()
  child.stdin?.end()
  expect(await ended).toBe(0)
  expect(await isServing(addresses.control.baseUrl)).toBe(false)
})

test('averba simulate stops on a signal while a request is under way', async () => {
  const { child, control, get, addresses, ended } = await start()
  await control('/faults', { kind: 'delay', ms: 3_600_000 })
  const waiting = get(`${addresses.consentService.baseUrl}/x`).catch(() => 'cut')
  await expect.poll(async () => (await control('/requests')).body.length).toBe(1)
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
  expect(await waiting).toBe('cut')
})

test('an existing folder for the certificates is refused', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'averba-simulate-'))
  const running = promisify(execFile)(process.execPath, ['src/cli/main.ts', 'simulate', '--dir', dir], {
    cwd: root,
  })
  await expect(running).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('INVALID_INPUT') })
})
