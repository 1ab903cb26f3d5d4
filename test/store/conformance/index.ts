import { appendConformance } from './appends.ts'
import { failureConformance, keptConformance } from './commits.ts'
import { connectionConformance } from './connections.ts'
import { effectConformance } from './effects.ts'
import { followerConformance } from './followers.ts'
import { type Connect, type Harness, Place, type Through } from './place.ts'
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
 * import { describe, expect, test } from 'vitest'
 * storeConformance({ describe, test, expect }, () => {
 *   const schema = newSchema()
 *   return () => connectTo(schema)
 * })
 */
export function storeConformance(
  harness: Harness,
  newDatabase: () => Connect,
  { isShared = true, isKept = true }: { readonly isShared?: boolean; readonly isKept?: boolean } = {},
): void {
  const newPlace = (through?: Through) => new Place(newDatabase(), through)
  harness.describe('connections', () => connectionConformance(harness, newDatabase, { isShared }))
  harness.describe('appends', () => appendConformance(harness, newPlace))
  harness.describe('commits that fail', () => failureConformance(harness, newPlace))
  harness.describe('effects', () => effectConformance(harness, newPlace))
  harness.describe('views', () => viewConformance(harness, newPlace))
  harness.describe('followers', () => followerConformance(harness, newPlace))
  if (isKept) harness.describe('durability', () => keptConformance(harness, newPlace))
  if (isShared) harness.describe('several processes', () => processConformance(harness, newPlace))
}
