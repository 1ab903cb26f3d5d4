import { Hono } from 'hono'
import { type Claims, type ValidationResponse, validationRequestSchema } from '../../adapters/validation/wire.ts'
import { parseCpf } from '../../vocabulary/tax-numbers.ts'
import type { Memory } from './memory.ts'
import { refuseOtherMethods } from './other-methods.ts'
import type { ValidationPolicies } from './policies.ts'
import { contentType, credentialsOf, xmlFault } from './token-service.ts'

interface ValidationServiceOptions {
  readonly service: string
  readonly isTokenValid: (token: string) => boolean
  readonly memory: Memory
  readonly policies?: ValidationPolicies | undefined
}

/** The fields that are answered with a similarity too (section 2). */
const similarityFields =
  /^(nome|filiacao\.nome_mae|filiacao\.nome_pai|documento\.numero|endereco\.(logradouro|numero|bairro))$/

/** The fields of the request that the answer does not have. */
const requestOnlyFields = /^(data_nascimento|endereco\.(complemento|municipio)|cnh\.codigo_situacao)$/

/** The validation operation as document 2 describes it, over a small registry of fictitious persons. */
export type ValidationSimulator = Readonly<ReturnType<typeof simulateValidationService>>

/** Creates a validation service with an empty registry. What document 2 does not show is a policy. */
export function simulateValidationService(options: ValidationServiceOptions) {
  const { service, isTokenValid, memory, policies = {} } = options
  const { errors = 'json', otherHeaders = 'accept', required = 'nothing' } = policies
  const { unknownPerson = 'unavailable', licenceName = 'compared' } = policies
  const persons = memory.keep('persons', new Map<string, Claims>())

  const app = new Hono()
  app.post(`/${service}/v2/validate/pf`, async context => {
    if (!isTokenValid(credentialsOf(context.req.raw, 'bearer'))) {
      simulator.refused += 1
      // Document 2 shows no format; both are publicly known.
      const fault = { code: 900_901, message: 'Invalid Credentials', description: 'Expired or invalid token' }
      const response = errors === 'json' ? Response.json({ fault }, { status: 401 }) : xmlFault(401, fault)
      response.headers.set('www-authenticate', 'Bearer error="invalid_token"')
      return response
    }
    const wrongHeader = otherHeaders === 'refuse' ? statusForHeaders(context.req.raw) : undefined
    if (wrongHeader) return context.json({ code: String(wrongHeader), message: 'Cabeçalho inválido' }, wrongHeader)
    const parsed = validationRequestSchema.safeParse(await context.req.json().catch(() => undefined))
    const { key, answer = {} } = parsed.data ?? {}
    if (!parsed.success || (required === 'key' && key?.cpf === undefined))
      return context.json({ code: '400', message: 'Corpo inválido' }, 400)
    const person = persons.get(key?.cpf ?? '')
    if (!person && unknownPerson === 'notFound')
      return context.json({ code: '404', message: 'CPF não encontrado' }, 404)
    simulator.answered += 1
    return context.json(person ? compareClaims(answer, person, licenceName) : { cpf_disponivel: false })
  })
  refuseOtherMethods(app, () => Response.json({ code: '405', message: 'Método não permitido' }, { status: 405 }))

  const simulator = {
    fetch: async (request: Request) => app.fetch(request),
    /** Adds a person to the registry. Claims are compared with it. */
    addPerson: (cpf: string, person: Claims) => void persons.set(parseCpf(cpf), person),
    /** The number of answered validations: those that the provider would bill. */
    answered: 0,
    /** The number of calls that were refused for their token. */
    refused: 0,
  }
  return simulator
}

/** Returns the error status for headers other than the documented ones, both `application/json` (section 4.2). */
function statusForHeaders(request: Request): 406 | 415 | undefined {
  const accepted = (request.headers.get('accept') ?? '').split(',')
  if (!accepted.some(each => /^ *application\/json *(;|$)/i.test(each) && !/; *q=0(\.0*)? *$/.test(each))) return 406
  return contentType(request) === 'application/json' ? undefined : 415
}

function compareClaims(claims: Claims, person: Claims, licenceName: 'compared' | 'absent'): ValidationResponse {
  const answer: Record<string, unknown> = { ...compareGroup('', claims, person), cpf_disponivel: true }
  if (licenceName === 'compared' && claims.cnh && claims.nome !== undefined && person.nome !== undefined)
    answer.cnh = { ...Object(answer.cnh), ...compareField('nome', true, claims.nome, person.nome) }
  return answer
}

function compareGroup(prefix: string, claims: object, person: object): Record<string, unknown> {
  const answer: Record<string, unknown> = {}
  const truth = new Map(Object.entries(person))
  for (const [name, claimed] of Object.entries(claims)) {
    const path = `${prefix}${name}`
    const known: unknown = truth.get(name)
    if (claimed === undefined || known === undefined || requestOnlyFields.test(path)) continue
    if (typeof claimed === 'object' && typeof known === 'object' && known !== null) {
      answer[name] = compareGroup(`${path}.`, claimed, known)
    } else Object.assign(answer, compareField(name, similarityFields.test(path), claimed, known))
  }
  return answer
}

function compareField(name: string, isSimilar: boolean, claimed: unknown, known: unknown): Record<string, unknown> {
  const [a, b] = [normalize(claimed), normalize(known)]
  return { [name]: a === b, ...(isSimilar && { [`${name}_similaridade`]: similarity(a, b) }) }
}

/** Removes differences of case, accents and repeated white space, which do not count. */
function normalize(value: unknown): string {
  return String(value).trim().toUpperCase().normalize('NFD').replace(/\p{M}/gu, '').replace(/\s+/g, ' ')
}

/** One minus the edit distance over the longer length, to two decimals. */
function similarity(a: string, b: string): number {
  const longer = Math.max(a.length, b.length)
  return longer === 0 ? 1 : Math.round((1 - editDistance(a, b) / longer) * 100) / 100
}

function editDistance(a: string, b: string): number {
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
