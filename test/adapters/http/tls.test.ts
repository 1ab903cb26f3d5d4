import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openSocket, type SocketOptions } from '../../../src/adapters/http/transport.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { type Authority, createAuthority, type IssuedCertificate } from '../../../src/simulation/served/authority.ts'
import { type Peer, type Server, serveHttps } from '../../../src/simulation/served/serve.ts'
import { withLimits } from '../../../src/vocabulary/fetch.ts'
import { toInstant } from '../../../src/vocabulary/instant.ts'
import { closeAtEnd } from '../../support/close-at-end.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let authority: Authority
let stranger: Authority
let server: Server
let client: IssuedCertificate
const seen: Peer[] = []

beforeAll(async () => {
  authority = await createAuthority(systemClock.now())
  stranger = await createAuthority(systemClock.now())
  client = await authority.issueClient('gestora')
  const issued = await authority.issueServer(['localhost', '127.0.0.1', '*.exemplo.br'])
  server = await serveHttps(
    async (request, peer) => {
      seen.push(peer)
      const { pathname } = new URL(request.url)
      if (pathname === '/large') return new Response('x'.repeat(100_000))
      if (pathname === '/never') return new Promise<never>(() => undefined)
      if (pathname === '/endless') return new Response(endless())
      return new Response(`${request.method} ${await request.text()}`)
    },
    { ...issued, clientCa: authority.ca },
  )
})

/** A body of one byte that never ends. */
function endless(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: controller => controller.enqueue(Buffer.from('x')) })
}

afterAll(() => server.close())

/** A client of the server, which closes with the test. */
function openClient(options: Partial<SocketOptions> = {}) {
  const socket = closeAtEnd(openSocket({ clock: systemClock, ca: authority.ca, ...options }))
  const requestTo = (path = '/', init?: RequestInit) => new Request(`https://localhost:${server.port}${path}`, init)
  return {
    socket,
    send: (path?: string, init?: RequestInit) => socket.fetch(requestTo(path, init)),
    stream: (path?: string, onConnected?: () => void) => socket.stream(requestTo(path), onConnected),
    /** Sends a request, and returns the name in the certificate that it presented. */
    async name() {
      await socket.fetch(requestTo())
      return seen.at(-1)?.clientName
    },
  }
}

/** A clock at the time of the certificates, which a test can advance. */
const virtualClock = (aheadMs = 0) => new VirtualClock(toInstant(Date.now() + aheadMs))

/** A request that may cost money, so that it must be known whether it was sent. */
const paidRequest = (port: number | string) => new Request(`https://localhost:${port}/`, { method: 'POST', body: 'x' })

test('the server reads the client name from its certificate', async () => {
  const response = await openClient({ certificate: client }).send('/', { method: 'PUT', body: 'x' })
  expect([response.status, await response.text()]).toEqual([200, 'PUT x'])
  expect(seen.at(-1)).toEqual({ remoteAddress: '127.0.0.1', clientName: 'gestora' })
})

test('the name in a certificate of another authority is ignored', async () => {
  expect(await openClient({ certificate: await stranger.issueClient('gestora') }).name()).toBeUndefined()
  expect(await openClient().name()).toBeUndefined()
})

test('requests leave from localAddress', async () => {
  await openClient({ localAddress: '127.16.5.9' }).send()
  expect(seen.at(-1)?.remoteAddress).toBe('127.16.5.9')
})

test('connectTo sends to another port, and the server name is still checked', async () => {
  const to = { host: '127.0.0.1', port: server.port }
  const { socket } = openClient({ connectTo: target => (target.endsWith(':443') ? to : undefined) })
  expect((await socket.fetch(new Request('https://receptor.exemplo.br/'))).status).toBe(200)
  const elsewhere = socket.fetch(new Request('https://receptor.outro.br/'))
  await expect(elsewhere).rejects.toMatchObject({ name: 'UnsentError' })
})

describe('each unusable certificate has its own message', () => {
  test.each([
    ['another key', async () => ({ ...client, key: (await authority.issueClient('x')).key }), 'its key belongs'],
    ['a certificate that is not PEM', async () => ({ ...client, cert: 'x' }), 'its certificate cannot be read'],
    ['a key that is not PEM', async () => ({ ...client, key: 'x' }), 'its key cannot be read'],
    ['an expired certificate', async () => (await createAuthority(0)).issueClient('x'), 'it expired on 1971-01-01'],
  ])('%s', async (_, given, words) => {
    const error = { code: 'MISCONFIGURED', message: expect.stringContaining(words) }
    await expect(openClient({ certificate: await given() }).send()).rejects.toMatchObject(error)
  })
})

test('an answer that is too large or too late fails', async () => {
  const oversized = openClient({ bodyBytesMax: 99_999 }).send('/large')
  await expect(oversized).rejects.toMatchObject({ name: 'OversizedError' })
  expect(await (await openClient({ bodyBytesMax: 100_000 }).send('/large')).text()).toHaveLength(100_000)
  await expect(openClient({ budgetMs: 200 }).send('/never')).rejects.toMatchObject({ name: 'TimeoutError' })
})

describe('an answer as a stream', () => {
  test('is complete, and fails while it is read if it is too large', async () => {
    expect(await (await openClient().stream('/large')).text()).toHaveLength(100_000)
    const answer = await openClient({ bodyBytesMax: 99_999 }).stream('/large')
    await expect(answer.text()).rejects.toMatchObject({ name: 'OversizedError' })
  })

  test('can be cancelled while waiting for a chunk', async () => {
    const response = await openClient({ budgetMs: 120_000 }).stream('/endless')
    const reader = response.body?.getReader()
    expect((await reader?.read())?.value).toHaveLength(1)
    const more = reader?.read()
    await new Promise(resolve => setImmediate(resolve)) // The read waits for the socket now.
    await reader?.cancel()
    expect(await more).toMatchObject({ done: true })
  })

  test('calls back when it is connected, and not when the connection fails', async () => {
    const { socket, stream } = openClient()
    let connections = 0
    const onConnected = () => {
      connections += 1
    }
    for (let i = 0; i < 2; i++) await (await stream('/', onConnected)).text()
    expect(connections).toBe(2)
    const unreachable = socket.stream(new Request('https://localhost:1/'), onConnected)
    await expect(unreachable).rejects.toMatchObject({ name: 'UnsentError' })
    expect(connections).toBe(2)
  })
})

test('a rotated certificate is used without a restart, and a wrong one can be corrected', async () => {
  const clock = virtualClock()
  let certificate = { ...client, key: 'x' }
  const { name } = openClient({ clock, certificate: () => certificate })
  await expect(name()).rejects.toMatchObject({ code: 'MISCONFIGURED' })
  certificate = client
  expect(await name()).toBe('gestora')
  certificate = await authority.issueClient('gestora-nova')
  expect(await name()).toBe('gestora')
  await clock.advance(60_000)
  expect(await name()).toBe('gestora-nova')
})

test('the old certificate stays in use when the vault is down or a file is half-written', async () => {
  const clock = virtualClock()
  const reported: string[] = []
  let give = (): typeof client => client
  const onTrouble = ({ message }: Error) => void reported.push(message)
  const { name } = openClient({ clock, certificate: () => give(), onTrouble })
  expect(await name()).toBe('gestora')
  const next = await authority.issueClient('gestora-nova')
  const halves: (typeof give)[] = [
    () => {
      throw new Error('the vault is sealed')
    },
    () => ({ ...client, cert: next.cert }),
    // Functions may return what their types forbid.
    () => undefined as never,
    () => ({}) as never,
  ]
  for (const half of halves) {
    give = half
    await clock.advance(60_000)
    expect(await name()).toBe('gestora')
    expect(await name()).toBe('gestora')
  }
  expect(reported).toEqual([
    'Cannot get the client certificate: the function that gives it failed',
    'Cannot use the client certificate: its key belongs to another certificate',
    'Cannot use the client certificate: it has neither cert and key nor pfx',
    'Cannot use the client certificate: it has neither cert and key nor pfx',
  ])
  give = () => next
  await clock.advance(60_000)
  expect(await name()).toBe('gestora-nova')
})

test('a burst of first requests, or after a rotation, loads the certificate once', async () => {
  const clock = virtualClock()
  let asked = 0
  const certificate = async () => {
    asked += 1
    return asked === 1 ? client : authority.issueClient('gestora-nova')
  }
  const { send } = openClient({ clock, certificate })
  const burst = () => Promise.all(Array.from({ length: 20 }, () => send()))
  await burst()
  expect(asked).toBe(1)
  await clock.advance(60_000)
  expect((await burst()).map(response => response.status)).toEqual(Array.from({ length: 20 }, () => 200))
  expect(asked).toBe(2)
})

test('a certificate that is not valid yet does not replace the current one', async () => {
  // Certificates issued now are valid from a day ago, by the clock of this machine.
  const clock = virtualClock(-3 * 86_400_000)
  const reported: string[] = []
  let certificate = client
  const onTrouble = ({ message }: Error) => void reported.push(message)
  const { name } = openClient({ clock, certificate: () => certificate, onTrouble })
  expect(await name()).toBe('gestora')
  certificate = await authority.issueClient('gestora-nova')
  await clock.advance(60_000)
  expect(await name()).toBe('gestora')
  expect(reported).toEqual([expect.stringContaining('it is not valid before 20')])
  await clock.advance(3 * 86_400_000)
  expect(await name()).toBe('gestora-nova')
})

test('PEM as bytes is used like PEM as text', async () => {
  const bytes = { cert: Buffer.from(client.cert), key: Buffer.from(client.key) }
  expect(await openClient({ certificate: bytes as never }).name()).toBe('gestora') // As files are read.
})

test('the time that a vault takes does not count as time of the request', async () => {
  const clock = virtualClock()
  let isSlow = false
  const certificate = async () => {
    if (isSlow) await systemClock.sleep(400)
    return client
  }
  const { send } = openClient({ clock, certificate, budgetMs: 300 })
  await send()
  isSlow = true
  await clock.advance(60_000)
  expect((await send()).status).toBe(200)
})

test('an expired certificate is never presented, and its replacement is used at once', async () => {
  const clock = virtualClock()
  const next = await (await createAuthority(systemClock.now() + 366 * 86_400_000)).issueClient('gestora-nova')
  let certificate = client
  const fixed = openClient({ clock, certificate: client })
  const asked = openClient({ clock, certificate: () => certificate })
  await Promise.all([fixed.send(), asked.send()])
  await clock.advance(366 * 86_400_000)
  const before = seen.length
  const ended = { code: 'MISCONFIGURED', message: expect.stringContaining('it expired on 20') }
  for (const { send } of [fixed, asked]) await expect(send()).rejects.toMatchObject(ended)
  expect(seen).toHaveLength(before)
  certificate = next
  expect((await asked.send()).status).toBe(200)
  await expect(fixed.send()).rejects.toMatchObject(ended)
})

test('a vault that hangs delays a request only briefly while the certificate is valid', async () => {
  const clock = virtualClock()
  const vault = Promise.withResolvers<typeof client>()
  let isHanging = false
  const certificate = () => (isHanging ? vault.promise : client)
  const { send, name } = openClient({ clock, certificate, budgetMs: 500 })
  await send()
  isHanging = true
  await clock.advance(60_000)
  // The vault answers only after both requests.
  expect((await send()).status).toBe(200)
  expect((await send()).status).toBe(200)
  vault.resolve(await authority.issueClient('gestora-nova'))
  await expect.poll(name).toBe('gestora-nova')
})

test('a request whose connection is made after its time limit was not sent', async () => {
  const budgetMs = 300
  const slow = createServer(socket => {
    socket.on('error', () => undefined)
    const timer = setTimeout(() => socket.pipe(connect(server.port, '127.0.0.1')).pipe(socket), budgetMs + 60)
    socket.once('close', () => clearTimeout(timer))
  })
  const port = await listenUntilEnd(slow)
  const before = seen.length
  const { socket } = openClient({ budgetMs })
  await expect(socket.fetch(paidRequest(port))).rejects.toMatchObject({ name: 'UnsentError' })
  expect(seen).toHaveLength(before)
})

test('a call that this process no longer holds once it is connected does not leave', async () => {
  const { socket, send } = openClient()
  const before = seen.length
  // Asked when the connection exists, also for one that was used before.
  for (const _ of ['new', 'kept']) {
    const request = withLimits(paidRequest(server.port), { mayLeave: () => false })
    await expect(socket.fetch(request)).rejects.toMatchObject({ name: 'UnsentError' })
    expect(seen).toHaveLength(before)
    await send()
    seen.length = before
  }
  const held = withLimits(paidRequest(server.port), { mayLeave: () => true })
  expect((await socket.fetch(held)).status).toBe(200)
})

test.each([true, false])('a closed client sends nothing (used before: %s)', async isUsed => {
  const socket = openSocket({ clock: systemClock, ca: authority.ca })
  if (isUsed) await socket.fetch(paidRequest(server.port))
  await socket.close()
  const before = seen.length
  await expect(socket.fetch(paidRequest(server.port))).rejects.toMatchObject({ name: 'UnsentError' })
  expect(seen).toHaveLength(before)
})

test('the server certificate is checked despite NODE_TLS_REJECT_UNAUTHORIZED=0', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  onTestFinished(() => void vi.unstubAllEnvs())
  const before = seen.length
  await expect(openClient({ ca: stranger.ca }).send()).rejects.toMatchObject({ name: 'UnsentError' })
  expect(seen).toHaveLength(before)
})

describe('openssl refuses a certificate for another purpose before it reads a request', () => {
  test.each(['-tls1_2', '-tls1_3'])('with %s', async version => {
    const issued = await authority.issueServer(['localhost'])
    const { port, end } = await serveByOpenssl(version, issued)
    // A server certificate used by a client: a common mistake.
    const { socket } = openClient({ certificate: issued })
    const error = { name: 'UnsentError', message: expect.stringContaining('the service refused the handshake') }
    await expect(socket.fetch(paidRequest(port))).rejects.toMatchObject(error)
    end()
  })
})

/** A server that requires a client certificate, and refuses one with a TLS alert. */
async function serveByOpenssl(version: string, { cert, key }: IssuedCertificate) {
  const folder = temporaryFolder()
  const files = { cert, key, ca: authority.ca }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const flags = ['-accept', '0', '-cert', 'cert', '-key', 'key', '-CAfile', 'ca', '-Verify', '2', version]
  const server: ChildProcess = spawn('openssl', ['s_server', ...flags, '-verify_return_error'], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const port = await new Promise<string>(resolve => {
    let said = ''
    server.stdout?.on('data', text => {
      said += text
      const [, found] = /ACCEPT .*:(\d+)/.exec(said) ?? []
      if (found !== undefined) resolve(found)
    })
  })
  return { port, end: () => server.kill() }
}

test('a request whose connection ends before the TLS handshake was not sent', async () => {
  const rude = createServer(socket => void socket.once('data', () => socket.resetAndDestroy()))
  const port = await listenUntilEnd(rude)
  await expect(openClient().socket.fetch(paidRequest(port))).rejects.toMatchObject({ name: 'UnsentError' })
})
