import type { Json, Problem } from '../../vocabulary/message.ts'

const textMax = 300

/** How much of an XML fault is read. */
const xmlMax = 10_000

/**
 * Reads an error body as a problem: RFC 9457 with extensions in `properties` or beside it (document 1, section 7), a
 * gateway's `fault` as JSON or XML, or any of their members. Masks numbers that may identify a person, and leaves out
 * `instance`, which repeats the address.
 */
export function readProblem(status: number, text: string): Problem {
  const body = parseBody(text)
  const properties = objectAt(body, 'properties')
  const fault = objectAt(body, 'fault')
  const code =
    scalarAt(properties, 'code') ?? scalarAt(body, 'code') ?? scalarAt(fault, 'code') ?? scalarAt(body, 'error')
  const title = scalarAt(body, 'title') ?? scalarAt(fault, 'message') ?? scalarAt(body, 'message')
  const detail = scalarAt(body, 'detail') ?? scalarAt(fault, 'description') ?? scalarAt(body, 'error_description')
  const type = scalarAt(body, 'type')
  return {
    status,
    ...(type !== undefined && { type }),
    ...(title !== undefined && { title }),
    ...(detail !== undefined && { detail }),
    ...(code !== undefined && { code }),
  }
}

/** A problem as the value of a sealed part. */
export function problemPart(problem: Problem): Json {
  return { ...problem }
}

function parseBody(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text)
    const value = Array.isArray(parsed) ? parsed[0] : parsed
    return isObject(value) ? value : {}
  } catch {
    return { fault: parseXmlFault(text) }
  }
}

/** Reads a gateway's fault in XML: three flat texts, found by name without parsing the markup. */
function parseXmlFault(text: string): Record<string, unknown> {
  if (!/^\s*(<\?xml[^>]*>\s*)?<(\w+:)?fault\b/.test(text.slice(0, textMax))) return {}
  const members = text.slice(0, xmlMax).matchAll(/<(?:\w+:)?(code|message|description)>([^<]*)</g)
  return Object.fromEntries([...members].map(([, name = '', value = '']) => [name, value.trim()]))
}

function objectAt(value: Record<string, unknown>, name: string): Record<string, unknown> {
  const member = value[name]
  return isObject(member) ? member : {}
}

function scalarAt(value: Record<string, unknown>, name: string): string | undefined {
  const member = value[name]
  if (typeof member !== 'string' && typeof member !== 'number') return undefined
  return maskNumbers(String(member)).slice(0, textMax)
}

/** Masks every run of seven digits or more, with or without the punctuation of a CPF or CNPJ. */
function maskNumbers(text: string): string {
  return text.replace(/\d(?:[.\-/]?\d){6,}/g, '***')
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
