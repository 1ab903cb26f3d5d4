import { giveWay } from '../clock.ts'
import type { PartMark } from '../message.ts'
import type { Faults } from '../proof/faults.ts'
import { first, rows, type Steps } from './connection.ts'
import { parseHeader } from './header.ts'
import { selectPosition } from './schema.ts'
import type { Snapshot } from './snapshot.ts'

/** The event that says that a person was erased, on their own stream. */
const erasedType = 'subject.erased'
/** The event that says which parts were destroyed one by one. */
const retentionType = 'retention.applied'

/** How many positions are looked at before the event loop turns. */
const pagePositions = 50_000

/** Whose erasure the log records, and which parts it says were destroyed: what else is missing was taken out. */
export class ErasureCheck {
  /** The owners that were erased, with the position of the last erasure, and whether nothing was kept. */
  readonly #erased = new Map<string, { position: number; isWhole: boolean }>()
  /** The parts that an event says were destroyed one by one, as `<position>/<name>`. */
  readonly #destroyed = new Set<string>()

  /** Reads what the log says of it. */
  static async load(snapshot: Snapshot): Promise<ErasureCheck> {
    const check = new ErasureCheck()
    for (let after = 0; ; after += pagePositions) {
      const { found, end } = snapshot.run(() => readPage(after))
      for (const row of found) check.#see(row)
      if (after + pagePositions >= end) return check
      await giveWay()
    }
  }

  #see({ position, type, stream, header }: Row): void {
    const { keeps = [], parts }: { keeps?: readonly string[]; parts?: unknown } =
      parseHeader(header).data ?? {}
    if (type === erasedType) this.#erased.set(stream, { position, isWhole: keeps.length === 0 })
    else if (Array.isArray(parts)) for (const part of parts) this.#destroyed.add(String(part))
  }

  /** Reports whether an event says that this part was destroyed. */
  explains(position: number, { name, owner }: PartMark): boolean {
    return (this.#erased.get(owner)?.position ?? 0) > position || this.#destroyed.has(`${position}/${name}`)
  }

  /** The key of a person is gone exactly where the log says so. */
  *compareKeys(faults: Faults): Steps<void> {
    const seen = new Set<string>()
    for (const { owner, epoch, isErased } of yield* rows<KeyRow>({ sql: selectErased, parameters: [] })) {
      seen.add(owner)
      const erasure = this.#erased.get(owner)
      if (!erasure) faults.add('keys', `the key of "${owner}" is gone, and no event says why`)
      else if (isErased !== 1) faults.add('keys', `"${owner}" was erased, and may be written of again`)
      else if (epoch > 0 && erasure.isWhole) faults.add('keys', `"${owner}" was erased, and the key is there`)
    }
    for (const owner of this.#erased.keys())
      if (!seen.has(owner)) faults.add('keys', `"${owner}" was erased, and is not marked as such`)
  }
}

interface Row {
  readonly position: number
  readonly type: string
  readonly stream: string
  readonly header: string
}

interface KeyRow {
  readonly owner: string
  readonly epoch: number
  readonly isErased: 0 | 1
}

function* readPage(after: number): Steps<{ found: readonly Row[]; end: number }> {
  const end = yield* first<{ position: number }>({ sql: selectPosition, parameters: [] })
  const parameters = [after, after + pagePositions, erasedType, retentionType]
  return { found: yield* rows<Row>({ sql: selectFound, parameters }), end: end?.position ?? 0 }
}

const selectFound = `select event.position, event.type, event.header, stream.name as stream
  from event join stream on stream.key = event.stream
  where event.position > ? and event.position <= ? and event.type in (?, ?) order by event.position`
const selectErased = `select owner, epoch, is_erased as "isErased" from owner_key
  where is_erased <> 0 or epoch = 0 or length(wrapped) = 0`
