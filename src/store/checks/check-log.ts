import { hash } from 'node:crypto'
import { type InferResult, sql } from 'kysely'
import type { Faults } from '../../proof/faults.ts'
import type { ExplainingEvent, LogVerified, LogVerifier, PresentPart } from '../../proof/log-verifier.ts'
import { hashBytes, leafHash } from '../../proof/merkle.ts'
import type { PartMark } from '../../vocabulary/message.ts'
import { first, readPages, rows, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import type { Snapshot } from '../database/snapshot.ts'
import { type Tile, Tree, tileHashes } from '../log/tree.ts'
import { findPresent, isAfterPart, type PartPlace } from '../parts/parts.ts'
import { LedgerCheck } from './check-ledger.ts'
import { ReceiptCheck, receiptsAfter } from './check-receipts.ts'

/** Called after each page with the position reached; returns whether to continue. */
export type OnPage = (position: number) => Promise<boolean>

const eventsPerPage = 500
/** Few at a time, since parts may be large. */
const partsPerPage = 20

/**
 * Reads the whole log once. The verifier checks headers and parts; here they are compared with the other tables.
 *
 * @returns what the verifier found; `undefined` when the check was stopped early
 */
export async function checkLog(
  snapshot: Snapshot,
  verifier: LogVerifier,
  faults: Faults,
  onPage: OnPage,
): Promise<LogVerified | undefined> {
  const receipts = new ReceiptCheck(faults)
  const erasures = new ErasureCheck()
  const ledger = new LedgerCheck(snapshot)
  const check = new RowCheck(faults)
  let position = 0
  for await (const page of readPages(snapshot, eventsAfter)) {
    const until = page.at(-1)?.position ?? position
    const parts = snapshot.run(() => check.readParts(position, until))
    for (const row of page) {
      const header = parseHeader(row.header)
      verifier.add(row.header, parts.get(row.position) ?? [])
      check.checkRow(row, header)
      erasures.addEvent({ ...row, stream: row.stream ?? '', data: header?.data ?? {} })
      snapshot.run(() => check.checkKeys(row.position, header, parts.get(row.position) ?? []))
      snapshot.run(() => receipts.addEvent(row.position, header?.commandId))
    }
    ledger.addHeaders(page.map(({ header }) => header))
    snapshot.run(() => check.checkTiles())
    position = until
    if (!(await onPage(position))) return undefined
  }
  snapshot.run(() => check.checkEdges())
  snapshot.run(() => erasures.compareKeys(faults))
  snapshot.run(() => check.checkDestroyed(verifier.destroyed))
  await ledger.compare(faults)
  snapshot.run(() => receipts.addEvent(position, undefined))
  for await (const page of readPages(snapshot, receiptsAfter)) {
    snapshot.run(() => receipts.checkPage(page))
    if (!(await onPage(position))) break
  }
  return verifier.finish()
}

/** The leaf is null on a damaged page, whatever the type says. */
type CheckedRow = InferResult<ReturnType<typeof eventsAfter>>[number]

interface CheckedHeader {
  readonly position?: unknown
  readonly stream?: unknown
  readonly version?: unknown
  readonly type?: unknown
  readonly data?: Readonly<Record<string, unknown>>
  readonly parts?: readonly PartMark[]
  readonly commandId?: string
}

/** A part that exists, with the commitment of its owner's key. */
interface FoundPart extends PresentPart {
  readonly commitment: Uint8Array | null
}

class RowCheck {
  readonly #faults: Faults
  readonly #tree = new Tree()
  /** The expected tiles that may still grow. */
  readonly #edges = new Map<string, Tile>()
  #tiles = 0

  constructor(faults: Faults) {
    this.#faults = faults
  }

  checkRow(row: CheckedRow, header: CheckedHeader | undefined): void {
    const { position } = row
    const leaf = leafHash(row.header)
    if (row.leaf === null || !leaf.equals(row.leaf))
      this.#faults.add('leaves', `the leaf at ${position} is not the hash of its header`)
    this.#tree.add(leaf)
    const names = ['position', 'stream', 'version', 'type'] as const
    if (!names.every(name => header?.[name] === row[name]))
      this.#faults.add('headers', `the header at ${position} differs from its row`)
  }

  /** Reads and hashes the parts of a page of events. The sealed bytes are not kept. */
  *readParts(after: number, until: number): Steps<Map<number, FoundPart[]>> {
    const found = new Map<number, FoundPart[]>()
    let last: PartPlace = { position: after + 1, name: '' }
    for (;;) {
      const page = yield* rows(partsAfter(last, until))
      for (const { position, name, owner, sealed, commitment } of page) {
        const part = { name, owner: owner ?? '', hash: hash('sha256', sealed, 'hex'), bytes: sealed.length }
        found.set(position, [...(found.get(position) ?? []), { ...part, commitment }])
      }
      const end = page.at(-1)
      if (!end) return found
      last = end
    }
  }

  /** A part's mark names the key it was made with, which must be the owner's key, even if the part was destroyed. */
  *checkKeys(position: number, header: CheckedHeader | undefined, parts: readonly FoundPart[]): Steps<void> {
    for (const { name, owner, key } of header?.parts ?? []) {
      if (key === undefined) continue
      const part = parts.find(each => each.name === name)
      const keys = db.selectFrom('owner_key').select('commitment').where('owner', '=', owner).where('epoch', '>', 0)
      const made = part ?? (yield* first(keys))
      if (made && key !== Buffer.from(made.commitment ?? []).toString('hex'))
        this.#faults.add('keys', `the key of "${owner}" is not the one that was made at ${position}`)
    }
  }

  /** Parts that the log says were destroyed must not exist. */
  *checkDestroyed(places: readonly string[]): Steps<void> {
    const destroyed = places.map(place => {
      const [position = '', name = ''] = place.split('/')
      return { position: Number(position), name }
    })
    for (const { position, name } of yield* findPresent(destroyed))
      this.#faults.add('parts', `the part "${name}" at ${position} was destroyed, but still exists`)
  }

  *checkTiles(): Steps<void> {
    for (const tile of this.#tree.takeChanged()) this.#edges.set(`${tile.level}/${tile.number}`, tile)
    for (const [place, tile] of this.#edges) {
      if (tile.hashes.length < tileHashes * hashBytes) continue
      this.#edges.delete(place)
      yield* this.#compareTile(tile)
    }
  }

  *checkEdges(): Steps<void> {
    for (const tile of this.#edges.values()) yield* this.#compareTile(tile)
    const stored = yield* first(db.selectFrom('tile').select(({ fn }) => fn.countAll<number>().as('n')))
    if (stored?.n !== this.#tiles) this.#faults.add('tree', `there are ${stored?.n} tiles instead of ${this.#tiles}`)
  }

  *#compareTile({ level, number, hashes }: Tile): Steps<void> {
    this.#tiles += 1
    const query = db.selectFrom('tile').select('hashes').where('level', '=', level).where('number', '=', number)
    const stored = yield* first(query)
    if (!stored || !hashes.equals(stored.hashes))
      this.#faults.add('tree', `tile ${number} of level ${level} does not match the events`)
  }
}

const erasedType = 'subject.erased'

/** Compares the erasures in the log with the owners' keys: exactly the keys of erased owners must be destroyed. */
class ErasureCheck {
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

function eventsAfter(last?: { readonly position: number }) {
  return db
    .selectFrom('event')
    .leftJoin('stream', 'stream.key', 'event.stream')
    .select(['event.position', 'event.version', 'event.type', 'event.header', 'event.leaf', 'stream.name as stream'])
    .where('event.position', '>', last?.position ?? 0)
    .orderBy('event.position')
    .limit(eventsPerPage)
}

function partsAfter(last: PartPlace, until: number) {
  return db
    .selectFrom('part')
    .leftJoin('owner_key', 'owner_key.key', 'part.owner')
    .select(['part.position', 'part.name', 'owner_key.owner', 'owner_key.commitment', 'part.sealed'])
    .where(isAfterPart(last))
    .where('part.position', '<=', until)
    .orderBy('part.position')
    .orderBy('part.name')
    .limit(partsPerPage)
}

function parseHeader(text: string): CheckedHeader | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
