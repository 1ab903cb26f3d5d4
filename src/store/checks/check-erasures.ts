import type { ExplainingEvent } from '../../proof/absence.ts'
import type { Faults } from '../../proof/faults.ts'
import { rows, type Steps } from '../database/connection.ts'

/** The event that says that a person was erased, on their own stream. */
const erasedType = 'subject.erased'

/** Whose erasure the log records: exactly these owners' keys must be gone. */
export class ErasureCheck {
  /** The owners that were erased, and whether their last erasure kept nothing. */
  readonly #erased = new Map<string, { isWhole: boolean }>()

  /** Hears every event. */
  hear({ type, stream, data }: ExplainingEvent): void {
    if (type !== erasedType) return
    this.#erased.set(stream, { isWhole: !Array.isArray(data.kept) || data.kept.length === 0 })
  }

  /** The key of a person must be gone exactly where the log says so. */
  *compareKeys(faults: Faults): Steps<void> {
    const seen = new Set<string>()
    for (const { owner, epoch, isErased, bytes } of yield* rows<KeyRow>({
      sql: selectErased,
      parameters: [],
    })) {
      seen.add(owner)
      const erasure = this.#erased.get(owner)
      if (!erasure) faults.add('keys', `the key of "${owner}" is gone, and no event says why`)
      else if (isErased !== 1) faults.add('keys', `"${owner}" was erased, and may be written of again`)
      else if (epoch + bytes > 0 && erasure.isWhole)
        faults.add('keys', `"${owner}" was erased, and the key is there`)
      else if (epoch === 0 && !erasure.isWhole)
        faults.add('keys', `of "${owner}" parts were kept, and the key is gone`)
    }
    for (const owner of this.#erased.keys())
      if (!seen.has(owner)) faults.add('keys', `"${owner}" was erased, and is not marked as such`)
  }
}

interface KeyRow {
  readonly owner: string
  readonly epoch: number
  readonly isErased: 0 | 1
  /** The key's length, and its commitment. */
  readonly bytes: number
}

const selectErased = `select owner, epoch, is_erased as "isErased",
  length(wrapped) + length(commitment) as bytes from owner_key
  where is_erased <> 0 or epoch = 0 or length(wrapped) = 0`
