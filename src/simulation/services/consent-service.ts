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
import { sampleCategory, sampleController, samplePurpose, sampleTitular } from './consent-record.ts'
import type { ConsentPolicies } from './policies.ts'

/**
 * The consent service as document 1 describes it. Behaviour that the document does not show is a policy, listed in
 * docs/unspecified.md.
 */
export interface ConsentSimulator {
  fetch(request: Request, peer?: Pick<Peer, 'clientName'>): Promise<Response>
  /** Adds a consent and returns its id. As every method here, throws `INVALID_CPF` for an invalid CPF. */
  addConsent(consent: NewConsent): string
  /** Adds an awareness record and returns its id. */
  addAwareness(awareness: NewAwareness): string
  /** Logs a data subject in until a time, in milliseconds since 1970. */
  logIn(cpf: string, untilMs: number): void
  /** The current status of a consent at the service. */
  statusOf(cpf: string, id: string): string | undefined
  /** Changes a status at the service without the client. An overdue consent expires first. */
  change(cpf: string, id: string, status: ConsentimentoDetalhado['status']): void
  /** The number of requests, by method and route. */
  readonly requests: ReadonlyMap<string, number>
}

/** A consent to add; absent members get sample values. */
export type NewConsent = Partial<ConsentimentoDetalhado> & {
  cpf: string
  cnpj?: string
  /** Milliseconds from now: a year when absent. `dataExpiracao` takes precedence. */
  expiresInMs?: number
}

/** An awareness record to add; absent members get sample values. */
export type NewAwareness = Partial<CienciaDetalhada> & { cpf: string; cnpj?: string }

interface ConsentServiceOptions {
  readonly clock: Clock
  readonly entropy: Entropy
  readonly policies?: ConsentPolicies | undefined
}

/** The status changes that section 3 allows. */
const statusTable: Record<string, readonly string[]> = { PENDENTE: ['ATIVO', 'NEGADO'], ATIVO: ['REVOGADO'] }

/** The operations that can answer 403 (section 5, rule 4), by their numbers in section 4. */
const authorizedOperations = [
  [1, 'PUT', 'consentimentos/:cpf/:id/status/:status'],
  [2, 'GET', 'consentimentos/:cpf'],
  [3, 'GET', 'consentimentos/:cpf/:id'],
  [4, 'GET', 'ciencias/:cpf'],
  [5, 'GET', 'ciencias/:cpf/:id'],
] as const

const yearMs = 365 * dayMs

const base = '/consentimento/v1'

type ConsentApp = Hono<{ Bindings: { clientName?: string } }>

/** Creates an empty consent service. */
export function simulateConsentService(options: ConsentServiceOptions): ConsentSimulator {
  const { clock, policies = {} } = options
  const records = new ConsentRecords(options)
  const logins = new Map<string, number>()
  const requests = new Map<string, number>()
  const app: ConsentApp = new Hono()
  app.use(async (context, next) => {
    await next()
    const route = `${context.req.method} ${context.req.routePath}`
    requests.set(route, (requests.get(route) ?? 0) + 1)
  })
  addGuards(app, policies)
  addRecordRoutes(app, records, policies)
  app.get(`${base}/autenticacao/:cpf`, context => {
    const until = logins.get(context.req.param('cpf')) ?? 0
    const autenticado = until > clock.now()
    const horaExpiracao = records.formatTime(autenticado ? until : clock.now())
    return context.json(titularAutenticadoStatusSchema.parse({ autenticado, horaExpiracao }))
  })
  app.get(`${base}/autenticacao/:cpf/url`, context => {
    const url = new URL('https://login.exemplo.br/entrar')
    const redirectUrl = context.req.query('redirectUrl')
    if (redirectUrl !== undefined) url.searchParams.set('redirectUrl', redirectUrl)
    return context.json(titularLoginUrlSchema.parse({ url: url.href }))
  })
  app.notFound(context => problemResponse(context, 404, 'Caminho desconhecido'))
  app.onError((_, context) => problemResponse(context, 500, 'Erro interno'))
  return {
    requests,
    fetch: async (request, peer) => app.fetch(request, peer ?? {}),
    addConsent: consent => records.addConsent(consent),
    addAwareness: awareness => records.addAwareness(awareness),
    logIn: (cpf, untilMs) => void logins.set(parseCpf(cpf), untilMs),
    statusOf: (cpf, id) => records.findConsent(parseCpf(cpf), id)?.status,
    change(cpf, id, status) {
      const consent = records.findConsent(parseCpf(cpf), id)
      if (!consent) throw new TypeError(`Cannot change the consent "${id}": it does not exist`)
      records.changeStatus(consent, status)
    },
  }
}

/** Adds the checks before every operation: the client, its authorization, and the CPF. */
function addGuards(app: ConsentApp, { authorizedClients }: ConsentPolicies): void {
  app.use(`${base}/*`, async (context, next) => {
    // Section 5: only the certificate identifies the client.
    if (context.env?.clientName === undefined) return problemResponse(context, 401, 'Chamador não autenticado')
    return next()
  })
  for (const [operation, method, path] of authorizedOperations) {
    const isList = authorizedClients !== undefined && 'length' in authorizedClients
    const clients = isList ? authorizedClients : authorizedClients?.[operation]
    app.on(method, `${base}/${path}`, async (context, next) => {
      const isAuthorized = clients?.includes(context.env?.clientName ?? '') ?? true
      return isAuthorized ? next() : problemResponse(context, 403, 'Chamador não autorizado')
    })
  }
  app.use(`${base}/:resource/:cpf/*`, async (context, next) => {
    return isCpf(context.req.param('cpf')) ? next() : problemResponse(context, 400, 'CPF inválido')
  })
}

function addRecordRoutes(app: ConsentApp, records: ConsentRecords, policies: ConsentPolicies): void {
  const { missingRecord = 'notFound', moveOutsideTable = 'badRequest' } = policies
  const missingRecordResponse = (context: Context, title: string) =>
    problemResponse(context, missingRecord === 'notFound' ? 404 : 400, title)

  app.put(`${base}/consentimentos/:cpf/:id/status/:status`, context => {
    const { cpf, id, status } = context.req.param()
    if (status !== 'ATIVO' && status !== 'REVOGADO' && status !== 'NEGADO') {
      return problemResponse(context, 400, 'Status inválido')
    }
    const consent = records.findConsent(cpf, id)
    if (!consent) return missingRecordResponse(context, 'Consentimento não encontrado')
    const isAllowed = statusTable[consent.status]?.includes(status)
    if (isAllowed || moveOutsideTable === 'accept') records.changeStatus(consent, status)
    else if (moveOutsideTable !== 'unchanged') {
      const refusal = moveOutsideTable === 'conflict' ? 409 : 400
      return problemResponse(context, refusal, 'Mudança de status não permitida')
    }
    return context.json(toSummary(context, cpf, consent))
  })
  app.get(`${base}/consentimentos/:cpf`, context => {
    const { cpf } = context.req.param()
    const consents = records.listConsents(cpf, context.req.query('cnpj'))
    return context.json(consents.map(consent => toSummary(context, cpf, consent)))
  })
  app.get(`${base}/consentimentos/:cpf/:id`, context => {
    const { cpf, id } = context.req.param()
    const consent = records.findConsent(cpf, id)
    return consent ? context.json(consent) : missingRecordResponse(context, 'Consentimento não encontrado')
  })
  app.get(`${base}/ciencias/:cpf`, context => {
    const { cpf } = context.req.param()
    const summaries = records.listAwareness(cpf, context.req.query('cnpj')).map(({ id, dataHora, usuario }) => {
      const href = resourceUrl(context, `ciencias/${cpf}/${id}`)
      return cienciaResumidaSchema.parse({ id, dataHora, cnpjUsuario: usuario?.cnpj ?? null, href })
    })
    return context.json(summaries)
  })
  app.get(`${base}/ciencias/:cpf/:id`, context => {
    const { cpf, id } = context.req.param()
    const record = records.findAwareness(cpf, id)
    return record ? context.json(record) : missingRecordResponse(context, 'Ciência não encontrada')
  })
}

/** The consents and awareness records by CPF and id. A consent that is read expires first if it is overdue. */
class ConsentRecords {
  readonly #options: ConsentServiceOptions
  readonly #consents = new Map<string, Map<string, ConsentimentoDetalhado>>()
  readonly #awareness = new Map<string, Map<string, CienciaDetalhada>>()

  constructor(options: ConsentServiceOptions) {
    this.#options = options
  }

  findConsent(cpf: string, id: string): ConsentimentoDetalhado | undefined {
    const consent = this.#consents.get(cpf)?.get(id)
    if (consent) this.#expire(consent)
    return consent
  }

  listConsents(cpf: string, cnpj: string | undefined): ConsentimentoDetalhado[] {
    const consents = listOfCnpj(this.#consents.get(cpf), cnpj)
    for (const consent of consents) this.#expire(consent)
    return consents
  }

  findAwareness(cpf: string, id: string): CienciaDetalhada | undefined {
    return this.#awareness.get(cpf)?.get(id)
  }

  listAwareness(cpf: string, cnpj: string | undefined): CienciaDetalhada[] {
    return listOfCnpj(this.#awareness.get(cpf), cnpj)
  }

  changeStatus(
    consent: ConsentimentoDetalhado,
    status: ConsentimentoDetalhado['status'],
    dataHora = this.formatTime(),
  ): void {
    consent.status = status
    consent.historico.push({ status, dataHora, dataExpiracao: consent.dataExpiracao })
  }

  addConsent({ cpf: text, cnpj, expiresInMs = yearMs, ...given }: NewConsent): string {
    const cpf = parseCpf(text)
    const status = given.status ?? 'PENDENTE'
    const dataHora = this.formatTime()
    const dataExpiracao = given.dataExpiracao ?? this.formatTime(this.#options.clock.now() + expiresInMs)
    const consent = consentimentoDetalhadoSchema.parse({
      id: this.#newId(),
      idTemplatePdc: '012026-00001',
      status,
      dataHora,
      dataExpiracao,
      categoria: sampleCategory,
      usuario: cnpj === undefined ? null : sampleController(cnpj),
      finalidade: samplePurpose,
      titular: sampleTitular(cpf),
      historico: [{ status, dataHora, dataExpiracao }],
      ...given,
    })
    recordsOfCpf(this.#consents, cpf).set(consent.id, consent)
    return consent.id
  }

  addAwareness({ cpf: text, cnpj, ...given }: NewAwareness): string {
    const cpf = parseCpf(text)
    const dataHora = this.formatTime()
    const { metadados } = sampleCategory
    const record = cienciaDetalhadaSchema.parse({
      id: this.#newId(),
      dataHora,
      titular: sampleTitular(cpf),
      usuario: cnpj === undefined ? null : sampleController(cnpj),
      finalidade: samplePurpose,
      historico: [{ info: 'Início do tratamento', dataHora, dataInicio: dataHora, metadados }],
      hipoteses: [
        {
          complemento: 'Art. 7º, V',
          hipoteseTratamento: { envolveDadoSensivel: false, id: '5', nome: 'Execução de contrato' },
        },
      ],
      ...given,
    })
    recordsOfCpf(this.#awareness, cpf).set(record.id, record)
    return record.id
  }

  formatTime(ms = this.#options.clock.now()): string {
    return this.#options.policies?.dates === 'zoneless' ? formatZoneless(ms) : new Date(ms).toISOString()
  }

  #expire(consent: ConsentimentoDetalhado): void {
    if (this.#options.policies?.expiry === 'never') return
    if (consent.status !== 'PENDENTE' && consent.status !== 'ATIVO') return
    const expiresAt = parseTime(consent.dataExpiracao)
    if (expiresAt <= this.#options.clock.now()) {
      this.changeStatus(consent, 'EXPIRADO', this.formatTime(expiresAt))
    }
  }

  #newId(): string {
    return Buffer.from(this.#options.entropy.bytes(16)).toString('hex')
  }
}

function listOfCnpj<T extends ConsentimentoDetalhado | CienciaDetalhada>(
  records: ReadonlyMap<string, T> | undefined,
  cnpj: string | undefined,
): T[] {
  return [...(records?.values() ?? [])].filter(each => cnpj === undefined || each.usuario?.cnpj === cnpj)
}

function resourceUrl(context: Context, path: string): string {
  return `${new URL(context.req.url).origin}${base}/${path}`
}

function toSummary(context: Context, cpf: string, consent: ConsentimentoDetalhado): ConsentimentoResumido {
  const { id, status, dataHora, dataExpiracao, usuario } = consent
  const href = resourceUrl(context, `consentimentos/${cpf}/${id}`)
  const cnpjUsuario = usuario?.cnpj ?? null
  return consentimentoResumidoSchema.parse({ id, status, dataHora, dataExpiracao, cnpjUsuario, href })
}

/** Brasilia has been three hours behind UTC, all year, since 2019. */
function formatZoneless(ms: number): string {
  return new Date(ms - 3 * 3_600_000).toISOString().slice(0, -1)
}

/** Parses a time to milliseconds. Without a zone it is Brasilia time; an invalid text (NaN) never expires. */
function parseTime(text: string): number {
  return Date.parse(/(Z|[+-]\d{2}:?\d{2})$/.test(text) ? text : `${text}-03:00`)
}

function recordsOfCpf<T>(all: Map<string, Map<string, T>>, cpf: string): Map<string, T> {
  const own = all.get(cpf) ?? new Map<string, T>()
  all.set(cpf, own)
  return own
}

/** Answers an RFC 9457 problem body with the free-form members nested (section 7). */
function problemResponse(context: Context, status: 400 | 401 | 403 | 404 | 409 | 500, title: string): Response {
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
