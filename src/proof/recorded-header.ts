import type { PartMark } from '../vocabulary/message.ts'

/** The members of a header that a verifier looks at, as the text has them: only what was checked is certain. */
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

/** Reads a header; `undefined` when the text is not one. */
export function parseRecorded(text: string): RecordedHeader | undefined {
  const header = parseObject(text)
  if (!header) return undefined
  const { stream, type, at, causedBy, data, parts, effects } = header
  const { machine } = header
  const isHeader =
    typeof stream === 'string' &&
    typeof type === 'string' &&
    typeof at === 'string' &&
    typeof causedBy === 'string' &&
    isObject(machine) &&
    typeof machine.name === 'string' &&
    typeof machine.version === 'number'
  if (!isHeader || !areObjects(parts) || !areObjects(effects)) return undefined
  // Filled in place: copying every event takes as long as checking it.
  if (!isObject(data)) header.data = {}
  if (parts === undefined) header.parts = none
  if (effects === undefined) header.effects = none
  return header as unknown as RecordedHeader // Looked at above, or compared as unknown.
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

function areObjects(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.every(isObject))
}

/** Reports whether a value is an object with members, and no list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
