import type { Json } from '../../message.ts'
import { parseJson } from '../json.ts'
import { type Claims, validationResponseSchema } from './wire.ts'

/**
 * Writes the validation request and reads its answer: pure.
 *
 * @see document 2, sections 2 and 4.2
 */

/** What the registry says of one claimed field. An absent field is not a mismatch. */
export interface FieldResult {
  readonly result: 'match' | 'mismatch' | 'not-evaluated'
  /** How alike the texts are, where the service says so: 0 to 1 in all shown cases. */
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
  return new Request(`${baseUrl.replace(/\/+$/, '')}/${encodeURIComponent(service)}/v2/validate/pf`, {
    method: 'POST',
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
 * and the client would take that one.
 */
export interface ValidationProtocol {
  /** As the path names it. Answers of two versions are not the same answer. */
  readonly version: string
  readonly writeValidatePerson: typeof writeValidatePerson
  readonly readResult: typeof readResult
}

/** The version that document 2 shows. V3 exists, and its shape is not shown (section 9). */
export const v2: ValidationProtocol = { version: 'v2', writeValidatePerson, readResult }

const similaritySuffix = '_similaridade'

/** Reads the answer; `undefined` when it is not one. Each claimed field gets one of three results. */
export function readResult(text: string, claims: Claims): ValidationResult | undefined {
  const parsed = validationResponseSchema.safeParse(parseJson(text))
  if (!parsed.success) return undefined
  const { cpf_disponivel, ...answer } = parsed.data
  const fields: Record<string, FieldResult> = {}
  for (const path of flatten(claims).keys()) fields[path] = { result: 'not-evaluated' }
  const answered = flatten(answer)
  for (const [path, value] of answered) {
    if (typeof value !== 'boolean') continue
    const similarity = answered.get(`${path}${similaritySuffix}`)
    fields[path] = {
      result: value ? 'match' : 'mismatch',
      ...(typeof similarity === 'number' && { similarity }),
    }
  }
  return { fields, ...(cpf_disponivel !== undefined && { cpfDisponivel: cpf_disponivel }) }
}

function flatten(value: object, prefix = ''): Map<string, unknown> {
  const flat = new Map<string, unknown>()
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue
    if (typeof member !== 'object' || member === null) flat.set(`${prefix}${name}`, member)
    else for (const [path, inner] of flatten(member, `${prefix}${name}.`)) flat.set(path, inner)
  }
  return flat
}
