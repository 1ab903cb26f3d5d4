import { type Context, Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { z } from 'zod'
import { statusSchema } from '../../adapters/consent/wire.ts'
import { limits, recipientIdForms, recipientKinds } from '../../adapters/portal/wire.ts'
import { claimsSchema } from '../../adapters/validation/wire.ts'
import { isCpf } from '../../vocabulary/cpf.ts'
import { type Fault, faultSchema } from '../faults/fault.ts'
import type { ReceivedRequest } from '../services/received-requests.ts'

const text = z.string().min(1).max(500)
/** A record under an invalid CPF could never be read: the services refuse its address. */
const cpf = text.refine(isCpf, 'it is not a CPF: eleven digits, the last two of which check the others')
const bodies = {
  advance: z.strictObject({ ms: z.int().nonnegative() }),
  consent: z.strictObject({
    cpf,
    cnpj: text.optional(),
    status: statusSchema.optional(),
    expiresInMs: z.int().optional(),
  }),
  awareness: z.strictObject({ cpf, cnpj: text.optional() }),
  person: claimsSchema.extend({ cpf }),
  notification: z
    .strictObject({
      evento: text.max(limits.evento),
      destinatarioTipo: z.enum(recipientKinds),
      destinatarioId: text,
      body: z.unknown(),
    })
    .refine(
      ({ destinatarioTipo, destinatarioId }) => recipientIdForms[destinatarioTipo].test(destinatarioId),
      {
        path: ['destinatarioId'],
        error: 'it is not in the format of its destinatarioTipo: 11 digits of a CPF, 14 characters of a CNPJ',
      },
    ),
  connection: z.strictObject({ from: text, to: text }),
}

/** What the control server can do to a simulated world. Each body has been checked. */
export interface Controlled {
  advance(ms: number): Promise<string>
  addConsent(consent: z.infer<typeof bodies.consent>): string
  addAwareness(awareness: z.infer<typeof bodies.awareness>): string
  addPerson(person: z.infer<typeof bodies.person>): void
  notify(notification: z.infer<typeof bodies.notification>): Promise<unknown>
  /** Resolves when the fault is in force. */
  addFault(fault: Fault): Promise<void>
  endFaults(): void
  connect(from: { host: string }, to: { host: string; port: number }): void
  requests(): readonly ReceivedRequest[]
  reset(): void
}

/** The control server of simulated services: JSON in, JSON out, on loopback. */
export function createControl(world: Controlled): (request: Request) => Promise<Response> {
  const app = new Hono()

  /** A route whose body is checked first: faults are named by its fields. */
  const post = <T>(path: string, schema: z.ZodType<T>, act: (body: T) => unknown) =>
    app.post(path, async context => {
      const parsed = schema.safeParse(await bodyOf(context))
      if (!parsed.success) return refuse(context, parsed.error)
      return context.json(((await act(parsed.data)) ?? {}) as object) // What each act returns is JSON.
    })

  post('/clock/advance', bodies.advance, async ({ ms }) => ({ now: await world.advance(ms) }))
  post('/consents', bodies.consent, consent => ({ id: world.addConsent(consent) }))
  post('/awareness', bodies.awareness, record => ({ id: world.addAwareness(record) }))
  post('/persons', bodies.person, person => world.addPerson(person))
  post('/notifications', bodies.notification, async notice => ({ deliveries: await world.notify(notice) }))
  post('/faults', faultSchema, fault => world.addFault(fault))
  app.delete('/faults', context => {
    world.endFaults()
    return context.json({})
  })
  app.post('/connect-to', async context => {
    const parsed = bodies.connection.safeParse(await bodyOf(context))
    if (!parsed.success) return refuse(context, parsed.error)
    const from = /^(.+):443$/.exec(parsed.data.from)
    const to = /^(127\.\d+\.\d+\.\d+|localhost):(\d+)$/.exec(parsed.data.to)
    if (!from || !to)
      return context.json({ error: 'from must be host:443, and to an address of this machine' }, 400)
    world.connect({ host: from[1] ?? '' }, { host: to[1] ?? '', port: Number(to[2]) })
    return context.json({})
  })
  app.get('/requests', context => context.json([...world.requests()]))
  app.post('/reset', context => {
    world.reset()
    return context.json({})
  })
  const controls = app.routes.map(({ method, path }) => `${method} ${path}`)
  app.notFound(context => context.json({ error: 'there is no such control', controls }, 404))
  return async request => app.fetch(request)
}

/** The body as JSON; anything else is answered 400. */
async function bodyOf({ req }: Context): Promise<unknown> {
  return req.json().catch(() => {
    throw new HTTPException(400, { res: Response.json({ error: 'the body is not JSON' }, { status: 400 }) })
  })
}

function refuse(context: Context, error: z.ZodError): Response {
  const fields = error.issues.map(issue => `${issue.path.join('.') || 'body'}: ${issue.message}`)
  return context.json({ error: fields.join('; ') }, 400)
}
