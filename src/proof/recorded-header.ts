import type { PartMark } from '../vocabulary/message.ts'

/** The members of a header that a verifier needs. A member of type `unknown` was not checked. */
export interface RecordedHeader {
  readonly format: unknown
  readonly position: unknown
  readonly stream: string
  readonly version: unknown
  readonly type: string
  readonly at: string
  readonly causedBy: string
  readonly machine: { readonly name: string; readonly version: number }
  readonly data: Readonly<Record<string, unknown>>
  readonly parts: readonly PartMark[]
  readonly effects: readonly { readonly type: string }[]
  readonly anomaly?: unknown
}

/** Reads a header; `undefined` when the text is not a header. */
export function parseRecorded(text: string): RecordedHeader | undefined {
  const header = parseObject(text)
  if (!header) return undefined
  const { stream, type, at, causedBy, machine, data, parts = none, effects = none } = header
  const isHeader =
    typeof stream === 'string' &&
    typeof type === 'string' &&
    typeof at === 'string' &&
    typeof causedBy === 'string' &&
    isObject(machine) &&
    typeof machine.name === 'string' &&
    typeof machine.version === 'number'
  if (!isHeader || !areObjects(parts) || !areObjects(effects)) return undefined
  // Changed in place: copying every event takes as long as checking it.
  if (!isObject(data)) header.data = {}
  header.parts = parts
  header.effects = effects
  return header as unknown as RecordedHeader // The members were checked above, or are unknown.
}

const none: readonly never[] = []

/** Reads a line of JSON that holds an object. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Reports whether a value is an array of objects. */
export function areObjects(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value) && value.every(isObject)
}

/** Reports whether a value is an object, and not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
