import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type InferResult, sql } from 'kysely'
import type { Faults } from '../../proof/faults.ts'
import type { ExplainingEvent, LogVerified, LogVerifier, PresentPart } from '../../proof/log-verifier.ts'
import { parseRecorded, type RecordedHeader } from '../../proof/recorded-header.ts'
import { parseEffectId } from '../../vocabulary/names.ts'
import { first, readPages, rows, type Statement, type Steps, together } from '../database/connection.ts'
import type { Reading } from '../database/reading.ts'
import { db } from '../database/schema.ts'
import type { Tags } from '../log/tags.ts'
import { Tree } from '../log/tree.ts'
import { findPresent, isAfterPart, type PartPlace } from '../parts/parts.ts'
import { LedgerCheck } from './check-ledger.ts'

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
  reading: Reading,
  verifier: LogVerifier,
  faults: Faults,
  tags: Tags | undefined,
  onPage: OnPage,
): Promise<LogVerified | undefined> {
  const receipts = new ReceiptCheck(faults)
  const erasures = new ErasureCheck()
  const ledger = await LedgerCheck.begin(reading)
  const check = new RowCheck(faults, tags)
  let position = 0
  for await (const page of readPages(reading, eventsAfter)) {
    const until = page.at(-1)?.position ?? position
    const parts = await reading.read(() => check.readParts(position, until))
    const events: EventParts[] = []
    for (const row of page) {
      const { position } = row
      const found = parts.get(position) ?? []
      const { header, leaf } = verifier.add(row.header, found)
      check.checkRow(row, header, leaf)
      erasures.addEvent({ position, type: row.type, stream: row.stream ?? '', data: header?.data ?? {} })
      receipts.addEvent(position, header?.commandId)
      if (header) events.push({ position, header, parts: found })
    }
    await reading.read(() => together(events.map(each => check.checkKeys(each))))
    await reading.read(() => receipts.checkEnded())
    await ledger.addEvents(events.map(({ header }) => header))
    await reading.read(() => check.checkSubtrees())
    position = until
    if (!(await onPage(position))) return undefined
  }
  await reading.read(() => check.countSubtrees())
  await reading.read(() => check.checkHead())
  for await (const page of readPages(reading, streamsAfter)) check.checkStreams(page)
  await reading.read(() => erasures.compareKeys(faults))
  await reading.read(() => check.checkDestroyed(verifier.destroyed))
  await ledger.compare(faults)
  receipts.addEvent(position, undefined)
  await reading.read(() => receipts.checkEnded())
  for await (const page of readPages(reading, receiptsAfter)) {
    await reading.read(() => receipts.checkPage(page))
    if (!(await onPage(position))) break
  }
  return verifier.finish()
}

/** The leaf is null on a damaged page, whatever the type says. */
type CheckedRow = InferResult<ReturnType<typeof eventsAfter>>[number]

/** A part that exists, with the commitment of its owner's key. */
interface FoundPart extends PresentPart {
  readonly commitment: Uint8Array | null
}

interface EventParts {
  readonly position: number
  readonly header: RecordedHeader
  readonly parts: readonly FoundPart[]
}

class RowCheck {
  readonly #faults: Faults
  readonly #tags: Tags | undefined
  readonly #tree = new Tree()
  #subtrees = 0
  #at = ''

  constructor(faults: Faults, tags: Tags | undefined) {
    this.#faults = faults
    this.#tags = tags
  }

  checkRow(row: CheckedRow, header: RecordedHeader | undefined, leafHex: string): void {
    const { position } = row
    const leaf = Buffer.from(leafHex, 'hex')
    if (row.leaf === null || !leaf.equals(row.leaf))
      this.#faults.add('leaves', `the leaf at ${position} is not the hash of its header`)
    if (this.#tags && this.#tags.ofEvent(row.header) !== row.tag) {
      const isConsistent = row.leaf !== null && leaf.equals(row.leaf)
      const fault = isConsistent ? 'was written without the keys of the log' : 'was changed since it was written'
      this.#faults.add('tags', `the event at ${position} ${fault}`)
    }
    this.#tree.add(leaf)
    this.#at = String(header?.at)
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
  *checkKeys({ position, header, parts }: EventParts): Steps<void> {
    for (const { name, owner, key } of header.parts) {
      if (key === undefined) continue
      const part = parts.find(each => each.name === name)
      const named = owner.replaceAll('\0', '')
      const keys = db.selectFrom('owner_key').select('commitment').where('owner', '=', named).where('epoch', '>', 0)
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

  /** Compares the subtrees that the last page of events completed with the stored ones. */
  *checkSubtrees(): Steps<void> {
    for (const { level, number, hash: expected } of this.#tree.takeCompleted()) {
      this.#subtrees += 1
      const query = db.selectFrom('subtree').select('hash').where('level', '=', level).where('number', '=', number)
      const stored = yield* first(query)
      if (!stored || !expected.equals(stored.hash))
        this.#faults.add('tree', `the subtree ${number} of level ${level} does not match the events`)
    }
  }

  *countSubtrees(): Steps<void> {
    const stored = yield* first(db.selectFrom('subtree').select(({ fn }) => fn.countAll<number>().as('n')))
    if (stored?.n !== this.#subtrees)
      this.#faults.add('tree', `there are ${stored?.n} subtrees instead of ${this.#subtrees}`)
  }

  /** Compares the head with the events. Without the keys, its tag is not checked. */
  *checkHead(): Steps<void> {
    const head = yield* first(db.selectFrom('head').selectAll())
    const streams = yield* first(db.selectFrom('stream').select(({ fn }) => fn.max('key').as('key')))
    const owners = yield* first(db.selectFrom('owner_key').select(({ fn }) => fn.max('key').as('key')))
    const { size } = this.#tree
    const end = { position: size, at: this.#at, stream: streams?.key ?? 0, owner: owners?.key ?? 0 }
    if (head?.position !== size) this.#faults.add('end', `its head names ${head?.position} events instead of ${size}`)
    else if (!isDeepStrictEqual({ ...head, ...end }, { ...head }) || !this.#tree.frontier.equals(head.frontier))
      this.#faults.add('end', 'its head does not match its last event, stream, owner or tree')
    else if (this.#tags && size > 0 && this.#tags.ofHead(end, this.#tree.root()) !== head.tag)
      this.#faults.add('tags', `its head was written without the keys of the log, or the log was changed since`)
  }

  checkStreams(page: readonly StreamRow[]): void {
    for (const { key, name, version, tag, last } of page) {
      if (version !== last) this.#faults.add('versions', `"${name}" ends at ${last}, and its row says ${version}`)
      else if (this.#tags && this.#tags.ofStream(name, key, version) !== tag)
        this.#faults.add('tags', `the end of "${name}" was changed, or written without the keys of the log`)
    }
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
    .select([
      'event.position',
      'event.version',
      'event.type',
      'event.header',
      'event.leaf',
      'event.tag',
      'stream.name as stream',
    ])
    .where('event.position', '>', last?.position ?? 0)
    .orderBy('event.position')
    .limit(eventsPerPage)
}

const streamsPerPage = 1_000

type StreamRow = InferResult<ReturnType<typeof streamsAfter>>[number]

/** A page of streams, with the version of the last event of each. */
function streamsAfter(last?: { readonly key: number }) {
  return db
    .selectFrom('stream')
    .select(({ selectFrom }) => [
      ...(['key', 'name', 'version', 'tag'] as const),
      selectFrom('event')
        .whereRef('event.stream', '=', 'stream.key')
        .select(({ fn }) => fn.max('event.version').as('last'))
        .as('last'),
    ])
    .where('key', '>', last?.key ?? Number.MIN_SAFE_INTEGER)
    .orderBy('key')
    .limit(streamsPerPage)
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

const receiptsPerPage = 500

/** Checks that each command with events was accepted, and that its receipt names the last of them, in log order. */
class ReceiptCheck {
  readonly #faults: Faults
  #command: string | undefined
  #position = 0
  /** The commands whose events have all been added, with the position of the last. */
  #ended: { readonly command: string; readonly position: number }[] = []

  constructor(faults: Faults) {
    this.#faults = faults
  }

  /** Adds the next event, with its command; `undefined` at the end of the log. */
  addEvent(position: number, commandId: unknown): void {
    const command = typeof commandId === 'string' ? commandId : undefined
    const before = this.#command
    if (before !== undefined && before !== command) this.#ended.push({ command: before, position: this.#position })
    this.#command = command
    this.#position = position
  }

  /** Compares the receipts of the commands that have ended since the last call. */
  *checkEnded(): Steps<void> {
    const ended = this.#ended.splice(0)
    const receipts = yield* together(ended.map(({ command }) => first<FoundReceipt>(selectReceipt(command))))
    for (const [i, { position }] of ended.entries()) this.#compare(position, receipts[i])
  }

  #compare(position: number, receipt: FoundReceipt | undefined): void {
    const what = `the receipt of the command of the event at ${position}`
    if (!receipt) this.#addFault(`the command of the event at ${position} has no receipt`)
    if (receipt && receipt.code !== 'accepted') this.#addFault(`${what} says that it was refused`)
    if (receipt && receipt.position !== position) this.#addFault(`${what} names position ${receipt.position}`)
  }

  *checkPage(page: readonly ReceiptRow[]): Steps<void> {
    for (const row of page) yield* this.#check(row)
  }

  *#check({ id, position, effect, code, header, stream, streamKey }: ReceiptRow): Steps<void> {
    if (header === null) this.#addFault(`a receipt names the event at ${position}, which does not exist`)
    else if (code !== 'accepted' && code !== 'refused') this.#addFault(`a receipt at ${position} has an unknown code`)
    else if (effect !== '' && !(yield* hasEffect(effect, id, position)))
      this.#addFault(`a receipt at ${position} names an effect that its command did not request`)
    else if (stream !== '' && (streamKey === null || parseRecorded(header)?.commandId === id))
      this.#addFault(
        `a receipt at ${position} names a stream that does not exist, or names one although its command recorded an event`,
      )
  }

  #addFault(what: string): void {
    this.#faults.add('receipts', what)
  }
}

type ReceiptRow = InferResult<ReturnType<typeof receiptsAfter>>[number]

/** A page of receipts, with the header of the event at their position, and the stream that they name, if they exist. */
function receiptsAfter(last?: { readonly id: string }) {
  return db
    .selectFrom('receipt')
    .leftJoin('event', 'event.position', 'receipt.position')
    .leftJoin('stream', 'stream.name', 'receipt.stream')
    .select(['receipt.command_id as id', 'receipt.position', 'receipt.effect', 'receipt.code', 'receipt.stream'])
    .select(['event.header', 'stream.key as streamKey'])
    .where('receipt.command_id', '>', last?.id ?? '')
    .orderBy('receipt.command_id')
    .limit(receiptsPerPage)
}

/** Reports whether an event of the command, up to a position, has the effect. */
function* hasEffect(effect: string, command: string, until: number): Steps<boolean> {
  const [stream, version, n] = parseEffectId(effect)
  // Compared as text, so that only canonical ids match.
  if (effect !== `${stream}/${version}/${n}`) return false
  const found = yield* first<{ position: number; header: string }>({ sql: selectEvent, parameters: [stream, version] })
  if (!found || found.position > until) return false
  const header = parseRecorded(found.header)
  return header?.commandId === command && header.effects[n] !== undefined
}

interface FoundReceipt {
  readonly position: number
  readonly code: string
}

function selectReceipt(command: string): Statement {
  return { sql: 'select position, code from receipt where command_id = ?', parameters: [command] }
}

const selectEvent = `select event.position, event.header from event join stream on stream.key = event.stream
  where stream.name = ? and event.version = ?`
