import type { PlacedPart } from './bundle.ts'
import { each, first, type Steps } from './connection.ts'

/** Where a part stands. */
export type Place = Pick<PlacedPart, 'position' | 'name'>

/** Parts that leave for a bundle, or come back from one, with the event that names them: all of them, or none. */
export type Relocation = { readonly out: readonly Place[] } | { readonly back: readonly PlacedPart[] }

/** A part as events name it: `<position>/<name>`. */
export function placeOf({ position, name }: Place): string {
  return `${position}/${name}`
}

/** Reports whether each part still is where it leaves from: the event may name no other. */
export function* canRelocate(relocation: Relocation): Steps<boolean> {
  if ('out' in relocation) return (yield* present(relocation.out)).length === relocation.out.length
  return (yield* returnable(relocation.back)).length === relocation.back.length
}

/** Those that are there. */
export function* present<P extends Place>(parts: readonly P[]): Steps<P[]> {
  const found: P[] = []
  for (const part of parts) if (yield* isThere(part)) found.push(part)
  return found
}

/** Those that are not there, and that their owner still has a key for. */
export function* returnable(parts: readonly PlacedPart[]): Steps<PlacedPart[]> {
  const found: PlacedPart[] = []
  for (const part of parts) {
    const isAway = !(yield* isThere(part))
    if (isAway && (yield* first({ sql: selectOwner, parameters: [part.owner] }))) found.push(part)
  }
  return found
}

/** Moves them. */
export function* relocate(relocation: Relocation): Steps<void> {
  if ('out' in relocation) {
    yield* each(
      deletePart,
      relocation.out.map(({ position, name }) => [position, name]),
    )
    return
  }
  yield* each(
    insertPart,
    relocation.back.map(({ position, name, sealed, owner }) => [position, name, sealed, owner]),
  )
}

function* isThere({ position, name }: Place): Steps<boolean> {
  return (yield* first({ sql: selectPart, parameters: [position, name] })) !== undefined
}

const selectPart = 'select position from part where position = ? and name = ?'
const selectOwner = 'select key from owner_key where owner = ? and is_erased = 0'
const deletePart = 'delete from part where position = ? and name = ?'
const insertPart = `insert into part (position, name, sealed, owner)
  select ?, ?, ?, key from owner_key where owner = ?`
