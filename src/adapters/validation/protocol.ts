import { hash } from 'node:crypto'
import { parseJson } from '../../vocabulary/json.ts'
import type { Json } from '../../vocabulary/message.ts'
import { trimEndSlashes } from '../http/answer-body.ts'
import { type Claims, type ValidationResponse, validationResponseSchema } from './wire.ts'

/** Writes the validation request and reads its answer: pure (document 2, sections 2 and 4.2). */

/** What the registry says of one claimed field. An absent field is not a mismatch. */
export interface FieldResult {
  readonly result: 'match' | 'mismatch' | 'not-evaluated'
  /** How alike the texts are, if the service says so: 0 to 1 in all shown cases. May come without a match result. */
  readonly similarity?: number
}

/** The result of a validation, by the path of each field, such as `filiacao.nome_mae`. */
export interface ValidationResult {
  readonly fields: Readonly<Record<string, FieldResult>>
  readonly cpfDisponivel?: boolean
}

/** The version that document 2 shows, as in the path. V3 exists, and its shape is not shown (section 9). */
const version = 'v2'

export function writeValidatePerson(
  { baseUrl, service }: { baseUrl: string; service: string },
  { bearer, cpf, claims, trace }: { bearer: string; cpf: string; claims: Json; trace?: { header: string; id: string } },
): Request {
  return new Request(`${trimEndSlashes(baseUrl)}/${encodeURIComponent(service)}/${version}/validate/pf`, {
    method: 'POST',
    redirect: 'manual', // A host's own `fetch` would send the personal data elsewhere.
    headers: {
      accept: 'application/json',
      authorization: `Bearer ${bearer}`,
      'content-type': 'application/json',
      ...(trace && { [trace.header]: trace.id }),
    },
    body: JSON.stringify({ key: { cpf }, answer: claims }),
  })
}

const similaritySuffix = '_similaridade'

/** A result, and what could not be read of it. */
export interface ReadResult extends ValidationResult {
  /** Paths of members whose type is not the contract's: they count as absent. */
  readonly unreadable: readonly string[]
}

/** Reads the answer: a result for each claimed field. `undefined` when it has no readable member of the contract. */
export function readResult(text: string, claims: Claims): ReadResult | undefined {
  const body = parseJson(text)
  const { members, unreadable } = readMembers(body)
  const { cpf_disponivel, ...answer } = members
  const answered = flattenMembers(answer)
  const fields: Record<string, FieldResult> = {}
  for (const path of flattenMembers(claims).keys()) {
    fields[path] = { result: 'not-evaluated' }
    // The contract shows no answer for some claims: one that is given is not dropped.
    const value = answered.has(path) ? undefined : memberAt(body, path)
    if (typeof value === 'boolean') answered.set(path, value)
    else if (value !== undefined) unreadable.push(path)
  }
  if (answered.size === 0 && cpf_disponivel === undefined) return undefined
  for (const [path, value] of answered) {
    if (typeof value === 'boolean') fields[path] = { ...fields[path], result: value ? 'match' : 'mismatch' }
    else if (typeof value === 'number') fields[comparedField(path)] = withSimilarity(fields[comparedField(path)], value)
  }
  return { fields, unreadable, ...(cpf_disponivel !== undefined && { cpfDisponivel: cpf_disponivel }) }
}

/** The path of the field that a similarity belongs to. All numbers in an answer are similarities. */
function comparedField(path: string): string {
  return path.slice(0, -similaritySuffix.length)
}

/** A similarity was paid for: it is kept even if the match result is missing or unreadable. */
function withSimilarity(field: FieldResult | undefined, similarity: number): FieldResult {
  return { result: field?.result ?? 'not-evaluated', similarity }
}

/** The answer was paid for: one member of a wrong type must not discard the others. */
function readMembers(body: unknown): { members: ValidationResponse; unreadable: string[] } {
  const whole = validationResponseSchema.safeParse(body)
  if (whole.success) return { members: whole.data, unreadable: [] }
  const paths = whole.error.issues.map(issue => issue.path)
  for (const path of paths) removeMember(body, path)
  const rest = validationResponseSchema.safeParse(body)
  return rest.success
    ? { members: rest.data, unreadable: paths.map(path => path.join('.')) }
    : { members: {}, unreadable: [] }
}

function memberAt(body: unknown, path: string): unknown {
  const read = (from: unknown, name: string) =>
    typeof from === 'object' && from !== null && Object.hasOwn(from, name) ? Reflect.get(from, name) : undefined
  return path.split('.').reduce(read, body)
}

function removeMember(body: unknown, path: readonly PropertyKey[]): void {
  const [name, ...inner] = path
  if (name === undefined || typeof body !== 'object' || body === null) return
  if (inner.length === 0) Reflect.deleteProperty(body, name)
  else removeMember(Reflect.get(body, name), inner)
}

/** The members of claims or of an answer by their paths, such as `filiacao.nome_mae`. */
export function flattenMembers(value: object, prefix = ''): Map<string, unknown> {
  const flat = new Map<string, unknown>()
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue
    if (typeof member !== 'object' || member === null) flat.set(`${prefix}${name}`, member)
    else for (const [path, inner] of flattenMembers(member, `${prefix}${name}.`)) flat.set(path, inner)
  }
  return flat
}

/**
 * Identifies the environment of an answer by version, address and service: the demonstration has sample data only.
 * `knownAs` is the earlier address, if the same service has moved.
 */
export function environmentId(from: { baseUrl: string; service: string; knownAs?: string }): string {
  const { baseUrl, service, knownAs = baseUrl } = from
  const { origin, pathname } = new URL(knownAs)
  const place = [version, origin, trimEndSlashes(pathname), service]
  return hash('sha256', place.join('\0'), 'hex').slice(0, 16)
}
