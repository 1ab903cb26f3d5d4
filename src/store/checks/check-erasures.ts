import { sql } from 'kysely'
import type { Faults } from '../../proof/faults.ts'
import type { ExplainingEvent } from '../../proof/log-verifier.ts'
import { rows, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'

const erasedType = 'subject.erased'

/** Compares the erasures in the log with the owners' keys: exactly the keys of erased owners must be destroyed. */
export class ErasureCheck {
  /** The erased owners, and whether their last erasure kept nothing. */
  readonly #erased = new Map<string, { isWhole: boolean }>()

  addEvent({ type, stream, data }: ExplainingEvent): void {
    if (type !== erasedType) return
    this.#erased.set(stream, { isWhole: !Array.isArray(data.kept) || data.kept.length === 0 })
  }

  *compareKeys(faults: Faults): Steps<void> {
    const seen = new Set<string>()
    for (const { owner, epoch, is_erased, bytes } of yield* rows(destroyedKeys())) {
      seen.add(owner)
      const erasure = this.#erased.get(owner)
      if (!erasure) faults.add('keys', `the key of "${owner}" is destroyed, and no event explains it`)
      else if (is_erased !== 1) faults.add('keys', `"${owner}" was erased, but is still marked as live`)
      else if (epoch + bytes > 0 && erasure.isWhole)
        faults.add('keys', `"${owner}" was erased, but the key still exists`)
      else if (epoch === 0 && !erasure.isWhole)
        faults.add('keys', `parts of "${owner}" were kept, but the key is destroyed`)
    }
    for (const owner of this.#erased.keys())
      if (!seen.has(owner)) faults.add('keys', `"${owner}" was erased, but is not marked as erased`)
  }
}
/** The keys that are destroyed or marked as erased, with the length of the key and its commitment. */
function destroyedKeys() {
  const bytesOf = (column: 'wrapped' | 'commitment') => sql<number>`length(${sql.ref(column)})`
  return db
    .selectFrom('owner_key')
    .select(({ eb }) => ['owner', 'epoch', 'is_erased', eb(bytesOf('wrapped'), '+', bytesOf('commitment')).as('bytes')])
    .where(({ eb, or }) => or([eb('is_erased', '<>', 0), eb('epoch', '=', 0), eb(bytesOf('wrapped'), '=', 0)]))
}
