import { createServer, request as httpRequest, type RequestListener, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import express from 'express'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import { expect, onTestFinished, test } from 'vitest'
import { openSocket } from '../../../src/adapters/http/transport.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { createAuthority } from '../../../src/simulation/served/authority.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { givenReceiver } from './given-receiver.ts'

const body = '{"numero": "26BR1", "situacao": "não ✓" }'

const sources = ['127.0.0.1/32']

/** Listens on loopback until the test has ended. */
async function listen(server: Server): Promise<string> {
  return `http://127.0.0.1:${await listenUntilEnd(server)}/averba`
}

/** Checks what the host passes on besides the body: the address of the connection, and every header. */
async function expectRefusals(url: string): Promise<void> {
  const elsewhere = openSocket({ clock: systemClock, localAddress: '127.9.9.9' })
  onTestFinished(elsewhere.close)
  expect((await post(url, elsewhere.fetch)).status).toBe(403)
  expect((await post(url, globalThis.fetch, 'falsa')).status).toBe(401)
}

async function post(url: string, fetch: (request: Request) => Promise<Response> = globalThis.fetch, secret = 'certa') {
  const headers = { 'content-type': 'application/json', 'event-type': 'e', secret }
  const sent = new Request(url, { method: 'POST', headers: { ...headers, connection: 'close' }, body })
  const answer = await fetch(sent)
  return { status: answer.status, text: await answer.text() }
}

const consumed = {
  status: 500,
  text: 'Cannot read the notification: its body was consumed before. Put the receiver before any body parser\n',
}

test('Express: works before the body parser, and reports a consumed body after it', async () => {
  const { receiver, bodies, reported } = givenReceiver({ sources })
  const right = express().post('/averba', receiver.listener).use(express.json())
  const url = await listen(createServer(right))
  expect(await post(url)).toEqual({ status: 200, text: '' })
  expect(bodies().map(String)).toEqual([body])
  await expectRefusals(url)
  const wrong = express().use(express.json()).post('/averba', receiver.listener)
  expect(await post(await listen(createServer(wrong)))).toEqual(consumed)
  expect(bodies()).toHaveLength(1)
  expect(reported).toEqual([
    '403',
    '401',
    'e BODY_CONSUMED: Cannot read the notification: its body was consumed before',
  ])
})

test('Fastify: works in a plugin without parsers, and reports a consumed body elsewhere', async () => {
  const { receiver, bodies, reported } = givenReceiver({ sources })
  const host = fastify()
  onTestFinished(() => host.close())
  host.register(async own => {
    own.removeAllContentTypeParsers()
    own.addContentTypeParser('*', (_request, _payload, done) => done(null))
    own.post('/averba', (request, reply) => {
      reply.hijack()
      receiver.listener(request.raw, reply.raw)
    })
  })
  host.post('/wrong', (request, reply) => {
    reply.hijack()
    receiver.listener(request.raw, reply.raw)
  })
  host.post('/echo', async request => request.body)
  const address = await host.listen({ port: 0, host: '127.0.0.1' })
  expect(await post(`${address}/averba`)).toEqual({ status: 200, text: '' })
  expect(bodies().map(String)).toEqual([body])
  await expectRefusals(`${address}/averba`)
  expect(await post(`${address}/wrong`)).toEqual(consumed)
  expect(reported).toEqual([
    '403',
    '401',
    'e BODY_CONSUMED: Cannot read the notification: its body was consumed before',
  ])
  expect(await post(`${address}/echo`)).toEqual({
    status: 200,
    text: '{"numero":"26BR1","situacao":"não ✓"}',
  })
})

test('Hono: works with the raw request and its address, and reports a consumed body', async () => {
  const { receiver, bodies, reported } = givenReceiver({ sources })
  const app = new Hono()
  app.post('/averba', context => {
    return receiver.fetch(context.req.raw, { remoteAddress: getConnInfo(context).remote.address ?? '' })
  })
  app.use('/wrong', async (context, next) => {
    await context.req.json()
    await next()
  })
  app.post('/wrong', context => receiver.fetch(context.req.raw, { remoteAddress: '127.0.0.1' }))
  app.onError((error, context) => context.text(error.message, 500))
  const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0, overrideGlobalObjects: false })
  onTestFinished(() => new Promise<void>(resolve => void server.close(() => resolve())))
  await new Promise<void>(resolve => (server.listening ? resolve() : server.once('listening', resolve)))
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  expect(await post(`${address}/averba`)).toEqual({ status: 200, text: '' })
  expect(bodies().map(String)).toEqual([body])
  await expectRefusals(`${address}/averba`)
  const { status, text } = await post(`${address}/wrong`)
  expect([status, text]).toEqual([500, 'Cannot read the notification: its body was consumed before'])
  expect(reported).toEqual([
    '403',
    '401',
    'e BODY_CONSUMED: Cannot read the notification: its body was consumed before',
  ])
})

test('behind a TLS proxy the address is the one that the proxy saw, not what the client claims', async () => {
  const portal = ['127.9.9.0/24']
  const { receiver, bodies, reported } = givenReceiver({ trustedProxies: 1, sources: portal })
  const behind = await listen(createServer(receiver.listener))
  const authority = await createAuthority(systemClock.now())
  const proxy = createHttpsServer(await authority.issueServer(['localhost']), forwardTo(behind))
  const front = (await listen(proxy)).replace('http:', 'https:').replace('127.0.0.1', 'localhost')
  const from = (localAddress: string) => {
    const socket = openSocket({ clock: systemClock, ca: authority.ca, localAddress })
    onTestFinished(socket.close)
    return (request: Request) => {
      request.headers.set('x-forwarded-for', '127.9.9.9')
      return socket.fetch(request)
    }
  }
  expect((await post(front, from('127.9.9.1'))).status).toBe(200)
  expect(bodies().map(String)).toEqual([body])
  expect((await post(front, from('127.0.0.1'))).status).toBe(403)
  // Without the proxy the address is not trusted.
  expect((await post(behind)).status).toBe(403)
  expect(reported).toEqual(['403', '403'])
})

/** Acts as a proxy: adds the address that it sees, and forwards the rest. */
function forwardTo(url: string): RequestListener {
  return (incoming, outgoing) => {
    const seen = [incoming.headers['x-forwarded-for'], incoming.socket.remoteAddress].flat().join(', ')
    const headers = { ...incoming.headers, 'x-forwarded-for': seen }
    const sent = httpRequest(url, { method: incoming.method ?? '', headers }, answer => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    incoming.pipe(sent)
  }
}
