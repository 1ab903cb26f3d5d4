import { type Context, Hono } from 'hono'
import {
  type CienciaDetalhada,
  type ConsentimentoDetalhado,
  type ConsentimentoResumido,
  cienciaDetalhadaSchema,
  cienciaResumidaSchema,
  consentimentoDetalhadoSchema,
  consentimentoResumidoSchema,
  problemaDetalhadoSchema,
  titularAutenticadoStatusSchema,
  titularLoginUrlSchema,
} from '../../adapters/consent/wire.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Entropy } from '../../runtime/entropy.ts'
import { isCpf, parseCpf } from '../../vocabulary/cpf.ts'
import { dayMs } from '../../vocabulary/instant.ts'
import type { Peer } from '../served/serve.ts'
import { controllerOf, sampleCategory, samplePurpose, titularOf } from './consent-record.ts'
import type { ConsentPolicies } from './policies.ts'

/**
 * The consent service as document 1 describes it. What the document does not show is a policy, listed in
 * docs/unspecified.md: nothing here is offered as the service's documented behaviour beyond it.
 */
export interface ConsentSimulator {
  fetch(request: Request, peer?: Pick<Peer, 'clientName'>): Promise<Response>
  /** Gives its id. Throws an `AverbaError` `INVALID_CPF`, as all that take one. */
  addConsent(consent: NewConsent): string
  addAwareness(awareness: NewAwareness): string
  /** Logs a data subject in until an instant, in milliseconds. */
  logIn(cpf: string, untilMs: number): void
  /** The status of a consent, to compare with. */
  statusOf(cpf: string, id: string): string | undefined
  /** Changes a status at the service, behind the client's back; one that has expired does so first. */
  change(cpf: string, id: string, status: ConsentimentoDetalhado['status']): void
  /** How many requests came, by method and route. */
  readonly requests: ReadonlyMap<string, number>
}

/** A consent for the simulated service to hold: the members given, and made-up ones for the rest. */
export type NewConsent = Partial<ConsentimentoDetalhado> & {
  cpf: string
  cnpj?: string
  /** From now, in milliseconds: a year when absent. `dataExpiracao`, where given too, wins. */
  expiresInMs?: number
}

/** An awareness record for the simulated service to hold: the members given, and made-up ones for the rest. */
export type NewAwareness = Partial<CienciaDetalhada> & { cpf: string; cnpj?: string }

interface ConsentServiceOptions {
  readonly clock: Clock
  readonly entropy: Entropy
  readonly policies?: ConsentPolicies
}

/** The table of section 3. */
const moves: Record<string, readonly string[]> = { PENDENTE: ['ATIVO', 'NEGADO'], ATIVO: ['REVOGADO'] }

/** The operations that can answer 403 (section 5, rule 4), by their numbers in section 4. */
const guarded = [
  [1, 'PUT', 'consentimentos/:cpf/:id/status/:status'],
  [2, 'GET', 'consentimentos/:cpf'],
  [3, 'GET', 'consentimentos/:cpf/:id'],
  [4, 'GET', 'ciencias/:cpf'],
  [5, 'GET', 'ciencias/:cpf/:id'],
] as const

const yearMs = 365 * dayMs

/** Makes an empty consent service. */
export function simulateConsentService(options: ConsentServiceOptions): ConsentSimulator {
  const { clock, entropy } = options
  const consents = new Map<string, Map<string, ConsentimentoDetalhado>>()
  const awareness = new Map<string, Map<string, CienciaDetalhada>>()
  const logins = new Map<string, number>()
  const requests = new Map<string, number>()
  const {
    missingRecord = 'notFound',
    moveOutsideTable = 'badRequest',
    expiry = 'atExpiry',
    dates = 'utc',
    authorizedClients,
  } = options.policies ?? {}
  const write = (ms: number) => (dates === 'utc' ? new Date(ms).toISOString() : writeZoneless(ms))
  const now = () => write(clock.now())
  const missing = (context: Context, title: string) =>
    problem(context, missingRecord === 'notFound' ? 404 : 400, title)
  const newId = () => Buffer.from(entropy.bytes(16)).toString('hex')

  const app = new Hono<{ Bindings: { clientName?: string } }>()
  const base = '/consentimento/v1'

  app.use(async (context, next) => {
    await next()
    const { method } = context.req
    const route = context.req.routePath
    requests.set(`${method} ${route}`, (requests.get(`${method} ${route}`) ?? 0) + 1)
  })
  app.use(`${base}/*`, async (context, next) => {
    // Section 5: the certificate identifies the client, and nothing else does.
    if (context.env?.clientName === undefined) return problem(context, 401, 'Chamador não autenticado')
    return next()
  })
  for (const [operation, method, path] of guarded) {
    app.on(method, `${base}/${path}`, async (context, next) => {
      const isAuthorized = namesFor(operation)?.includes(context.env?.clientName ?? '') ?? true
      return isAuthorized ? next() : problem(context, 403, 'Chamador não autorizado')
    })
  }
  app.use(`${base}/:resource/:cpf/*`, async (context, next) => {
    return isCpf(context.req.param('cpf')) ? next() : problem(context, 400, 'CPF inválido')
  })

  app.put(`${base}/consentimentos/:cpf/:id/status/:status`, context => {
    const { cpf, id, status } = context.req.param()
    if (status !== 'ATIVO' && status !== 'REVOGADO' && status !== 'NEGADO') {
      return problem(context, 400, 'Status inválido')
    }
    const consent = consents.get(cpf)?.get(id)
    if (!consent) return missing(context, 'Consentimento não encontrado')
    expire(consent)
    const isInTable = moves[consent.status]?.includes(status)
    if (isInTable || moveOutsideTable === 'accept') move(consent, status)
    else if (moveOutsideTable !== 'unchanged') {
      const refusal = moveOutsideTable === 'conflict' ? 409 : 400
      return problem(context, refusal, 'Mudança de status não permitida')
    }
    return context.json(summaryOf(context, cpf, consent))
  })
  app.get(`${base}/consentimentos/:cpf`, context => {
    const { cpf } = context.req.param()
    const cnpj = context.req.query('cnpj')
    const own = [...(consents.get(cpf)?.values() ?? [])]
    const shown = own.filter(consent => cnpj === undefined || consent.usuario?.cnpj === cnpj)
    for (const consent of shown) expire(consent)
    return context.json(shown.map(consent => summaryOf(context, cpf, consent)))
  })
  app.get(`${base}/consentimentos/:cpf/:id`, context => {
    const { cpf, id } = context.req.param()
    const consent = consents.get(cpf)?.get(id)
    if (!consent) return missing(context, 'Consentimento não encontrado')
    expire(consent)
    return context.json(consent)
  })
  app.get(`${base}/ciencias/:cpf`, context => {
    const { cpf } = context.req.param()
    const cnpj = context.req.query('cnpj')
    const own = [...(awareness.get(cpf)?.values() ?? [])]
    const shown = own.filter(record => cnpj === undefined || record.usuario?.cnpj === cnpj)
    return context.json(
      shown.map(record =>
        cienciaResumidaSchema.parse({
          id: record.id,
          dataHora: record.dataHora,
          cnpjUsuario: record.usuario?.cnpj ?? null,
          href: hrefOf(context, `ciencias/${cpf}/${record.id}`),
        }),
      ),
    )
  })
  app.get(`${base}/ciencias/:cpf/:id`, context => {
    const { cpf, id } = context.req.param()
    const record = awareness.get(cpf)?.get(id)
    return record ? context.json(record) : missing(context, 'Ciência não encontrada')
  })
  app.get(`${base}/autenticacao/:cpf`, context => {
    const until = logins.get(context.req.param('cpf')) ?? 0
    const autenticado = until > clock.now()
    const horaExpiracao = autenticado ? write(until) : now()
    return context.json(titularAutenticadoStatusSchema.parse({ autenticado, horaExpiracao }))
  })
  app.get(`${base}/autenticacao/:cpf/url`, context => {
    const url = new URL('https://login.exemplo.br/entrar')
    const redirectUrl = context.req.query('redirectUrl')
    if (redirectUrl !== undefined) url.searchParams.set('redirectUrl', redirectUrl)
    return context.json(titularLoginUrlSchema.parse({ url: url.href }))
  })
  app.notFound(context => problem(context, 404, 'Caminho desconhecido'))
  app.onError((_, context) => problem(context, 500, 'Erro interno'))

  /** Who may use an operation; everyone when `undefined`. */
  function namesFor(operation: 1 | 2 | 3 | 4 | 5): readonly string[] | undefined {
    const isList = authorizedClients !== undefined && 'length' in authorizedClients
    return isList ? authorizedClients : authorizedClients?.[operation]
  }

  function expire(consent: ConsentimentoDetalhado): void {
    const isOver = expiry === 'atExpiry' && readTime(consent.dataExpiracao) <= clock.now()
    if (isOver && (consent.status === 'PENDENTE' || consent.status === 'ATIVO'))
      move(consent, 'EXPIRADO', write(readTime(consent.dataExpiracao)))
  }

  function move(
    consent: ConsentimentoDetalhado,
    status: ConsentimentoDetalhado['status'],
    dataHora = now(),
  ): void {
    consent.status = status
    consent.historico.push({ status, dataHora, dataExpiracao: consent.dataExpiracao })
  }

  /** A consent as it stands now, for tests. */
  function known(cpf: string, id: string): ConsentimentoDetalhado | undefined {
    const consent = consents.get(parseCpf(cpf))?.get(id)
    if (consent) expire(consent)
    return consent
  }

  /** The address of a resource, at the address that the caller used. */
  function hrefOf(context: Context, path: string): string {
    return `${new URL(context.req.url).origin}${base}/${path}`
  }

  function summaryOf(context: Context, cpf: string, consent: ConsentimentoDetalhado): ConsentimentoResumido {
    const { id, status, dataHora, dataExpiracao, usuario } = consent
    const href = hrefOf(context, `consentimentos/${cpf}/${id}`)
    const cnpjUsuario = usuario?.cnpj ?? null
    return consentimentoResumidoSchema.parse({ id, status, dataHora, dataExpiracao, cnpjUsuario, href })
  }

  return {
    requests,
    fetch: async (request, peer) => app.fetch(request, peer ?? {}),
    addConsent({ cpf: text, cnpj, expiresInMs = yearMs, ...given }) {
      const cpf = parseCpf(text)
      const status = given.status ?? 'PENDENTE'
      const dataExpiracao = given.dataExpiracao ?? write(clock.now() + expiresInMs)
      const consent = consentimentoDetalhadoSchema.parse({
        id: newId(),
        idTemplatePdc: '012026-00001',
        status,
        dataHora: now(),
        dataExpiracao,
        categoria: sampleCategory,
        usuario: cnpj === undefined ? null : controllerOf(cnpj),
        finalidade: samplePurpose,
        titular: titularOf(cpf),
        historico: [{ status, dataHora: now(), dataExpiracao }],
        ...given,
      })
      recordsOf(consents, cpf).set(consent.id, consent)
      return consent.id
    },
    addAwareness({ cpf: text, cnpj, ...given }) {
      const cpf = parseCpf(text)
      const record = cienciaDetalhadaSchema.parse({
        id: newId(),
        dataHora: now(),
        titular: titularOf(cpf),
        usuario: cnpj === undefined ? null : controllerOf(cnpj),
        finalidade: samplePurpose,
        historico: [
          {
            info: 'Início do tratamento',
            dataHora: now(),
            dataInicio: now(),
            metadados: sampleCategory.metadados,
          },
        ],
        hipoteses: [
          {
            complemento: 'Art. 7º, V',
            hipoteseTratamento: { envolveDadoSensivel: false, id: '5', nome: 'Execução de contrato' },
          },
        ],
        ...given,
      })
      recordsOf(awareness, cpf).set(record.id, record)
      return record.id
    },
    logIn: (cpf, untilMs) => void logins.set(parseCpf(cpf), untilMs),
    statusOf: (cpf, id) => known(cpf, id)?.status,
    change(cpf, id, status) {
      const consent = known(cpf, id)
      if (!consent) throw new TypeError(`Cannot change the consent "${id}": it is not there`)
      move(consent, status)
    },
  }
}

/** Brasilia has been three hours behind UTC, all year, since 2019. */
function writeZoneless(ms: number): string {
  return new Date(ms - 3 * 3_600_000).toISOString().slice(0, -1)
}

/** The milliseconds of a time, in Brasilia where it has no zone; a text that is not a time is never reached. */
function readTime(text: string): number {
  return Date.parse(/(Z|[+-]\d{2}:?\d{2})$/.test(text) ? text : `${text}-03:00`)
}

function recordsOf<T>(all: Map<string, Map<string, T>>, cpf: string): Map<string, T> {
  const own = all.get(cpf) ?? new Map<string, T>()
  all.set(cpf, own)
  return own
}

/** An error body as RFC 9457 has it, with the free-form members nested (section 7). */
function problem(context: Context, status: 400 | 401 | 403 | 404 | 409 | 500, title: string): Response {
  const body = problemaDetalhadoSchema.parse({
    type: 'about:blank',
    title,
    status,
    detail: null,
    instance: null,
    properties: { servico: 'simulado' },
  })
  return context.json(body, status, { 'content-type': 'application/problem+json' })
}
