import { Hono } from 'hono'
import {
  type Claims,
  type ValidationResponse,
  validationRequestSchema,
} from '../../adapters/validation/wire.ts'
import { parseCpf } from '../../vocabulary/cpf.ts'
import type { ValidationPolicies } from './policies.ts'

/**
 * The validation operation as document 2 describes it, over a small registry of persons. Like the demonstration
 * environment of the contract it knows samples only: everyone in it is made up, and a match says nothing about
 * anybody. What the contract does not show is a policy of docs/unspecified.md.
 */
export interface ValidationSimulator {
  fetch(request: Request): Promise<Response>
  /** Puts a person into the registry: the truth that claims are compared with. */
  addPerson(cpf: string, person: Claims): void
  /** How many validations were answered: what a bill would count. */
  readonly answered: number
  /** How many calls were refused for their token. */
  readonly refused: number
}

interface ValidationServiceOptions {
  readonly service: string
  readonly isTokenValid: (token: string) => boolean
  readonly policies?: ValidationPolicies
}

/** The fields whose similarity is told beside the match (section 2). */
const similar = new Set([
  'nome',
  'filiacao.nome_mae',
  'filiacao.nome_pai',
  'documento.numero',
  'endereco.logradouro',
  'endereco.numero',
  'endereco.bairro',
])

/** The fields that exist only in the request: the answer has no place for them. */
const unanswered = new Set([
  'data_nascimento',
  'endereco.complemento',
  'endereco.municipio',
  'cnh.codigo_situacao',
])

/** Makes a validation service with an empty registry. */
export function simulateValidationService(options: ValidationServiceOptions): ValidationSimulator {
  const { service, isTokenValid, policies = {} } = options
  const {
    errors = 'json',
    otherHeaders = 'accept',
    required = 'nothing',
    unknownPerson = 'unavailable',
    licenceName = 'compared',
  } = policies
  const persons = new Map<string, Claims>()
  let answered = 0
  let refused = 0

  const app = new Hono()
  app.post(`/${service}/v2/validate/pf`, async context => {
    const token = /^Bearer (.+)$/.exec(context.req.header('authorization') ?? '')?.[1] ?? ''
    if (!isTokenValid(token)) {
      refused += 1
      const fault = { code: 900_901, message: 'Invalid Credentials', description: 'Expired or invalid token' }
      return writeGatewayError(errors, 401, fault)
    }
    const wrongHeader = otherHeaders === 'refuse' ? statusForHeaders(context.req.raw.headers) : undefined
    if (wrongHeader)
      return context.json({ code: String(wrongHeader), message: 'Cabeçalho inválido' }, wrongHeader)
    const parsed = validationRequestSchema.safeParse(await context.req.json().catch(() => undefined))
    const { key, answer = {} } = parsed.data ?? {}
    if (!parsed.success || (required === 'key' && key?.cpf === undefined))
      return context.json({ code: '400', message: 'Corpo inválido' }, 400)
    const person = persons.get(key?.cpf ?? '')
    if (!person && unknownPerson === 'notFound')
      return context.json({ code: '404', message: 'CPF não encontrado' }, 404)
    answered += 1
    return context.json(person ? compare(answer, person, licenceName) : { cpf_disponivel: false })
  })

  return {
    fetch: async request => app.fetch(request),
    addPerson: (cpf, person) => void persons.set(parseCpf(cpf), person),
    get answered() {
      return answered
    },
    get refused() {
      return refused
    },
  }
}

/** The documented headers are `Accept: application/json` and `Content-Type: application/json` (section 4.2). */
function statusForHeaders(headers: Headers): 406 | 415 | undefined {
  const typeOf = (name: string) => headers.get(name)?.split(';')[0]?.trim().toLowerCase()
  if (typeOf('accept') !== 'application/json') return 406
  return typeOf('content-type') === 'application/json' ? undefined : 415
}

function compare(
  claims: Claims,
  person: Claims,
  licenceName: ValidationPolicies['licenceName'],
): ValidationResponse {
  const answer: Record<string, unknown> = { ...compareGroup('', claims, person), cpf_disponivel: true }
  if (licenceName === 'compared' && claims.cnh && claims.nome !== undefined && person.nome !== undefined) {
    answer.cnh = { ...Object(answer.cnh), ...compareField('nome', true, claims.nome, person.nome) }
  }
  return answer
}

function compareGroup(prefix: string, claims: object, person: object): Record<string, unknown> {
  const answer: Record<string, unknown> = {}
  const truth = new Map(Object.entries(person))
  for (const [name, claimed] of Object.entries(claims)) {
    const path = `${prefix}${name}`
    const known: unknown = truth.get(name)
    if (claimed === undefined || known === undefined || unanswered.has(path)) continue
    if (typeof claimed === 'object' && typeof known === 'object' && known !== null) {
      answer[name] = compareGroup(`${path}.`, claimed, known)
    } else Object.assign(answer, compareField(name, similar.has(path), claimed, known))
  }
  return answer
}

function compareField(
  name: string,
  isSimilar: boolean,
  claimed: unknown,
  known: unknown,
): Record<string, unknown> {
  const [a, b] = [normal(claimed), normal(known)]
  return { [name]: a === b, ...(isSimilar && { [`${name}_similaridade`]: similarityOf(a, b) }) }
}

/** Values are compared without regard to case, accents and repeated white space. */
function normal(value: unknown): string {
  return String(value).trim().toUpperCase().normalize('NFD').replace(/\p{M}/gu, '').replace(/\s+/g, ' ')
}

/** One minus the edit distance over the longer length, to two decimals. */
function similarityOf(a: string, b: string): number {
  const longer = Math.max(a.length, b.length)
  return longer === 0 ? 1 : Math.round((1 - distance(a, b) / longer) * 100) / 100
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}

/** How a gateway writes its errors: document 2 does not show it, and both are publicly known. */
type GatewayErrorForm = 'json' | 'xml'
/** A gateway's error body, in the publicly known form of `fault`. Its texts hold no markup. */
function writeGatewayError(
  form: GatewayErrorForm,
  status: number,
  fault: { readonly code: number; readonly message: string; readonly description: string },
): Response {
  if (form === 'json') return Response.json({ fault }, { status })
  const members = Object.entries(fault).map(([name, value]) => `<ams:${name}>${value}</ams:${name}>`)
  const body = `<ams:fault xmlns:ams="http://wso2.org/apimanager/security">${members.join('')}</ams:fault>`
  return new Response(body, { status, headers: { 'content-type': 'application/xml' } })
}
