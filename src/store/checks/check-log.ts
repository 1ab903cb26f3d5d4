import { hash } from 'node:crypto'
import { Absence } from '../../proof/absence.ts'
import type { Faults } from '../../proof/faults.ts'
import { hashBytes, leafHash } from '../../proof/merkle.ts'
import type { PartMark } from '../../vocabulary/message.ts'
import { first, rows, type Steps } from '../database/connection.ts'
import type { Snapshot } from '../database/snapshot.ts'
import { type Tile, Tree, tileHashes } from '../log/tree.ts'
import { present } from '../parts/place.ts'
import { ErasureCheck } from './check-erasures.ts'
import { ReceiptCheck } from './check-receipts.ts'

/** What was looked at. */
export interface LogChecked {
  readonly events: number
  readonly parts: number
  /** Parts that are not there because their owner was erased or their time was over. */
  readonly erasedParts: number
}

/** Told of each page, with the position reached; says whether to go on. */
export type OnPage = (position: number) => Promise<boolean>

const pageRows = 500
/** Parts are held a few at a time: they may be large. */
const partsRows = 20

/** Walks the whole log, in pages: positions, headers, leaves, the tree above them, parts, owed effects, receipts. */
export async function checkLog(snapshot: Snapshot, faults: Faults, onPage: OnPage): Promise<LogChecked> {
  const receipts = new ReceiptCheck(faults)
  const erasures = new ErasureCheck()
  const check = new LogCheck(faults, erasures)
  let position = 0
  for (;;) {
    const page = snapshot.run(() => readPage(position))
    const until = page.at(-1)?.position
    if (until === undefined) break
    const headers = page.map(({ header }) => parseHeader(header))
    check.checkEvents(page, headers)
    snapshot.run(() => check.checkEffects(position, until))
    snapshot.run(() => check.checkParts(position, until))
    snapshot.run(() => checkCommands(receipts, page, headers))
    snapshot.run(() => check.checkTiles())
    position = until
    if (!(await onPage(position))) return check.counted
  }
  snapshot.run(() => check.checkEdges())
  snapshot.run(() => check.checkVersions())
  snapshot.run(() => erasures.compareKeys(faults))
  check.checkAbsent()
  snapshot.run(() => check.checkDestroyed())
  snapshot.run(() => receipts.next(position, undefined))
  for (let after: string | undefined = ''; after !== undefined; ) {
    const last: string = after
    after = snapshot.run(() => receipts.page(last))
    if (!(await onPage(position))) break
  }
  return check.counted
}

function* checkCommands(
  receipts: ReceiptCheck,
  page: readonly EventRow[],
  headers: readonly (Header | undefined)[],
): Steps<void> {
  for (const [i, { position }] of page.entries()) yield* receipts.next(position, headers[i]?.commandId)
}

interface EventRow {
  readonly position: number
  readonly version: number
  readonly type: string
  readonly header: string
  /** Null on a damaged page. */
  readonly leaf: Uint8Array | null
  readonly stream: string | null
}

/** The members of a header that are compared with rows elsewhere. */
interface Header {
  readonly position?: unknown
  readonly stream?: unknown
  readonly version?: unknown
  readonly type?: unknown
  readonly at?: string
  readonly data?: Readonly<Record<string, unknown>>
  readonly parts?: readonly PartMark[]
  readonly effects?: readonly unknown[]
  readonly commandId?: string
}

class LogCheck {
  readonly #faults: Faults
  readonly #erasures: ErasureCheck
  readonly #absence = new Absence()
  readonly #tree = new Tree()
  /** The tiles as they should stand, while they may still grow. */
  readonly #edges = new Map<string, Tile>()
  /** What the headers of this page say of their parts and effects. */
  #marks = new Map<string, PartMark>()
  #effects = new Map<number, number>()
  #position = 0
  #at = ''
  #tiles = 0
  #parts = 0
  #erasedParts = 0

  constructor(faults: Faults, erasures: ErasureCheck) {
    this.#faults = faults
    this.#erasures = erasures
  }

  get counted(): LogChecked {
    return {
      events: this.#position,
      parts: this.#parts,
      erasedParts: this.#erasedParts,
    }
  }

  checkEvents(page: readonly EventRow[], headers: readonly (Header | undefined)[]): void {
    this.#marks = new Map()
    this.#effects = new Map()
    for (const [i, row] of page.entries()) {
      const { position } = row
      if (position !== this.#position + 1)
        this.#faults.add('positions', `after ${this.#position} comes ${position}`)
      this.#position = position
      const leaf = leafHash(row.header)
      if (row.leaf === null || !leaf.equals(row.leaf))
        this.#faults.add('leaves', `the leaf at ${position} is not the hash of its header`)
      this.#tree.add(leaf)
      this.#checkHeader(row, headers[i])
    }
  }

  #checkHeader(row: EventRow, header: Header | undefined): void {
    const { position } = row
    const isSame = (['position', 'stream', 'version', 'type'] as const).every(
      name => header?.[name] === row[name],
    )
    if (!header || !isSame) {
      this.#faults.add('headers', `the header at ${position} says something else than its row`)
      return
    }
    const { at = '', parts = [], effects = [] } = header
    if (at < this.#at) this.#faults.add('headers', `the time at ${position} goes back`)
    this.#at = at
    for (const mark of parts) this.#marks.set(`${position}/${mark.name}`, mark)
    if (effects.length > 0) this.#effects.set(position, effects.length)
    const event = { position, type: row.type, stream: row.stream ?? '', data: header.data ?? {} }
    this.#absence.hear(event)
    this.#erasures.hear(event)
  }

  /** Every effect that an event owes must have its row in the ledger, and no other row may be there. */
  *checkEffects(after: number, until: number): Steps<void> {
    const found = yield* rows<{ position: number; n: number }>({
      sql: countEffects,
      parameters: [after, until],
    })
    for (const { position, n } of found) {
      if (this.#effects.get(position) === n) this.#effects.delete(position)
      else this.#effects.set(position, n)
    }
    for (const position of this.#effects.keys())
      this.#faults.add('effects', `the ledger holds other effects than the event at ${position} owes`)
  }

  *checkParts(after: number, until: number): Steps<void> {
    let last: { position: number; name: string } = { position: after + 1, name: '' }
    for (;;) {
      const page = yield* rows<PartRow>({
        sql: selectParts,
        parameters: [last.position, last.name, until, partsRows],
      })
      for (const part of page) this.#checkPart(part)
      const end = page.at(-1)
      if (!end) break
      last = end
    }
    for (const [place, mark] of this.#marks) {
      const { name, owner } = mark
      const position = Number.parseInt(place, 10)
      this.#absence.miss({ position, name, owner })
      // Other parts may still need the key that was made with a part that is gone.
      if (mark.key === undefined) continue
      const key = yield* first<KeptKey>({ sql: selectKept, parameters: [owner] })
      if (key) this.#checkKey(position, mark, key.commitment)
    }
  }

  #checkPart({ position, name, owner, sealed, commitment }: PartRow): void {
    this.#parts += 1
    const place = `${position}/${name}`
    const mark = this.#marks.get(place)
    this.#marks.delete(place)
    const isAsMarked =
      mark?.owner === owner && mark.bytes === sealed.length && mark.hash === hash('sha256', sealed, 'hex')
    if (!mark) this.#faults.add('parts', `a part stands at ${position} that its header does not name`)
    else if (!isAsMarked)
      this.#faults.add('parts', `a part at ${position} is not the one that its header names`)
    if (mark) this.#checkKey(position, mark, commitment)
  }

  #checkKey(position: number, { key, owner }: PartMark, commitment: Uint8Array | null): void {
    if (key !== undefined && key !== Buffer.from(commitment ?? []).toString('hex'))
      this.#faults.add('keys', `the key of "${owner}" is not the one that was made at ${position}`)
  }

  /** A part may be missing only where an event says that it was destroyed. */
  checkAbsent(): void {
    this.#erasedParts = this.#absence.judge(this.#faults)
  }

  /** What the log says was destroyed must be gone. */
  *checkDestroyed(): Steps<void> {
    const destroyed = this.#absence.destroyed.map(place => {
      const [position = '', name = ''] = place.split('/')
      return { position: Number(position), name }
    })
    for (const { position, name } of yield* present(destroyed))
      this.#faults.add('parts', `the part "${name}" at ${position} was destroyed, and is there`)
  }

  /** Compares full tiles; growing ones are kept until they are full. */
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
    const [stored] = yield* rows<{ n: number }>({ sql: 'select count(*) as n from tile', parameters: [] })
    if (stored?.n !== this.#tiles) this.#faults.add('tree', `${stored?.n} tiles instead of ${this.#tiles}`)
  }

  *#compareTile({ level, number, hashes }: Tile): Steps<void> {
    this.#tiles += 1
    const [stored] = yield* rows<{ hashes: Uint8Array }>({ sql: selectTile, parameters: [level, number] })
    if (!stored || !hashes.equals(stored.hashes))
      this.#faults.add('tree', `tile ${number} of level ${level} is not the one that the events make`)
  }

  *checkVersions(): Steps<void> {
    for (const { name } of yield* rows<{ name: string }>({ sql: selectGaps, parameters: [] }))
      this.#faults.add('versions', `the versions of "${name}" have gaps`)
  }
}

function* readPage(after: number): Steps<readonly EventRow[]> {
  return yield* rows<EventRow>({ sql: selectPage, parameters: [after, pageRows] })
}

function parseHeader(text: string): Header | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

interface PartRow {
  readonly position: number
  readonly name: string
  readonly owner: string | null
  readonly sealed: Uint8Array
  readonly commitment: Uint8Array | null
}

interface KeptKey {
  readonly commitment: Uint8Array
}

const selectPage = `select event.position, event.version, event.type, event.header, event.leaf,
  stream.name as stream from event left join stream on stream.key = event.stream
  where event.position > ? order by event.position limit ?`
const countEffects = `select position, count(*) as n from effect where position > ? and position <= ?
  group by position`
const selectParts = `select part.position, part.name, owner_key.owner, owner_key.commitment, part.sealed from part
  left join owner_key on owner_key.key = part.owner
  where (part.position, part.name) > (?, ?) and part.position <= ? order by part.position, part.name limit ?`
const selectKept = 'select commitment from owner_key where owner = ? and epoch > 0'
const selectTile = 'select hashes from tile where level = ? and number = ?'
const selectGaps = `select stream.name from event left join stream on stream.key = event.stream
  group by event.stream having count(*) <> max(event.version) or min(event.version) <> 1 limit 100`
