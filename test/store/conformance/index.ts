import { describe } from 'vitest'
import { appendConformance } from './appends.ts'
import { failureConformance, keptConformance } from './commits.ts'
import { connectionConformance } from './connections.ts'
import { effectConformance } from './effects.ts'
import { followerConformance } from './followers.ts'
import { type Connect, Place, type Through } from './place.ts'
import { processConformance } from './processes.ts'
import { viewConformance } from './views.ts'

/**
 * The tests that every store must pass, for any dialect. A new store needs only a `Connection`; everything else is the
 * same for all.
 *
 * `newDatabase` creates an empty database and returns a function that opens connections to it. Pass `isShared: false`
 * when only one process can open it, and `isKept: false` when it disappears with its last connection. These tests
 * cannot show that acknowledged data survives a power cut.
 *
 * @example
 * storeConformance(() => {
 *   const schema = newSchema()
 *   return () => connectTo(schema)
 * })
 */
export function storeConformance(
  newDatabase: () => Connect,
  { isShared = true, isKept = true }: { readonly isShared?: boolean; readonly isKept?: boolean } = {},
): void {
  const newPlace = (through?: Through) => new Place(newDatabase(), through)
  describe('connections', () => connectionConformance(newDatabase, { isShared }))
  describe('appends', () => appendConformance(newPlace))
  describe('commits that fail', () => failureConformance(newPlace))
  describe('effects', () => effectConformance(newPlace))
  describe('views', () => viewConformance(newPlace))
  describe('followers', () => followerConformance(newPlace))
  if (isKept) describe('durability', () => keptConformance(newPlace))
  if (isShared) describe('several processes', () => processConformance(newPlace))
}
