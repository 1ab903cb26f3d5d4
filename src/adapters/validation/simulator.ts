import { Hono } from 'hono'
import { type Claims, type ValidationResponse, validationRequestSchema } from './wire.ts'

/**
 * The validation operation as document 2 describes it, over a small registry of persons. What it does not
 * show is a policy of docs/unspecified.md.
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

interface Options {
  readonly service: string
  readonly isTokenValid: (token: string) => boolean
}

/** The fields whose likeness is told beside the match (section 2). */
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
export function simulateValidationService({ service, isTokenValid }: Options): ValidationSimulator {
  const persons = new Map<string, Claims>()
  let answered = 0
  let refused = 0

  const app = new Hono()
  app.post(`/${service}/v2/validate/pf`, async context => {
    const token = /^Bearer (.+)$/.exec(context.req.header('authorization') ?? '')?.[1] ?? ''
    if (!isTokenValid(token)) {
      refused += 1
      const fault = { code: 900_901, message: 'Invalid Credentials', description: 'Expired or invalid token' }
      return context.json({ fault }, 401)
    }
    const parsed = validationRequestSchema.safeParse(await context.req.json().catch(() => undefined))
    if (!parsed.success) return context.json({ code: '400', message: 'Corpo inválido' }, 400)
    answered += 1
    const person = persons.get(parsed.data.key.cpf)
    return context.json(person ? compare(parsed.data.answer, person) : { cpf_disponivel: false })
  })

  return {
    fetch: async request => app.fetch(request),
    addPerson: (cpf, person) => void persons.set(cpf, person),
    get answered() {
      return answered
    },
    get refused() {
      return refused
    },
  }
}

function compare(claims: Claims, person: Claims): ValidationResponse {
  const answer: Record<string, unknown> = { ...compareGroup('', claims, person), cpf_disponivel: true }
  // The driving licence's name exists only in the answer: by policy it is compared with the claimed name.
  if (claims.cnh && claims.nome !== undefined && person.nome !== undefined) {
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

function normal(value: unknown): string {
  return String(value).trim().toUpperCase().normalize('NFD').replace(/\p{M}/gu, '').replace(/\s+/g, ' ')
}

/** One less the edit distance over the longer length, to two decimals. */
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
