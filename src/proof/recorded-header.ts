import type { PartMark } from '../message.ts'
import { isObject } from './is-object.ts'

/** What a verifier looks at in a header. Its members are as the text has them: nothing is sure but what was checked. */
export interface RecordedHeader {
  readonly format: unknown
  readonly position: unknown
  readonly stream: string
  readonly version: unknown
  readonly type: string
  readonly at: string
  readonly because: string
  readonly machine: { readonly name: string; readonly version: number }
  readonly data: Readonly<Record<string, unknown>>
  readonly parts: readonly PartMark[]
  readonly effects: readonly { readonly type: string }[]
  readonly anomaly?: unknown
}

/** Reads a header; `undefined` when it is not the text of one. */
export function parseRecorded(text: string): RecordedHeader | undefined {
  const header = parseObject(text)
  if (!header) return undefined
  const { stream, type, at, because, data, parts, effects } = header
  const { machine } = header
  const isHeader =
    typeof stream === 'string' &&
    typeof type === 'string' &&
    typeof at === 'string' &&
    typeof because === 'string' &&
    isObject(machine) &&
    typeof machine.name === 'string' &&
    typeof machine.version === 'number'
  if (!isHeader || !areObjects(parts) || !areObjects(effects)) return undefined
  // Filled in where it stands: a copy of every event takes as long as looking at it.
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
