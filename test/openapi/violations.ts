import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Document, MediaType, Schema } from '../../openapi/document.ts'
import { type Described, valueOf } from './described.ts'

/**
 * Finds mismatches between an exchange and the documents: none for our own clients and simulators. The documents leave
 * objects open, as the contracts do. Here they are closed: neither side of ours may send a field that no contract
 * names.
 */

const ajv = new Ajv2020({ allErrors: true, strict: true, strictTypes: false })
addFormats.default(ajv)
ajv.addVocabulary(['components', 'x-averba-policy'])

const compiled = new Map<Schema, ValidateFunction>()

/** Lists what is wrong with a response to an operation: its status, its media type, its body. */
export async function checkResponse(described: Described, response: Response): Promise<string[]> {
  const { document, operation } = described
  const expected = operation.responses[response.status]
  if (!expected) return [`${operation.operationId} has no status ${response.status}`]
  const text = await response.text()
  const where = `${operation.operationId}, ${response.status}`
  return checkBody(document, expected.content, response.headers, text).map(wrong => `${where}: ${wrong}`)
}

/** Lists what is wrong with a request of an operation: its parameters, its credential, its body. */
export async function checkRequest(described: Described, request: Request): Promise<string[]> {
  const { document, operation } = described
  const text = await request.text()
  const violations = [
    ...checkParameters(described, request),
    ...checkCredential(described, request),
    ...checkBody(document, operation.requestBody?.content, request.headers, text),
  ]
  return violations.map(wrong => `${operation.operationId}: ${wrong}`)
}

function checkParameters(described: Described, request: Request): string[] {
  const { document, operation } = described
  const { parameters = [] } = operation
  const known = parameters.filter(each => each.in === 'query').map(each => each.name)
  const unknown = [...new URL(request.url).searchParams.keys()].filter(name => !known.includes(name))
  const violations = parameters.flatMap(parameter => {
    const { name, schema, required } = parameter
    const value = valueOf(parameter, described, request)
    if (value === undefined) return required ? [`${name} is missing`] : []
    return checkValue(document, schema, parseParameter(value, schema)).map(wrong => `${name}: ${wrong}`)
  })
  return [...unknown.map(name => `${name} is not a parameter`), ...violations]
}

/** Converts a parameter, which is sent as text, to the type of its schema. */
export function parseParameter(value: string, { type }: Schema): unknown {
  if (type === 'integer') return /^\d+$/.test(value) ? Number(value) : value
  if (type === 'boolean') return value === 'true' || (value === 'false' ? false : value)
  return value
}

function checkCredential({ document, operation }: Described, request: Request): string[] {
  const authorization = request.headers.get('authorization') ?? ''
  const ways = operation.security ?? document.security ?? []
  const isRight = ways.some(way => {
    const schemes = Object.keys(way).map(name => document.components.securitySchemes[name] ?? {})
    return schemes.every(({ type, scheme }) => {
      if (type === 'mutualTLS') return authorization === ''
      return type === 'http' ? new RegExp(`^${scheme} \\S+$`, 'i').test(authorization) : authorization !== ''
    })
  })
  return isRight ? [] : ['the credential is of another kind']
}

function checkBody(
  document: Document,
  content: Readonly<Record<string, MediaType>> | undefined,
  headers: Headers,
  text: string,
): string[] {
  const type = mediaTypeOf(headers)
  if (!content) return text === '' && type === '' ? [] : ['there is a body']
  const media = content[type]
  if (!media) return [`the media type is "${type}"`]
  return checkValue(document, media.schema, parseBody(type, text))
}

/** The media type of a body, without parameters; empty when there is none. */
export function mediaTypeOf(headers: Headers): string {
  return headers.get('content-type')?.split(';')[0]?.trim() ?? ''
}

export function parseBody(type: string, text: string): unknown {
  if (type === 'application/x-www-form-urlencoded') return Object.fromEntries(new URLSearchParams(text))
  return type.endsWith('json') ? JSON.parse(text) : text
}

function checkValue(document: Document, schema: Schema, value: unknown): string[] {
  const validate = compiled.get(schema) ?? compile(document, schema)
  compiled.set(schema, validate)
  if (validate(value)) return []
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    `${instancePath} ${message} ${JSON.stringify(params)}`.trim(),
  )
}

/** The references of a schema point to `#/components`, which is compiled with it. */
function compile({ components }: Document, schema: Schema): ValidateFunction {
  return ajv.compile(closeObjects({ allOf: [schema], components: { schemas: components.schemas } }))
}

/** Closes every object of a schema that lists its properties. */
function closeObjects(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema), (_, value) => {
    const isOpen = value?.type === 'object' && 'properties' in value && !('additionalProperties' in value)
    return isOpen ? { ...value, additionalProperties: false } : value
  })
}
