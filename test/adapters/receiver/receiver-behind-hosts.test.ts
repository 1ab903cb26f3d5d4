import { createServer, request as httpRequest, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import express from 'express'
import { fastify, type RouteHandlerMethod } from 'fastify'
import { Hono } from 'hono'
import { expect, onTestFinished, test } from 'vitest'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { openClient, own } from '../../support/over-tls.ts'
import { givenReceiver } from './given-receiver.ts'

const body = '{"numero": "26BR1", "situacao": "não ✓" }'
const sources = ['127.0.0.1/32']

async function post(url: string, fetch: (request: Request) => Promise<Response> = globalThis.fetch, secret = 'certa') {
  const headers = { 'content-type': 'application/json', 'event-type': 'e', secret, connection: 'close' }
  const answer = await fetch(new Request(url, { method: 'POST', headers, body }))
  return { status: answer.status, text: await answer.text() }
}

const consumed = 'Cannot read the notification: its body was consumed before'
const advice = '. Put the receiver before any body parser\n'

/**
 * Checks a receiver at one address of a host, and behind something that consumed the body at another. What the host
 * passes on besides the body is the address of the connection, and every header.
 */
async function expectReceiver(
  { bodies, reported }: ReturnType<typeof givenReceiver>,
  [right, wrong]: readonly [string, string],
  text = consumed + advice,
): Promise<void> {
  expect(await post(right)).toEqual({ status: 200, text: '' })
  expect((await post(right, openClient({ localAddress: '127.9.9.9' }).fetch)).status).toBe(403)
  expect((await post(right, globalThis.fetch, 'falsa')).status).toBe(401)
  expect(await post(wrong)).toEqual({ status: 500, text })
  expect(bodies().map(String)).toEqual([body])
  expect(reported).toEqual(['403', '401', `e BODY_CONSUMED: ${consumed}`])
}

test('Express: works before the body parser, and reports a consumed body after it', async () => {
  const given = givenReceiver({ sources })
  const right = express().post('/averba', given.receiver.listener).use(express.json())
  const wrong = express().use(express.json()).post('/averba', given.receiver.listener)
  const listen = async (app: express.Express) => `http://127.0.0.1:${await listenUntilEnd(createServer(app))}/averba`
  await expectReceiver(given, [await listen(right), await listen(wrong)])
})

test('Fastify: works in a plugin without parsers, and reports a consumed body elsewhere', async () => {
  const given = givenReceiver({ sources })
  const host = fastify()
  onTestFinished(() => host.close())
  const take: RouteHandlerMethod = (request, reply) => {
    reply.hijack()
    given.receiver.listener(request.raw, reply.raw)
  }
  host.register(async own => {
    own.removeAllContentTypeParsers()
    own.addContentTypeParser('*', (_request, _payload, done) => done(null))
    own.post('/averba', take)
  })
  host.post('/wrong', take)
  host.post('/echo', async request => request.body)
  const address = await host.listen({ port: 0, host: '127.0.0.1' })
  await expectReceiver(given, [`${address}/averba`, `${address}/wrong`])
  expect(await post(`${address}/echo`)).toEqual({ status: 200, text: '{"numero":"26BR1","situacao":"não ✓"}' })
})

test('Hono: works with the raw request and its address, and reports a consumed body', async () => {
  const given = givenReceiver({ sources })
  const app = new Hono()
  app.use('/wrong', async (context, next) => {
    await context.req.json()
    await next()
  })
  app.on('POST', ['/averba', '/wrong'], context => {
    return given.receiver.fetch(context.req.raw, { remoteAddress: getConnInfo(context).remote.address ?? '' })
  })
  app.onError((error, context) => context.text(error.message, 500))
  const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0, overrideGlobalObjects: false })
  onTestFinished(() => new Promise<void>(resolve => void server.close(() => resolve())))
  await new Promise<void>(resolve => (server.listening ? resolve() : server.once('listening', resolve)))
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await expectReceiver(given, [`${address}/averba`, `${address}/wrong`], consumed)
})

test('behind a TLS proxy the address is the one that the proxy saw, not what the client claims', async () => {
  const { receiver, bodies, reported } = givenReceiver({ trustedProxies: 1, sources: ['127.9.9.0/24'] })
  const behind = `http://127.0.0.1:${await listenUntilEnd(createServer(receiver.listener))}/averba`
  const front = `https://localhost:${await listenUntilEnd(createHttpsServer(own, forwardTo(behind)))}/averba`
  const from = (localAddress: string) => (request: Request) => {
    request.headers.set('x-forwarded-for', '127.9.9.9')
    return openClient({ localAddress }).fetch(request)
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
