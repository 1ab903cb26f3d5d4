import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadTracing } from '../../../src/adapters/opentelemetry.ts'
import type { AverbaOptions } from '../../../src/index.ts'
import { samples, type World } from '../../../src/simulation/index.ts'
import { noTracing } from '../../../src/vocabulary/tracing.ts'
import { openWorld } from '../../support/world.ts'

let exporter: InMemorySpanExporter

// As in a host with telemetry.
beforeEach(() => {
  exporter = new InMemorySpanExporter()
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }))
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
})

afterEach(() => {
  for (const api of [trace, context, propagation]) api.disable()
})

const named = (name: string): ReadableSpan[] =>
  exporter.getFinishedSpans().filter(span => span.name === `averba ${name}`)

/** A world that records the headers of every request, and what another instrumentation would add. */
async function givenWorld(averba: Partial<AverbaOptions> = {}) {
  const sent: { host: string; traceparent: string | null; injected: object }[] = []
  const world: World = await openWorld({
    averba: { subscriptions: [{ evento: 'e', chaveSecreta: 'segredo-canario' }], ...averba },
    async intercept(request, forward) {
      const injected = {}
      propagation.inject(context.active(), injected)
      trace.getTracer('another').startSpan(`HEAD ${request.url}`).end()
      const { hostname: host } = new URL(request.url)
      sent.push({ host, traceparent: request.headers.get('traceparent'), injected })
      return forward(request)
    },
  })
  return { world, sent }
}

test('a command, its attempts and a notification are spans with their outcome; no service receives a trace', async () => {
  const { world, sent } = await givenWorld()
  const { averba } = world
  await world.faults.add({ kind: 'status', status: 503, service: 'validationService', times: 1 })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await averba.consents.sync({ subject })
  await averba.consents.approve({ subject, id: 'never-heard-of' }).catch(() => undefined)
  await averba.validations.validate({ id: 'v1', cpf: samples.cpf, claims: { nome: 'CANARIO RECLAMADO' } })
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const headers = { 'event-type': 'e', secret: 'segredo-canario', traceparent }
  const request = new Request('https://receptor.exemplo.br/averba', {
    method: 'POST',
    body: '{"x":"canario"}',
    headers,
  })
  await averba.receiver.fetch(request, { remoteAddress: '161.148.0.1' })
  await world.close()
  expect(new Set(sent.map(each => each.traceparent))).toEqual(new Set([null]))

  const [sync] = named('consents.sync')
  expect(sync).toMatchObject({
    kind: SpanKind.INTERNAL,
    attributes: { 'averba.method': 'consents.sync', 'averba.outcome': 'settled', 'averba.replayed': false },
  })
  const [read] = named('consentService.listConsents')
  expect(read).toMatchObject({
    kind: SpanKind.CLIENT,
    parentSpanContext: { spanId: sync?.spanContext().spanId },
    attributes: { 'averba.operation': 'consentService.listConsents', 'averba.attempt': 1, 'averba.outcome': 'settled' },
  })
  const outcomes = (name: string) => named(name).map(({ attributes }) => attributes['averba.outcome'])
  expect(outcomes('consents.enrol')).toEqual(['recorded'])
  expect(outcomes('tokenService.requestToken')).toEqual(['settled'])
  expect(outcomes('validationService.validatePerson')).toEqual(['unknown'])
  // A sender of a notification does not choose its trace.
  const attributes = { 'http.response.status_code': 200 }
  expect(named('notification')).toMatchObject([{ kind: SpanKind.SERVER, attributes }])
  expect(named('notification')[0]?.parentSpanContext).toBeUndefined()
})

test('a refused request appears with its code only, and no input is in a span', async () => {
  const { world } = await givenWorld()
  const { averba } = world
  const remoteId = world.consentService.addConsent({ cpf: samples.cpf, status: 'NEGADO' })
  await averba.consents.enrol({ cpf: samples.cpf })
  await averba.consents.sync({ cpf: samples.cpf })
  const which = { cpf: samples.cpf, id: remoteId }
  await expect(averba.consents.approve(which, { reason: 'motivo-canario' })).rejects.toThrow()
  const claims = { nome: 'CANARIO RECLAMADO' }
  await averba.validations.validate({ id: 'id-canario', cpf: samples.cpf, claims })
  await world.close()
  const refusal = { status: { code: SpanStatusCode.ERROR }, attributes: { 'error.type': 'REFUSED' }, events: [] }
  expect(named('consents.approve')).toMatchObject([refusal])
  const spans = exporter.getFinishedSpans().filter(span => span.name.startsWith('averba '))
  expect(spans.length).toBeGreaterThan(5)
  const spansText = JSON.stringify(spans.map(span => [span.name, span.attributes, span.status, span.events]))
  const canaries = [samples.cpf, remoteId, 'canario', 'CANARIO', 'chave-de-exemplo', 'segredo-de-exemplo']
  expect(canaries.filter(canary => spansText.includes(canary))).toEqual([])
})

test('only named services receive the traceparent, and other instrumentation sees no address with a CPF', async () => {
  const { world, sent } = await givenWorld({ tracing: { traceparentTo: ['validationService'] } })
  await world.averba.consents.enrol({ cpf: samples.cpf })
  await world.averba.consents.sync({ cpf: samples.cpf })
  await world.averba.validations.validate({ id: 'v1', cpf: samples.cpf, claims: { sexo: 'F' } })
  await world.close()
  expect(exporter.getFinishedSpans().filter(span => !span.name.startsWith('averba '))).toEqual([])
  const [attempt] = named('validationService.validatePerson')
  const { traceId, spanId } = attempt?.spanContext() ?? {}
  expect(sent).toEqual([
    { host: 'consentimento.exemplo.br', traceparent: null, injected: {} },
    { host: 'gateway.exemplo.br', traceparent: null, injected: {} },
    { host: 'validacao.exemplo.br', traceparent: `00-${traceId}-${spanId}-01`, injected: {} },
  ])
})

test('without the OpenTelemetry package there are no spans and everything works', async () => {
  const tracing = await loadTracing(() => Promise.reject(new Error('Cannot find package')))
  expect(tracing).toBe(noTracing)
  expect(await tracing.span('internal', 'a', {}, async () => 7)).toBe(7)
  expect(tracing.traceparent()).toBeUndefined()
})

test('what run does is in no span that was open when it began', async () => {
  const { world } = await givenWorld()
  const { averba, clock } = world
  const stop = new AbortController()
  const running = trace.getTracer('host').startActiveSpan('boot', span => {
    const begun = averba.run({ signal: stop.signal })
    span.end()
    return begun
  })
  const boot = exporter.getFinishedSpans().find(span => span.name === 'boot')
  await world.faults.add({ kind: 'status', status: 503, service: 'consentService', times: 1 })
  await clock.finish(averba.consents.sync({ subject: await averba.consents.enrol({ cpf: samples.cpf }) }))
  await clock.advance(60_000)
  const attempts = named('consentService.listConsents')
  expect(attempts.map(span => span.attributes['averba.attempt'])).toEqual([1, 2])
  expect(attempts[1]?.parentSpanContext).toBeUndefined()
  expect(attempts[1]?.spanContext().traceId).not.toBe(boot?.spanContext().traceId)
  stop.abort()
  await clock.finish(running)
})
