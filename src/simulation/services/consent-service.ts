import { Hono } from 'hono'
import {
  type CienciaDetalhada,
  type ConsentimentoDetalhado,
  cienciaDetalhadaSchema,
  cienciaResumidaSchema,
  consentimentoDetalhadoSchema,
  consentimentoResumidoSchema,
  problemaDetalhadoSchema,
  titularAutenticadoStatusSchema,
  titularLoginUrlSchema,
} from '../../adapters/consent/wire.ts'
import { dayMs } from '../../vocabulary/instant.ts'
import { isCpf, parseCpf } from '../../vocabulary/tax-numbers.ts'
import type { Peer } from '../served/serve.ts'
import { refuseOtherMethods } from './other-methods.ts'
import type { ConsentPolicies, ServiceOptions } from './policies.ts'

type ConsentStatus = ConsentimentoDetalhado['status']

/** A consent to add; absent members get sample values. */
export type NewConsent = Partial<ConsentimentoDetalhado> & {
  cpf: string
  cnpj?: string
  /** Milliseconds from now: a year when absent. `dataExpiracao` takes precedence. */
  expiresInMs?: number
}

/** An awareness record to add; absent members get sample values. */
export type NewAwareness = Partial<CienciaDetalhada> & { cpf: string; cnpj?: string }

type ConsentServiceOptions = ServiceOptions<ConsentPolicies>

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

/** The default members of consents and awareness records. */
const samplePurpose = {
  identificador: 'CREDITO',
  descricao: 'Análise de crédito a pedido do titular',
  rotulo: 'Análise de crédito',
}

const sampleCategory = {
  identificador: 'CNH',
  descricao: 'Dados da carteira nacional de habilitação',
  rotulo: 'CNH',
  metadados: [
    { identificador: 'nome', descricao: 'Nome completo', rotulo: 'Nome', sensivel: false },
    { identificador: 'biometria', descricao: 'Biometria facial', rotulo: 'Face', sensivel: true },
  ],
}

const sampleBasis = { envolveDadoSensivel: false, id: '5', nome: 'Execução de contrato' }

const sampleController = (cnpj: string) => ({
  cnpj,
  nome: 'Controlador de Exemplo S.A.',
  email: 'contato@exemplo.br',
  contato: 'Central de privacidade',
  responsavel: { cpf: '11144477735', cnpj, tipo: 'ENCARREGADO' },
})

const base = '/consentimento/v1'

type ConsentApp = Hono<{ Bindings: { clientName?: string } }>

/** The consent service as document 1 describes it. */
export type ConsentSimulator = ReturnType<typeof simulateConsentService>

/** Creates an empty consent service. What document 1 does not show is a policy, listed in docs/unspecified.md. */
export function simulateConsentService(options: ConsentServiceOptions) {
  const { clock, memory, policies = {} } = options
  const records = keepRecords(options)
  const logins = memory.keep('logins', new Map<string, number>())
  const counts = new Map<string, number>()
  const requests: ReadonlyMap<string, number> = counts
  const app: ConsentApp = new Hono()
  app.use(async (context, next) => {
    await next()
    const route = `${context.req.method} ${context.req.routePath}`
    counts.set(route, (counts.get(route) ?? 0) + 1)
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
  refuseOtherMethods(app, () => problemResponse(405, 'Método não permitido'))
  app.notFound(() => problemResponse(404, 'Caminho desconhecido'))
  app.onError(() => problemResponse(500, 'Erro interno'))
  return {
    /** The number of requests, by method and route. */
    requests,
    fetch: async (request: Request, peer?: Pick<Peer, 'clientName'>) => app.fetch(request, peer ?? {}),
    /** Adds a consent and returns its id. As every method here, throws `INVALID_CPF` for an invalid CPF. */
    addConsent: (consent: NewConsent) => records.addConsent(consent),
    /** Adds an awareness record and returns its id. */
    addAwareness: (awareness: NewAwareness) => records.addAwareness(awareness),
    /** Logs a data subject in until a time, in milliseconds since 1970. */
    logIn: (cpf: string, untilMs: number) => void logins.set(parseCpf(cpf), untilMs),
    /** The current status of a consent at the service. */
    statusOf: (cpf: string, id: string): string | undefined => records.consentsOf(parseCpf(cpf)).get(id)?.status,
    /** Changes a status at the service without the client. An overdue consent expires first. */
    change(cpf: string, id: string, status: ConsentStatus): void {
      const consent = records.consentsOf(parseCpf(cpf)).get(id)
      if (!consent) throw new TypeError(`Cannot change the consent "${id}": it does not exist`)
      records.changeStatus(consent, status)
    },
  }
}

/** Adds the checks before every operation: the client, its authorization, and the CPF. */
function addGuards(app: ConsentApp, { authorizedClients }: ConsentPolicies): void {
  app.use(`${base}/*`, async (context, next) => {
    // Section 5: only the certificate identifies the client.
    // No scheme of HTTP asks for one, so its 401 has no challenge.
    if (context.env?.clientName === undefined) return problemResponse(401, 'Chamador não autenticado')
    return next()
  })
  for (const [operation, method, path] of authorizedOperations) {
    const isList = authorizedClients !== undefined && 'length' in authorizedClients
    const clients = isList ? authorizedClients : authorizedClients?.[operation]
    app.on(method, `${base}/${path}`, async (context, next) => {
      const isAuthorized = clients?.includes(context.env?.clientName ?? '') ?? true
      return isAuthorized ? next() : problemResponse(403, 'Chamador não autorizado')
    })
  }
  app.use(`${base}/:resource/:cpf/*`, async (context, next) => {
    return isCpf(context.req.param('cpf')) ? next() : problemResponse(400, 'CPF inválido')
  })
}

function addRecordRoutes(app: ConsentApp, records: ReturnType<typeof keepRecords>, policies: ConsentPolicies): void {
  const { missingRecord = 'notFound', moveOutsideTable = 'badRequest' } = policies
  const missing = (title: string) => problemResponse(missingRecord === 'notFound' ? 404 : 400, title)

  /** A list shows summaries, with the address of each record. */
  const addReadings = <T extends ConsentimentoDetalhado | CienciaDetalhada>(
    name: string,
    recordsOf: (cpf: string) => ReadonlyMap<string, T>,
    summarize: (record: T, href: string) => object,
    missingTitle: string,
  ) => {
    app.get(`${base}/${name}/:cpf`, context => {
      const { cpf } = context.req.param()
      const path = `${new URL(context.req.url).origin}${base}/${name}/${cpf}`
      const cnpj = context.req.query('cnpj')
      const own = [...recordsOf(cpf).values()].filter(each => cnpj === undefined || each.usuario?.cnpj === cnpj)
      return context.json(own.map(each => summarize(each, `${path}/${each.id}`)))
    })
    app.get(`${base}/${name}/:cpf/:id`, context => {
      const record = recordsOf(context.req.param('cpf')).get(context.req.param('id'))
      return record ? context.json(record) : missing(missingTitle)
    })
  }
  const summarizeConsent = ({ id, status, dataHora, dataExpiracao, usuario }: ConsentimentoDetalhado, href: string) =>
    consentimentoResumidoSchema.parse({ id, status, dataHora, dataExpiracao, cnpjUsuario: usuario?.cnpj ?? null, href })
  const summarizeAwareness = ({ id, dataHora, usuario }: CienciaDetalhada, href: string) =>
    cienciaResumidaSchema.parse({ id, dataHora, cnpjUsuario: usuario?.cnpj ?? null, href })

  app.put(`${base}/consentimentos/:cpf/:id/status/:status`, context => {
    const { cpf, id, status } = context.req.param()
    if (status !== 'ATIVO' && status !== 'REVOGADO' && status !== 'NEGADO')
      return problemResponse(400, 'Status inválido')
    const consent = records.consentsOf(cpf).get(id)
    if (!consent) return missing('Consentimento não encontrado')
    const isAllowed = statusTable[consent.status]?.includes(status)
    if (isAllowed || moveOutsideTable === 'accept') records.changeStatus(consent, status)
    else if (moveOutsideTable !== 'unchanged')
      return problemResponse(moveOutsideTable === 'conflict' ? 409 : 400, 'Mudança de status não permitida')
    const { origin } = new URL(context.req.url)
    return context.json(summarizeConsent(consent, `${origin}${base}/consentimentos/${cpf}/${id}`))
  })
  addReadings('consentimentos', cpf => records.consentsOf(cpf), summarizeConsent, 'Consentimento não encontrado')
  addReadings('ciencias', cpf => records.awarenessOf(cpf), summarizeAwareness, 'Ciência não encontrada')
}

function keepRecords({ clock, entropy, memory, policies }: ConsentServiceOptions) {
  const consents: Map<string, Map<string, ConsentimentoDetalhado>> = memory.keep('consents', new Map())
  const awareness: Map<string, Map<string, CienciaDetalhada>> = memory.keep('awareness', new Map())

  function formatTime(ms = clock.now()): string {
    return policies?.dates === 'zoneless' ? formatZoneless(ms) : new Date(ms).toISOString()
  }

  function changeStatus(consent: ConsentimentoDetalhado, status: ConsentStatus, dataHora = formatTime()): void {
    consent.status = status
    consent.historico.push({ status, dataHora, dataExpiracao: consent.dataExpiracao })
  }

  function expire(consent: ConsentimentoDetalhado): void {
    if (policies?.expiry === 'never') return
    if (consent.status !== 'PENDENTE' && consent.status !== 'ATIVO') return
    const expiresAt = parseTime(consent.dataExpiracao)
    if (expiresAt <= clock.now()) changeStatus(consent, 'EXPIRADO', formatTime(expiresAt))
  }

  function newRecord(text: string, cnpj: string | undefined) {
    const titular = { cpf: parseCpf(text), nome: 'Titular de Exemplo', email: 'titular@exemplo.br' }
    const id = Buffer.from(entropy.bytes(16)).toString('hex')
    const usuario = cnpj === undefined ? null : sampleController(cnpj)
    return { id, dataHora: formatTime(), titular, usuario, finalidade: samplePurpose }
  }

  return {
    formatTime,
    changeStatus,
    /** The consents of a person, of which the overdue ones have expired. */
    consentsOf(cpf: string): ReadonlyMap<string, ConsentimentoDetalhado> {
      const own = consents.get(cpf) ?? new Map<string, ConsentimentoDetalhado>()
      for (const each of own.values()) expire(each)
      return own
    },
    awarenessOf: (cpf: string): ReadonlyMap<string, CienciaDetalhada> => awareness.get(cpf) ?? new Map(),
    addConsent({ cpf: text, cnpj, expiresInMs = yearMs, ...given }: NewConsent): string {
      const { status = 'PENDENTE', dataExpiracao = formatTime(clock.now() + expiresInMs) } = given
      const common = newRecord(text, cnpj)
      const consent = consentimentoDetalhadoSchema.parse({
        ...common,
        idTemplatePdc: '012026-00001',
        status,
        dataExpiracao,
        categoria: sampleCategory,
        historico: [{ status, dataHora: common.dataHora, dataExpiracao }],
        ...given,
      })
      return addRecord(consents, common.titular.cpf, consent)
    },
    addAwareness({ cpf: text, cnpj, ...given }: NewAwareness): string {
      const common = newRecord(text, cnpj)
      const { dataHora, titular } = common
      const { metadados } = sampleCategory
      const record = cienciaDetalhadaSchema.parse({
        ...common,
        historico: [{ info: 'Início do tratamento', dataHora, dataInicio: dataHora, metadados }],
        hipoteses: [{ complemento: 'Art. 7º, V', hipoteseTratamento: sampleBasis }],
        ...given,
      })
      return addRecord(awareness, titular.cpf, record)
    },
  }
}

function addRecord<T extends { id: string }>(byCpf: Map<string, Map<string, T>>, cpf: string, record: T): string {
  byCpf.set(cpf, (byCpf.get(cpf) ?? new Map()).set(record.id, record))
  return record.id
}

/** Brasilia has been three hours behind UTC, all year, since 2019. */
function formatZoneless(ms: number): string {
  return new Date(ms - 3 * 3_600_000).toISOString().slice(0, -1)
}

/** Parses a time to milliseconds. Without a zone it is Brasilia time; an invalid text (NaN) never expires. */
function parseTime(text: string): number {
  return Date.parse(/(Z|[+-]\d{2}:?\d{2})$/.test(text) ? text : `${text}-03:00`)
}

/** Answers an RFC 9457 problem body with the free-form members nested (section 7). */
function problemResponse(status: 400 | 401 | 403 | 404 | 405 | 409 | 500, title: string): Response {
  const given = { type: 'about:blank', title, status, detail: null, instance: null }
  const body = problemaDetalhadoSchema.parse({ ...given, properties: { servico: 'simulado' } })
  return Response.json(body, { status, headers: { 'content-type': 'application/problem+json' } })
}
