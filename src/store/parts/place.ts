import { first, type Steps } from '../database/connection.ts'

/** Where a part stands. */
export interface Place {
  readonly position: number
  readonly name: string
}

/** A part as events name it: `<position>/<name>`. */
export function placeOf({ position, name }: Place): string {
  return `${position}/${name}`
}

/** Those that are there. */
export function* present<P extends Place>(parts: readonly P[]): Steps<P[]> {
  const found: P[] = []
  for (const part of parts) if (yield* isThere(part)) found.push(part)
  return found
}

function* isThere({ position, name }: Place): Steps<boolean> {
  return (yield* first({ sql: selectPart, parameters: [position, name] })) !== undefined
}

const selectPart = 'select position from part where position = ? and name = ?'
