import { connect, createServer } from 'node:net'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { openSocket, type SocketOptions } from '../../../src/adapters/http/transport.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { createAuthority } from '../../../src/simulation/served/authority.ts'
import { type Peer, serveHttps } from '../../../src/simulation/served/serve.ts'
import { withLimits } from '../../../src/vocabulary/fetch.ts'
import { dayMs, toInstant } from '../../../src/vocabulary/instant.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { authority, openClient } from '../../support/over-tls.ts'

/** Another authority under the same name. */
const stranger = await createAuthority(systemClock.now())
const client = await authority.issueClient('gestora')
const next = await authority.issueClient('gestora-nova')
const seen: Peer[] = []
const answer = async (request: Request, peer: Peer) => {
  seen.push(peer)
  const { pathname } = new URL(request.url)
  if (pathname === '/large') return new Response('x'.repeat(100_000))
  if (pathname === '/never') return new Promise<never>(() => undefined)
  // A body of one byte that never ends.
  if (pathname === '/endless')
    return new Response(new ReadableStream({ start: body => body.enqueue(Buffer.from('x')) }))
  return new Response(`${request.method} ${await request.text()}`)
}
const issued = await authority.issueServer(['localhost', '127.0.0.1', '*.exemplo.br'])
const server = await serveHttps(answer, { ...issued, clientCa: authority.ca })

afterAll(() => server.close())

/** A client of the server, which closes with the test. */
function openHere(options: Partial<SocketOptions> = {}) {
  const socket = openClient(options)
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

/** A request that may cost money, so that it must be known whether it was sent. */
const paidRequest = (port: number | string) => new Request(`https://localhost:${port}/`, { method: 'POST', body: 'x' })

test('the server reads the client name from its certificate', async () => {
  const response = await openHere({ certificate: client }).send('/', { method: 'PUT', body: 'x' })
  expect([response.status, await response.text()]).toEqual([200, 'PUT x'])
  expect(seen.at(-1)).toEqual({ remoteAddress: '127.0.0.1', clientName: 'gestora' })
})

test('the name in a certificate of another authority is ignored', async () => {
  expect(await openHere({ certificate: await stranger.issueClient('gestora') }).name()).toBeUndefined()
  expect(await openHere().name()).toBeUndefined()
})

test('connectTo sends to another port, and the server name is still checked', async () => {
  const to = { host: '127.0.0.1', port: server.port }
  const { socket } = openHere({ connectTo: target => (target.endsWith(':443') ? to : undefined) })
  expect((await socket.fetch(new Request('https://receptor.exemplo.br/'))).status).toBe(200)
  await expectUnsent(socket.fetch(new Request('https://receptor.outro.br/')))
})

test('an answer that is too large or too late fails', async () => {
  const oversized = openHere({ bodyBytesMax: 99_999 }).send('/large')
  await expect(oversized).rejects.toMatchObject({ name: 'OversizedError' })
  expect(await (await openHere({ bodyBytesMax: 100_000 }).send('/large')).text()).toHaveLength(100_000)
  // Until the connection is made in time.
  const late = () => openHere({ budgetMs: 200 }).send('/never')
  await expect.poll(() => late().catch(error => error.name)).toBe('TimeoutError')
})

describe('an answer as a stream', () => {
  test('is complete, and fails while it is read if it is too large', async () => {
    expect(await (await openHere().stream('/large')).text()).toHaveLength(100_000)
    const answer = await openHere({ bodyBytesMax: 99_999 }).stream('/large')
    await expect(answer.text()).rejects.toMatchObject({ name: 'OversizedError' })
  })

  test('can be cancelled while waiting for a chunk', async () => {
    const response = await openHere({ budgetMs: 120_000 }).stream('/endless')
    const reader = response.body?.getReader()
    expect((await reader?.read())?.value).toHaveLength(1)
    const more = reader?.read()
    await new Promise(resolve => setImmediate(resolve)) // The read waits for the socket now.
    await reader?.cancel()
    expect(await more).toMatchObject({ done: true })
  })

  test('calls back when it is connected, and not when the connection fails', async () => {
    const { socket, stream } = openHere()
    const onConnected = vi.fn()
    for (let i = 0; i < 2; i++) await (await stream('/', onConnected)).text()
    expect(onConnected).toHaveBeenCalledTimes(2)
    await expectUnsent(socket.stream(new Request('https://localhost:1/'), onConnected))
    expect(onConnected).toHaveBeenCalledTimes(2)
  })
})

/** A client that asks for its certificate, at the time of the certificates. `use` gives it another one, a minute later. */
function openRotating(options: Partial<SocketOptions> = {}, aheadMs = 0) {
  const clock = new VirtualClock(toInstant(Date.now() + aheadMs))
  const reported: string[] = []
  const onTrouble = ({ message }: Error) => void reported.push(message)
  let give = (): typeof client | Promise<typeof client> => client
  const use = async (next: typeof give, afterMs = 60_000) => {
    give = next
    await clock.advance(afterMs)
  }
  return { ...openHere({ clock, certificate: () => give(), onTrouble, ...options }), clock, reported, use }
}

test('a rotated certificate is used without a restart, and a wrong one can be corrected', async () => {
  const { name, clock, use } = openRotating()
  await use(() => ({ ...client, key: 'x' }), 0)
  await expect(name()).rejects.toMatchObject({ code: 'MISCONFIGURED' })
  for (const certificate of [client, next]) {
    await use(() => certificate, 0)
    expect(await name()).toBe('gestora')
  }
  await clock.advance(60_000)
  expect(await name()).toBe('gestora-nova')
})

test('the old certificate stays in use when the vault is down or a file is half-written', async () => {
  const { name, use, reported } = openRotating()
  expect(await name()).toBe('gestora')
  for (const half of [
    () => {
      throw new Error('the vault is sealed')
    },
    () => ({ ...client, cert: next.cert }),
    () => ({ ...next, cert: `${next.cert}\n${next.cert}\n${next.cert.slice(0, 99)}` }),
    // Functions may return what their types forbid.
    () => undefined as never,
    () => ({}) as never,
  ]) {
    await use(half)
    for (const _ of [1, 2]) expect(await name()).toBe('gestora')
  }
  expect(reported).toEqual([
    'Cannot get the client certificate: the function that gives it failed',
    'Cannot use the client certificate: its key belongs to another certificate',
    'Cannot use the client certificate: TLS refuses it or its chain',
    'Cannot use the client certificate: it has neither cert and key nor pfx',
    'Cannot use the client certificate: it has neither cert and key nor pfx',
  ])
  await use(() => next)
  expect(await name()).toBe('gestora-nova')
})

test('a burst of first requests, or after a rotation, loads the certificate once', async () => {
  const certificate = vi.fn(async () => next).mockResolvedValueOnce(client)
  const { send, clock } = openRotating({ certificate })
  for (const times of [1, 2]) {
    const burst = await Promise.all(Array.from({ length: 20 }, () => send()))
    expect(burst.map(response => response.status)).toEqual(Array(20).fill(200))
    expect(certificate).toHaveBeenCalledTimes(times)
    await clock.advance(60_000)
  }
})

test('a certificate that is not valid yet does not replace the current one', async () => {
  // Certificates issued now are valid from a day ago, by the clock of this machine.
  const { name, clock, use, reported } = openRotating({}, -3 * dayMs)
  expect(await name()).toBe('gestora')
  await use(() => next)
  expect(await name()).toBe('gestora')
  expect(reported).toEqual([expect.stringContaining('it is not valid before 20')])
  await clock.advance(3 * dayMs)
  expect(await name()).toBe('gestora-nova')
})

test('the time that a vault takes does not count as time of the request', async () => {
  const budgetMs = 2_000
  const { send, use } = openRotating({ budgetMs })
  // The first certificate is waited for: there is no other one yet.
  await use(() => systemClock.sleep(budgetMs + 10).then(() => client), 0)
  expect((await send()).status).toBe(200)
})

test('an expired certificate is never presented, and its replacement is used at once', async () => {
  const later = await createAuthority(systemClock.now() + 366 * dayMs)
  const asked = openRotating()
  const fixed = openHere({ clock: asked.clock, certificate: client })
  await Promise.all([fixed.send(), asked.send()])
  await asked.clock.advance(366 * dayMs)
  const before = seen.length
  const ended = { code: 'MISCONFIGURED', message: expect.stringContaining('it expired on 20') }
  for (const { send } of [fixed, asked]) await expect(send()).rejects.toMatchObject(ended)
  expect(seen).toHaveLength(before)
  const renewed = await later.issueClient('gestora-nova')
  await asked.use(() => renewed, 0)
  expect((await asked.send()).status).toBe(200)
  await expect(fixed.send()).rejects.toMatchObject(ended)
})

test('a vault that hangs delays a request only briefly while the certificate is valid', async () => {
  const { send, name, use } = openRotating({ budgetMs: 3_000 })
  const vault = Promise.withResolvers<typeof client>()
  await send()
  await use(() => vault.promise)
  // The vault answers only after both requests.
  for (const _ of [1, 2]) expect((await send()).status).toBe(200)
  vault.resolve(next)
  await expect.poll(name).toBe('gestora-nova')
})

/** Expects that a request fails without having been sent, and does not reach the server. */
async function expectUnsent(sending: Promise<Response>, message: unknown = expect.any(String)): Promise<void> {
  const before = seen.length
  await expect(sending).rejects.toMatchObject({ name: 'UnsentError', message })
  expect(seen).toHaveLength(before)
}

test('a request whose connection is made after its time limit was not sent', async () => {
  const budgetMs = 300
  const slow = createServer(socket => {
    socket.on('error', () => undefined)
    const timer = setTimeout(() => socket.pipe(connect(server.port, '127.0.0.1')).pipe(socket), budgetMs + 60)
    socket.once('close', () => clearTimeout(timer))
  })
  await expectUnsent(openHere({ budgetMs }).socket.fetch(paidRequest(await listenUntilEnd(slow))))
})

test('a request whose connection ends before the TLS handshake was not sent', async () => {
  const rude = createServer(socket => void socket.once('data', () => socket.resetAndDestroy()))
  await expectUnsent(openHere().socket.fetch(paidRequest(await listenUntilEnd(rude))))
})

test('a call that this process no longer holds once it is connected does not leave', async () => {
  const { socket, send } = openHere()
  // Asked when the connection exists, also for one that was used before.
  for (const _ of ['new', 'kept']) {
    await expectUnsent(socket.fetch(withLimits(paidRequest(server.port), { mayLeave: () => false })))
    await send()
  }
  const held = withLimits(paidRequest(server.port), { mayLeave: () => true })
  expect((await socket.fetch(held)).status).toBe(200)
})

test.each([true, false])('a closed client sends nothing (used before: %s)', async isUsed => {
  const socket = openSocket({ clock: systemClock, ca: authority.ca })
  if (isUsed) await socket.fetch(paidRequest(server.port))
  await socket.close()
  await expectUnsent(socket.fetch(paidRequest(server.port)))
})

test('closing a client does not wait for an answer that is still to come', async () => {
  const { socket, stream } = openHere()
  const reading = (await stream('/endless')).text()
  await Promise.all([socket.close(), expect(reading).rejects.toMatchObject({ code: 'UND_ERR_DESTROYED' })])
})

test('the server certificate is checked despite NODE_TLS_REJECT_UNAUTHORIZED=0', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  await expectUnsent(openHere({ ca: stranger.ca }).send())
})
