import { type Context, Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { z } from 'zod'
import { statusSchema } from '../../adapters/consent/wire.ts'
import { limits, recipientIdForms, recipientKinds } from '../../adapters/portal/wire.ts'
import { claimsSchema } from '../../adapters/validation/wire.ts'
import { isCpf } from '../../vocabulary/cpf.ts'
import { type Fault, faultSchema } from '../faults/fault.ts'
import type { ReceivedRequest } from '../services/received-requests.ts'

const shortText = z.string().min(1).max(500)
/** A record with an invalid CPF could never be read, because the services reject its address. */
const cpfSchema = shortText.refine(isCpf, 'must be a CPF: eleven digits, the last two are check digits')
const bodySchemas = {
  advance: z.strictObject({ ms: z.int().nonnegative() }),
  consent: z.strictObject({
    cpf: cpfSchema,
    cnpj: shortText.optional(),
    status: statusSchema.optional(),
    expiresInMs: z.int().optional(),
  }),
  awareness: z.strictObject({ cpf: cpfSchema, cnpj: shortText.optional() }),
  person: claimsSchema.extend({ cpf: cpfSchema }),
  notification: z
    .strictObject({
      evento: shortText.max(limits.evento),
      destinatarioTipo: z.enum(recipientKinds),
      destinatarioId: shortText,
      body: z.unknown(),
    })
    .refine(({ destinatarioTipo, destinatarioId }) => recipientIdForms[destinatarioTipo].test(destinatarioId), {
      path: ['destinatarioId'],
      error: 'must have the format of its destinatarioTipo: 11 digits of a CPF, 14 characters of a CNPJ',
    }),
  connection: z.strictObject({ from: shortText, to: shortText }),
}

/** The operations that the control server offers on a simulated world. Bodies are already validated. */
export interface ControlledWorld {
  advance(ms: number): Promise<string>
  addConsent(consent: z.infer<typeof bodySchemas.consent>): string
  addAwareness(awareness: z.infer<typeof bodySchemas.awareness>): string
  addPerson(person: z.infer<typeof bodySchemas.person>): void
  notify(notification: z.infer<typeof bodySchemas.notification>): Promise<unknown>
  /** Resolves when the fault is active. */
  addFault(fault: Fault): Promise<void>
  endFaults(): void
  connect(from: { host: string }, to: { host: string; port: number }): void
  requests(): readonly ReceivedRequest[]
  reset(): void
}

/** Creates the handler of the control server: JSON in, JSON out. */
export function createControl(world: ControlledWorld): (request: Request) => Promise<Response> {
  const app = new Hono()

  const post = <T>(path: string, schema: z.ZodType<T>, act: (body: T) => unknown) =>
    app.post(path, async context => {
      const parsed = schema.safeParse(await readJson(context))
      if (!parsed.success) return rejectBody(context, parsed.error)
      return context.json(((await act(parsed.data)) ?? {}) as object) // What each act returns is JSON.
    })

  post('/clock/advance', bodySchemas.advance, async ({ ms }) => ({ now: await world.advance(ms) }))
  post('/consents', bodySchemas.consent, consent => ({ id: world.addConsent(consent) }))
  post('/awareness', bodySchemas.awareness, record => ({ id: world.addAwareness(record) }))
  post('/persons', bodySchemas.person, person => world.addPerson(person))
  post('/notifications', bodySchemas.notification, async notice => ({
    deliveries: await world.notify(notice),
  }))
  post('/faults', faultSchema, fault => world.addFault(fault))
  app.delete('/faults', context => {
    world.endFaults()
    return context.json({})
  })
  app.post('/connect-to', async context => {
    const parsed = bodySchemas.connection.safeParse(await readJson(context))
    if (!parsed.success) return rejectBody(context, parsed.error)
    const from = /^(.+):443$/.exec(parsed.data.from)
    const to = /^(127\.\d+\.\d+\.\d+|localhost):(\d+)$/.exec(parsed.data.to)
    if (!from || !to)
      return context.json({ error: '"from" must be host:443, and "to" an address of this machine' }, 400)
    world.connect({ host: from[1] ?? '' }, { host: to[1] ?? '', port: Number(to[2]) })
    return context.json({})
  })
  app.get('/requests', context => context.json([...world.requests()]))
  app.post('/reset', context => {
    world.reset()
    return context.json({})
  })
  const controls = app.routes.map(({ method, path }) => `${method} ${path}`)
  app.notFound(context => context.json({ error: 'unknown control', controls }, 404))
  return async request => app.fetch(request)
}

/** Reads the body as JSON, or answers 400. */
async function readJson({ req }: Context): Promise<unknown> {
  return req.json().catch(() => {
    throw new HTTPException(400, { res: Response.json({ error: 'the body is not JSON' }, { status: 400 }) })
  })
}

function rejectBody(context: Context, error: z.ZodError): Response {
  const fields = error.issues.map(issue => `${issue.path.join('.') || 'body'}: ${issue.message}`)
  return context.json({ error: fields.join('; ') }, 400)
}
