import { Hono } from 'hono'
import { z } from 'zod'
import {
  categoriaSchema,
  finalidadeSchema,
  hipoteseSchema,
  statusConsentimentoSchema,
  statusSchema,
  statusTratamentoSchema,
} from '../../adapters/consent/wire.ts'
import { readBounded } from '../../adapters/http/answer-body.ts'
import { limits, recipientIdForms, recipientKinds, textOf } from '../../adapters/portal/wire.ts'
import { claimsSchema } from '../../adapters/validation/wire.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import { parseJson } from '../../vocabulary/json.ts'
import { isCpf } from '../../vocabulary/tax-numbers.ts'
import { centuryMs, describeIssues, faultSchema } from '../faults/fault.ts'
import type { Simulators } from '../services/create-simulators.ts'
import { type ListenOptions, serveControl } from './serve.ts'
import type { ShiftedClock } from './shifted-clock.ts'
import type { RunningServices } from './start-services.ts'

const shortText = z.string().min(1).max(500)
/** A record with an invalid CPF could never be read, because the services reject its address. */
const cpfSchema = shortText.refine(isCpf, 'must be a CPF: eleven digits, the last two are check digits')
/** How long a login lasts unless said otherwise. The contract does not show it. */
const loginMs = 30 * 60_000

const ofEveryRecord = {
  cpf: cpfSchema,
  cnpj: shortText.exactOptional(),
  finalidade: finalidadeSchema.nullable().exactOptional(),
}
const bodySchemas = {
  advance: z.strictObject({ ms: z.int().nonnegative() }),
  consent: z.strictObject({
    ...ofEveryRecord,
    status: statusSchema.exactOptional(),
    expiresInMs: z.int().min(-centuryMs).max(centuryMs).exactOptional(),
    categoria: categoriaSchema.exactOptional(),
    historico: z.array(statusConsentimentoSchema).exactOptional(),
  }),
  awareness: z.strictObject({
    ...ofEveryRecord,
    historico: z.array(statusTratamentoSchema).exactOptional(),
    hipoteses: z.array(hipoteseSchema).exactOptional(),
  }),
  login: z.strictObject({ cpf: cpfSchema, forMs: z.int().positive().max(centuryMs).default(loginMs) }),
  person: claimsSchema.extend({ cpf: cpfSchema }),
  notification: z
    .strictObject({
      evento: textOf(1, limits.evento),
      destinatarioTipo: z.enum(recipientKinds),
      destinatarioId: shortText,
      body: z.unknown(),
    })
    .refine(({ destinatarioTipo, destinatarioId }) => recipientIdForms[destinatarioTipo].test(destinatarioId), {
      path: ['destinatarioId'],
      error: 'must have the format of its destinatarioTipo: 11 digits of a CPF, 14 characters of a CNPJ',
    }),
  connection: z.strictObject({
    from: shortText.regex(/^[^:]+:\d{1,5}$/, 'must be host:port'),
    to: shortText.regex(/^(127\.\d+\.\d+\.\d+|localhost):\d+$/, 'must be an address of this machine and a port'),
  }),
}

/** Later times than this leave no room for the end of a record. */
const endOfTime = Date.parse('9000-01-01T00:00:00.000Z')

/** Larger than any body that a receiver accepts. */
const bodyBytesMax = 4 * 1_048_576

/** The running control server of simulated services. */
export interface RunningControl {
  readonly baseUrl: string
  close(): Promise<void>
}

/** Starts the control server of simulated services: JSON over plain HTTP, on loopback unless asked otherwise. */
export async function startControl(
  services: RunningServices,
  clock: ShiftedClock,
  listen: ListenOptions & { readonly name?: string | undefined } = {},
): Promise<RunningControl> {
  const server = await serveControl(createControl(services, clock), listen)
  return { baseUrl: `http://${listen.name ?? '127.0.0.1'}:${server.port}`, close: server.close }
}

/** Creates the handler of the control server: JSON in, JSON out. */
export function createControl(
  services: Simulators & Pick<RunningServices, 'connect' | 'reset'>,
  clock: Pick<ShiftedClock, 'advance' | 'now'>,
): (request: Request) => Promise<Response> {
  const app = new Hono()
  const post = <T>(path: string, schema: z.ZodType<T>, act: (body: T) => unknown) =>
    app.post(path, async context => {
      const text = await readBounded(context.req.raw.body ?? [], bodyBytesMax).catch(() => undefined)
      if (text === undefined) return context.json({ error: 'the body is too large' }, 413)
      const body = parseJson(text.toString())
      if (body === undefined) return context.json({ error: 'the body is not JSON' }, 400)
      const parsed = schema.safeParse(body)
      if (!parsed.success) return context.json({ error: describeIssues(parsed.error, 'body') }, 400)
      return context.json(((await act(parsed.data)) ?? {}) as object) // What each act returns is JSON.
    })

  const advance = bodySchemas.advance.refine(({ ms }) => clock.now() + ms < endOfTime, {
    path: ['ms'],
    error: 'must not lead beyond the year 8999',
  })
  post('/clock/advance', advance, async ({ ms }) => {
    await clock.advance(ms)
    return { now: toInstant(clock.now()) }
  })
  post('/consents', bodySchemas.consent, consent => ({ id: services.consentService.addConsent(consent) }))
  post('/awareness', bodySchemas.awareness, record => ({ id: services.consentService.addAwareness(record) }))
  post('/logins', bodySchemas.login, ({ cpf, forMs }) => {
    const until = clock.now() + forMs
    services.consentService.logIn(cpf, until)
    return { until: toInstant(until) }
  })
  post('/persons', bodySchemas.person, ({ cpf, ...person }) => services.validationService.addPerson(cpf, person))
  post('/notifications', bodySchemas.notification, async notice => ({
    deliveries: await services.portal.notify(notice),
  }))
  post('/faults', faultSchema, fault => services.faults.add(fault))
  app.delete('/faults', context => {
    services.faults.clear()
    return context.json({})
  })
  post('/connect-to', bodySchemas.connection, ({ from, to }) => {
    const [address, port] = to.split(':')
    services.connect(from, Number(port), address)
  })
  app.get('/requests', context => context.json([...services.requests]))
  app.post('/reset', context => {
    services.reset()
    return context.json({})
  })
  const controls = app.routes.filter(({ method }) => method !== 'ALL').map(({ method, path }) => `${method} ${path}`)
  app.notFound(context => context.json({ error: 'unknown control', controls }, 404))
  return async request => app.fetch(request)
}
