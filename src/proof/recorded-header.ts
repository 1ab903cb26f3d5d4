import type { PartMark } from '../vocabulary/message.ts'

/** The members of a header that a verifier needs. A member of type `unknown` was not checked. */
export type RecordedHeader = {
  readonly position: number
  readonly stream: string
  readonly version: number
  readonly type: string
  readonly at: string
  readonly causedBy: string
  readonly machine: { readonly name: string; readonly version: number }
  readonly data: Readonly<Record<string, unknown>>
  readonly parts: readonly PartMark[]
  readonly effects: readonly { readonly type: string }[]
  readonly format?: unknown
  readonly anomaly?: unknown
  readonly commandId?: unknown
  readonly cancels?: unknown
  readonly settles?: unknown
  readonly moves?: unknown
  readonly resolves?: unknown
}

export function parseRecorded(text: string): RecordedHeader | undefined {
  const header = parseObject(text)
  if (!header) return undefined
  // Changed in place: copying every event takes as long as checking it.
  if (!isObject(header.data)) header.data = {}
  if (header.parts === undefined) header.parts = none
  if (header.effects === undefined) header.effects = none
  return isRecorded(header) ? header : undefined
}

/** Checks the members that have a type: anyone may have written them. */
function isRecorded(header: Record<string, unknown>): header is RecordedHeader {
  const { position, stream, version, type, at, causedBy, machine, parts, effects } = header
  return (
    typeof position === 'number' &&
    typeof stream === 'string' &&
    typeof version === 'number' &&
    typeof type === 'string' &&
    typeof at === 'string' &&
    typeof causedBy === 'string' &&
    isObject(machine) &&
    typeof machine.name === 'string' &&
    typeof machine.version === 'number' &&
    areObjects(parts) &&
    parts.every(isPartMark) &&
    areObjects(effects) &&
    effects.every(effect => typeof effect.type === 'string')
  )
}

function isPartMark({ name, owner, hash, bytes }: Readonly<Record<string, unknown>>): boolean {
  return typeof name === 'string' && typeof owner === 'string' && typeof hash === 'string' && typeof bytes === 'number'
}

const none: readonly never[] = []

export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

export function areObjects(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value) && value.every(isObject)
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export const logStream = 'log-main'
/** The first event of a log: its name, its keyring and the key of its checkpoints. */
export const beganType = 'log.began'
export const machinesAddedType = 'log.machinesAdded'
/** The event after which a restored log continues under a new name. */
export const resumedType = 'log.resumed'

/** The last event at a place that the log has left: nothing is recorded there any more. */
export const movedType = 'log.moved'
export const arrivedType = 'log.arrived'

/** Every type of event about the log itself. */
export const logTypes = [beganType, machinesAddedType, resumedType, movedType, arrivedType] as const
