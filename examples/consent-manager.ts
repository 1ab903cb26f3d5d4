/** A consent manager behind Fastify: receipts, use under a consent, a probe, log lines by pino, Prometheus metrics. */
import { AverbaError, httpStatuses, openAverba, type SubjectRef, valueOf } from 'averba'
import { startServices } from 'averba/simulation'
import Fastify, { type FastifyError } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'

const services = await startServices() // yours: the options of averba init
const basis = { purpose: 'credit analysis', legalBasis: 'LGPD art. 7, I' }

// Fastify logs with pino. A stranger may write a CPF into an address: a line has the route's pattern instead.
const app = Fastify({
  logger: { serializers: { req: ({ method, routeOptions }) => ({ method, route: routeOptions.url }) } },
})
const averba = await openAverba({
  ...{ store: 'consent-manager.sqlite', ...services.options, basis },
  logger: ({ level, message, ...fields }) => app.log[level](fields, message),
})

app.setErrorHandler<FastifyError>(async (error, { log }, reply) => {
  // Codes and hints of averba hold no personal data; anything else may quote some, and stays inside.
  log.warn({ error: error.code ?? error.name }, 'not done')
  if (error instanceof AverbaError)
    return reply.code(httpStatuses[error.code]).send({ code: error.code, hint: error.hint })
  // That of Fastify has a status, such as 400 for a body that is no JSON.
  const { statusCode = 500 } = error
  return reply.code(statusCode).send({ code: statusCode < 500 ? 'BAD_REQUEST' : 'INTERNAL' })
})
// That of Fastify logs the address.
app.setNotFoundHandler((_, reply) => reply.code(404).send({ code: 'NOT_FOUND' }))

// Under the names that they have in `averba run`, so that its alerts on them fit. No label holds personal data.
const register = new Registry()
const registers = [register]
collectDefaultMetrics({ register })
const labelNames = ['operation', 'outcome'] as const
const attempts = new Counter({ name: 'averba_attempts_total', help: 'Ended attempts at calls.', labelNames, registers })
averba.on('attempted', ({ operation, outcome }) => attempts.inc({ operation, outcome }))
const ready = new Gauge({ name: 'averba_ready', help: 'Whether averba is ready for work.', registers })
const checks = new Gauge({ name: 'averba_check_ok', help: 'Whether a check is ok.', labelNames: ['check'], registers })

/** Enrols a person and reads their consents. The CPF comes in the body: addresses are logged by others. */
app.post<{ Body: { cpf: string } }>('/subjects', async ({ body }) => {
  const subject = await averba.consents.enrol({ cpf: body.cpf })
  valueOf(await averba.consents.sync({ subject }))
  const consents = await averba.consents.list({ subject })
  return { subject, consents: consents.map(({ id, status, dataExpiracao }) => ({ id, status, dataExpiracao })) }
})

type OfConsent = { Params: { subject: SubjectRef; id: string } }

/** Revokes a consent. The request's own id makes a repeated request the same one. */
app.post<OfConsent>('/subjects/:subject/consents/:id/revocation', async ({ params, headers }, reply) => {
  const commandId = headers['idempotency-key']
  if (typeof commandId !== 'string') return reply.code(400).send({ code: 'IDEMPOTENCY_KEY_MISSING' })
  const outcome = await averba.consents.revoke(params, { commandId, actor: { kind: 'subject', ref: params.subject } })
  // Until the service has confirmed it nothing is used under it: 202 is a promise.
  return reply
    .code(outcome.status === 'settled' ? 200 : 202)
    .send({ status: outcome.status, position: outcome.position })
})

/** Uses data under a consent: refused, with a record, unless it is effective by a reading of the last hour. */
app.post<OfConsent>('/subjects/:subject/consents/:id/use', async ({ params }) => {
  const { effective, until } = await averba.consents.use({ ...params, ageMaxMs: 3_600_000 })
  return { effective, until }
})

/** The receipt: whether the consent was valid now, with the proof that its events are in the log. */
app.get<OfConsent>('/subjects/:subject/consents/:id/receipt', async ({ params }, reply) => {
  const page = await averba.audit.prove({ consent: params, at: new Date().toISOString() }, { format: 'html' })
  return reply.type('text/html; charset=utf-8').send(page)
})

app.get('/readyz', async (_, reply) => {
  const { ready, reasons } = await averba.health()
  return reply.code(ready ? 200 : 503).send({ ready, reasons })
})

app.get('/metrics', async (_, reply) => {
  const health = await averba.health()
  ready.set(Number(health.ready))
  for (const { name, ok } of health.checks) checks.set({ check: name }, Number(ok))
  return reply.type(register.contentType).send(await register.metrics())
})

const stop = new AbortController()
const running = averba.run({ signal: stop.signal })
await app.listen({ port: 0, host: '127.0.0.1' }) // logs its address

process.once('SIGTERM', async () => {
  await app.close()
  stop.abort()
  await running
  await averba.close()
  await services.close()
})
