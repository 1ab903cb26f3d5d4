/** A consent manager behind Fastify: a receipt of each decision, use under a consent, probes and metrics. */
import { AverbaError, httpStatuses, openAverba, type SubjectRef, valueOf } from 'averba'
import { startServices } from 'averba/simulation'
import Fastify from 'fastify'

const services = await startServices() // yours: the options of averba init
const basis = { purpose: 'credit analysis', legalBasis: 'LGPD art. 7, I' }
const averba = await openAverba({ store: 'consent-manager.sqlite', ...services.options, basis })

const app = Fastify({ logger: false })
app.setErrorHandler(async (error, _, reply) => {
  // Codes and hints of averba hold no personal data; anything else stays inside.
  if (!(error instanceof AverbaError)) return reply.code(500).send({ code: 'INTERNAL' })
  return reply.code(httpStatuses[error.code]).send({ code: error.code, hint: error.hint })
})

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

const stop = new AbortController()
const running = averba.run({ signal: stop.signal })
const address = await app.listen({ port: 0, host: '127.0.0.1' })
console.log(address)

process.once('SIGTERM', async () => {
  await app.close()
  stop.abort()
  await running
  await averba.close()
  await services.close()
})
