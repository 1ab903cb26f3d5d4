import type { ExplainingEvent } from '../../proof/absence.ts'
import type { Faults } from '../../proof/faults.ts'
import { rows, type Steps } from '../database/connection.ts'

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
    for (const { owner, epoch, isErased, bytes } of yield* rows<KeyRow>({
      sql: selectErased,
      parameters: [],
    })) {
      seen.add(owner)
      const erasure = this.#erased.get(owner)
      if (!erasure) faults.add('keys', `the key of "${owner}" is destroyed, and no event explains it`)
      else if (isErased !== 1) faults.add('keys', `"${owner}" was erased, but is still marked as live`)
      else if (epoch + bytes > 0 && erasure.isWhole)
        faults.add('keys', `"${owner}" was erased, but the key still exists`)
      else if (epoch === 0 && !erasure.isWhole)
        faults.add('keys', `parts of "${owner}" were kept, but the key is destroyed`)
    }
    for (const owner of this.#erased.keys())
      if (!seen.has(owner)) faults.add('keys', `"${owner}" was erased, but is not marked as erased`)
  }
}

interface KeyRow {
  readonly owner: string
  readonly epoch: number
  readonly isErased: 0 | 1
  /** The length of the key and its commitment. */
  readonly bytes: number
}

const selectErased = `select owner, epoch, is_erased as "isErased",
  length(wrapped) + length(commitment) as bytes from owner_key
  where is_erased <> 0 or epoch = 0 or length(wrapped) = 0`
