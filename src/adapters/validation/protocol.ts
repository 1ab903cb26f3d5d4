import { parseJson } from '../../vocabulary/json.ts'
import type { Json } from '../../vocabulary/message.ts'
import { withoutEndSlashes } from '../http/listing.ts'
import { type Claims, type ValidationResponse, validationResponseSchema } from './wire.ts'

/**
 * Writes the validation request and reads its answer: pure.
 *
 * @see document 2, sections 2 and 4.2
 */

/** What the registry says of one claimed field. An absent field is not a mismatch. */
export interface FieldResult {
  readonly result: 'match' | 'mismatch' | 'not-evaluated'
  /** How alike the texts are, where the service says so, be it all that it says: 0 to 1 in all shown cases. */
  readonly similarity?: number
}

/** The result of a validation, by the path of each field, such as `filiacao.nome_mae`. */
export interface ValidationResult {
  readonly fields: Readonly<Record<string, FieldResult>>
  readonly cpfDisponivel?: boolean
}

/** Writes the validation of one person. */
export function writeValidatePerson(
  address: { baseUrl: string; service: string },
  request: { bearer: string; cpf: string; claims: Json; trace?: { header: string; id: string } },
): Request {
  const { baseUrl, service } = address
  const { bearer, cpf, claims, trace } = request
  return new Request(`${withoutEndSlashes(baseUrl)}/${encodeURIComponent(service)}/v2/validate/pf`, {
    method: 'POST',
    redirect: 'manual', // A way out of the host's own would take person and claims elsewhere.
    headers: {
      accept: 'application/json',
      authorization: `Bearer ${bearer}`,
      'content-type': 'application/json',
      ...(trace && { [trace.header]: trace.id }),
    },
    body: JSON.stringify({ key: { cpf }, answer: claims }),
  })
}

/**
 * How one version of the operation is spoken, pure: this file speaks V2. Another version would be another such file,
 * for the client to choose.
 */
export interface ValidationProtocol {
  /** The version's name in the path. Answers of two versions are not interchangeable. */
  readonly version: string
  readonly writeValidatePerson: typeof writeValidatePerson
  readonly readResult: typeof readResult
}

/** The version that document 2 shows. V3 exists, and its shape is not shown (section 9). */
export const v2: ValidationProtocol = { version: 'v2', writeValidatePerson, readResult }

const similaritySuffix = '_similaridade'

/** A result as it was read. */
export interface ReadResult extends ValidationResult {
  /** The members of another type than the contract's, by their paths: they count as absent. */
  readonly unreadable: readonly string[]
}

/**
 * Reads the answer; `undefined` when it is not one: when it has no member of the contract that can be read. Each
 * claimed field gets one of three results.
 */
export function readResult(text: string, claims: Claims): ReadResult | undefined {
  const { members, unreadable } = readMembers(parseJson(text))
  const { cpf_disponivel, ...answer } = members
  const answered = flatten(answer)
  if (answered.size === 0 && cpf_disponivel === undefined) return undefined
  const fields: Record<string, FieldResult> = {}
  for (const path of flatten(claims).keys()) fields[path] = { result: 'not-evaluated' }
  for (const [path, value] of answered) {
    if (typeof value === 'boolean') fields[path] = { ...fields[path], result: value ? 'match' : 'mismatch' }
    else if (typeof value === 'number')
      fields[comparedBy(path)] = withSimilarity(fields[comparedBy(path)], value)
  }
  return { fields, unreadable, ...(cpf_disponivel !== undefined && { cpfDisponivel: cpf_disponivel }) }
}

/** The field that a similarity is of: the numbers of the answer are similarities, and nothing else. */
function comparedBy(path: string): string {
  return path.slice(0, -similaritySuffix.length)
}

/** A similarity was paid for, also where whether the values match was left out, or cannot be read. */
function withSimilarity(field: FieldResult | undefined, similarity: number): FieldResult {
  return { result: field?.result ?? 'not-evaluated', similarity }
}

/** The answer was paid for: one member of a wrong type must not discard the others. */
function readMembers(body: unknown): { members: ValidationResponse; unreadable: string[] } {
  const whole = validationResponseSchema.safeParse(body)
  if (whole.success) return { members: whole.data, unreadable: [] }
  const paths = whole.error.issues.map(issue => issue.path)
  for (const path of paths) leaveOut(body, path)
  const rest = validationResponseSchema.safeParse(body)
  return rest.success
    ? { members: rest.data, unreadable: paths.map(path => path.join('.')) }
    : { members: {}, unreadable: [] }
}

function leaveOut(body: unknown, path: readonly PropertyKey[]): void {
  const [name, ...inner] = path
  if (name === undefined || typeof body !== 'object' || body === null) return
  if (inner.length === 0) Reflect.deleteProperty(body, name)
  else leaveOut(Reflect.get(body, name), inner)
}

/** The members of claims or of an answer by their paths, such as `filiacao.nome_mae`. */
export function flatten(value: object, prefix = ''): Map<string, unknown> {
  const flat = new Map<string, unknown>()
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue
    if (typeof member !== 'object' || member === null) flat.set(`${prefix}${name}`, member)
    else for (const [path, inner] of flatten(member, `${prefix}${name}.`)) flat.set(path, inner)
  }
  return flat
}
