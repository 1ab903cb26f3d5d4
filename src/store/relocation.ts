import type { PlacedPart } from './bundle.ts'
import { each, first, type Steps } from './connection.ts'
import { newestErasure } from './newest-erasure.ts'

/** Where a part stands. */
export type Place = Pick<PlacedPart, 'position' | 'name'>

/** Parts that move out to a bundle, or back, with the event that names them: all of them, or none. */
export type Relocation = { readonly out: readonly Place[] } | { readonly back: readonly PlacedPart[] }

/** A part as events name it: `<position>/<name>`. */
export function placeOf({ position, name }: Place): string {
  return `${position}/${name}`
}

/** Reports whether each part is still where it leaves from: the event must name no other. */
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

/**
 * The given parts that are not there and whose owner still has a key. Of an erased owner, only those that the erasure
 * kept.
 */
export function* returnable(parts: readonly PlacedPart[]): Steps<PlacedPart[]> {
  const found: PlacedPart[] = []
  for (const part of parts) {
    const isAway = !(yield* isThere(part))
    if (isAway && (yield* isOpenable(part))) found.push(part)
  }
  return found
}

function* isOpenable(part: PlacedPart): Steps<boolean> {
  const { owner } = part
  const key = yield* first<{ isErased: 0 | 1 }>({ sql: selectOwner, parameters: [owner] })
  if (key?.isErased !== 1) return key !== undefined
  return (yield* newestErasure(owner))?.data.kept.includes(placeOf(part)) ?? false
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
const selectOwner = 'select is_erased as "isErased" from owner_key where owner = ? and epoch > 0'
const deletePart = 'delete from part where position = ? and name = ?'
const insertPart = `insert into part (position, name, sealed, owner)
  select ?, ?, ?, key from owner_key where owner = ?`
