import { beganType } from '../proof/recorded-header.ts'
import { monotonicClock, systemClock, withinTime } from '../runtime/clock.ts'
import { yieldToEventLoop } from '../runtime/event-loop.ts'
import { WakeSignal } from '../runtime/wake-signal.ts'
import type { Keyring } from '../vault/keyring.ts'
import { Vault } from '../vault/vault.ts'
import { LateError } from '../vocabulary/errors.ts'
import { fromInstant, toInstant } from '../vocabulary/instant.ts'
import type { EventMap, RecordedIn, TypeIn } from '../vocabulary/log-types.ts'
import type { Json, PartAddress, PendingEffect, RecordedEvent } from '../vocabulary/message.ts'
import { checkTail, checkWhole } from './checkpoints/check-tail.ts'
import { Checkpointer, type StoredCheckpoint } from './checkpoints/checkpoints.ts'
import {
  checkAgainstMark,
  makeEffectsDue,
  readLastResume,
  resolveMark,
  resumeLog,
} from './checkpoints/high-water-mark.ts'
import { checkEnd } from './checks/check-end.ts'
import { checkSchema } from './checks/check-schema.ts'
import { type Connection, first, type Steps, timeTransactions } from './database/connection.ts'
import { transactWhenFree } from './database/table-in-use.ts'
import { type AttemptEnd, canEnd, type EffectMove } from './ledger/effect-row.ts'
import { FollowerTable } from './ledger/follower-table.ts'
import { Leasing } from './ledger/lease.ts'
import { LeaseKeeper } from './ledger/lease-keeper.ts'
import {
  type ClaimCandidate,
  claimEffect,
  countPending,
  type DueFilter,
  deferEffect,
  dueEffects,
  type EffectAttempt,
  type EffectFilter,
  extendEffect,
  findClaimable,
  findEffect,
  heldUntil,
  type LedgerClaim,
  listEffects,
  nextDueAt,
  type PendingCount,
  readEffect,
} from './ledger/ledger.ts'
import { Rates } from './ledger/rates.ts'
import { Secrets } from './ledger/secrets.ts'
import { damagedLogError, HeaderReader, upcasters } from './log/header.ts'
import { lookUp, lookUpRows } from './log/keyed-index.ts'
import { type LogPage, type ReadFilter, readAt, readOrSearch, readPage, readWithEnd } from './log/read.ts'
import { readStreamEnd } from './log/streams.ts'
import { Tags } from './log/tags.ts'
import { busyLogError, checkNotMoved } from './log/tail.ts'
import {
  beginLog,
  checkKeyringId,
  keyringPlace,
  logMissingError,
  openFile,
  openOrCreateKeyring,
  outdatedKeyringError,
  prepareTables,
} from './opening.ts'
import { isOlderThanLog } from './owners/keyring-faults.ts'
import { Owners } from './owners/owners.ts'
import { openPart } from './parts/parts.ts'
import type { HighWaterMark, StoreOptions } from './store-options.ts'
import { Projector, readViewProgressOf, type ViewProgress } from './views/projector.ts'
import { type RebuildAll, type RebuildParts, type RebuildResult, rebuildAll } from './views/rebuilder.ts'
import { sweepDiscardedTables } from './views/side-table.ts'
import { StoppedViews } from './views/stopped-views.ts'
import { ViewReader } from './views/view-reader.ts'
import type { Append, Appended, Receipt } from './writing/append.ts'
import { findReceipt } from './writing/found.ts'
import { Writer, type WriterParts } from './writing/writer.ts'
import type { RecentDigest } from './writing/writer-cache.ts'

/** How long closing waits for what is recorded without it too, in real time: a server may not answer. */
const closeMaxMs = 8_000

/** The log, its ledger and its views in one database: an append changes all three in one durable transaction. */
export class Store<E extends EventMap = EventMap> {
  /** Wakes after every append of this process, and, while `watch` is called, after a write of another one. */
  readonly changes: WakeSignal
  /** Called with the duration of each committed transaction in milliseconds: it blocks the event loop that long. */
  onTransacted: (ms: number) => void = () => undefined
  readonly vault: Vault
  readonly secrets: Secrets
  readonly followers: FollowerTable
  readonly rates: Rates
  readonly owners: Owners
  readonly viewReader: ViewReader
  readonly headers: HeaderReader
  /** Extends the leases of what this process works on. */
  readonly leaseKeeper: LeaseKeeper
  readonly #connection: Connection
  readonly #writer: Writer
  readonly #projector: Projector
  readonly #rebuildParts: RebuildParts
  readonly #stoppedViews: StoppedViews
  readonly #options: StoreOptions<E>
  readonly #tags: Tags
  readonly #leasing: Leasing
  readonly #checkpointer: Checkpointer
  readonly #closing = new AbortController()
  #seenWrites: string | undefined
  #sweeping: Promise<void> = Promise.resolve()
  /** The position of the last accepted restore: an effect from before it may have been performed already. */
  #restoredAt = 0

  private constructor(opened: Connection, vault: Vault, options: StoreOptions<E>, mark?: HighWaterMark) {
    const { views, clock, anchor, onTrouble = () => undefined, schemas = upcasters } = options
    const tags = new Tags(vault.keyring)
    const headers = new HeaderReader(schemas, tags)
    this.#options = options
    this.headers = headers
    this.#tags = tags
    this.changes = new WakeSignal(clock)
    const onTransacted = (ms: number) => this.onTransacted(ms)
    const onFailed = (error: unknown) => this.secrets.leases.recordFailure(error)
    const connection = timeTransactions(opened, monotonicClock(clock), onTransacted, onFailed)
    this.#connection = connection
    this.vault = vault
    this.#leasing = new Leasing(options.createId(), clock, connection)
    this.leaseKeeper = new LeaseKeeper(connection, clock, this.#leasing)
    this.secrets = new Secrets(connection, vault, this.#leasing)
    this.followers = new FollowerTable(connection, this.#leasing)
    this.rates = new Rates(connection, this.#leasing)
    this.#rebuildParts = { connection, headers, clock, onTrouble, onRejoined: () => this.#writer.forget() }
    this.#stoppedViews = new StoppedViews({ ...this.#rebuildParts, options })
    this.#projector = new Projector(connection, views, this.#stoppedViews)
    const project: WriterParts['project'] = (events, cache, isTrusting) =>
      this.#projector.project(events, cache, isTrusting)
    const { signer } = vault.keyring
    const outside = { ...(mark && { mark }), ...(anchor && { anchor }) }
    const check = () => this.#checkSigned()
    this.#checkpointer = new Checkpointer({ connection, headers, tags, signer, clock, onTrouble, check, ...outside })
    const onCommitted = (position: number) => {
      this.#checkpointer.onCommit(position)
      this.changes.wake()
    }
    let schema: string | undefined
    /** What another process has written: perhaps a trigger. */
    const checkForeign: WriterParts['checkForeign'] = function* (position, after) {
      if (connection.dialect === 'sqlite') {
        const found = JSON.stringify(yield* first({ sql: 'pragma schema_version', parameters: [] }))
        if (schema !== undefined && found !== schema) yield* checkSchema(options.path, connection.dialect)
        schema = found
      }
      yield* checkTail(tags, signer, position, after)
      if (!options.isArriving && !options.acceptRollback) yield* checkNotMoved()
    }
    const onForeign: WriterParts['onForeign'] = (events, cache) => this.#projector.forgetRows(events, headers, cache)
    this.#writer = new Writer({
      ...{ connection, vault, headers, tags, project, onForeign, onCommitted, onFailed, checkForeign },
    })
    this.viewReader = new ViewReader({ connection, headers, views })
    this.owners = new Owners({ connection, vault, headers, tags, onRewrapped: () => this.#writer.forget() })
  }

  /**
   * Opens a store, or creates it.
   *
   * @throws {AverbaError} `STORE_UNSAFE`, `STORE_BUSY`, `NOT_OURS`, `CORRUPT`, `KEYS_MISSING`, `KEYS_MISMATCH`
   */
  static async open<E extends EventMap = EventMap>(options: StoreOptions<E>): Promise<Store<E>> {
    const { path, medium } = options
    const connection = await (medium?.open() ?? openFile(path))
    try {
      const place = keyringPlace(connection, options)
      const hasKeyring = Boolean(await place?.read())
      await connection.transact(() => prepareTables(connection, path, hasKeyring))
      await connection.read(() => checkSchema(path, connection.dialect))
      await connection.read(() => checkEnd(path))
      // It names the keyring, by which its own tag is checked later.
      const began = await connection.read(() => readAt(new HeaderReader(options.schemas ?? upcasters), 1))
      const create = () => openOrCreateKeyring(place, options, began === undefined)
      const keyring = await (medium?.keyring(create) ?? create())
      // Checked before the first write: a refused log stays unchanged.
      if (began) checkKeyringId(path, began, keyring)
      await checkNewest(connection, keyring, path)
      const mark = resolveMark(options)
      const vault = new Vault(keyring, options.entropy, options.recordKeys)
      const store = new Store<E>(connection, vault, options, mark)
      await store.#start(began, mark)
      return store
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  /** Records the first event of a new log, checks the mark of an existing one, and lets stopped views catch up. */
  async #start(began: RecordedEvent | undefined, mark: HighWaterMark | undefined): Promise<void> {
    const { path, acceptRollback = false, isArriving = false } = this.#options
    const { keyring } = this.vault
    // Unless another process has begun the log meanwhile.
    if (!began && keyring.size > 0 && !(await this.readAt(1))) throw logMissingError(path)
    await transactWhenFree(this.#connection, this.#options.clock, () => this.#projector.createTables())
    if (!began) {
      await this.append(beginLog(keyring, this.#options))
      // Another process may have begun the log at the same time: its event counts.
      const first = await this.readAt(1)
      if (first?.type !== beganType) throw damagedLogError('Cannot open the log: its first event is not log.began')
      checkKeyringId(path, first, keyring)
    }
    // A log whose new place is lost continues at its former one.
    if (!isArriving && !acceptRollback) await this.#connection.read(checkNotMoved)
    const newest = await mark?.read()
    if (!acceptRollback) await this.#connection.read(() => checkAgainstMark(path, this.headers, keyring, newest))
    this.#writer.newest = await this.#connection.read(() => checkWhole(this.#tags, keyring.signer))
    if (acceptRollback) {
      // The record first: without it, a log that is opened again would make the pending calls once more.
      const { at, ...resumed } = await this.#connection.read(() =>
        resumeLog(this.headers, keyring, this.#options, newest),
      )
      await this.appendAlone({ at, ...resumed })
      await this.#connection.transact(() => makeEffectsDue(at))
      await keyring.rememberSize(this.#writer.newest.position)
    }
    await this.#checkpointer.start(acceptRollback)
    this.#restoredAt = (await this.#connection.read(() => readLastResume(this.headers)))?.position ?? 0
    await this.#stoppedViews.restore()
    this.#sweep()
  }

  /** Removes discarded tables in the background. What it leaves is removed when the log is opened again. */
  #sweep(): void {
    const onFailed = (error: unknown) => this.#rebuildParts.onTrouble('discarded tables could not be removed', error)
    this.#sweeping = sweepDiscardedTables(this.#rebuildParts, this.#closing.signal).catch(onFailed)
  }

  /** Checks what a checkpoint signs: that this process has seen nothing else, and that a server changes no rows. */
  *#checkSigned(): Steps<void> {
    yield* this.#writer.checkKnown()
    if (this.#connection.dialect === 'postgres') yield* checkSchema(this.#options.path, 'postgres')
  }

  /** Checks that what is stored of the keyring is there, its own, and not older than the log. */
  async checkKeyring(): Promise<void> {
    await this.vault.keyring.checkStored()
    await checkNewest(this.#connection, this.vault.keyring, this.#options.path)
  }

  /** Appends to one or more streams with parts, receipt and index entries: all of it or nothing. */
  append(input: Append): Promise<Appended> {
    return this.#writer.append(input)
  }

  /** Appends what only a process that has the log to itself may. Throws `STORE_BUSY` when it is not alone. */
  async appendAlone(input: Append): Promise<void> {
    if ((await this.append(input)).status === 'appended') return
    throw busyLogError()
  }

  /** Reads a page of the log. With `types`, the events are a union of these. */
  read<T extends string = TypeIn<E>>(filter: ReadFilter<T>): Promise<RecordedIn<E, T>[]> {
    return readOrSearch(this.#connection, this.headers, filter)
  }

  /** Reads a page of a stream, with the version of its last event at that moment. */
  readStream<T extends string = TypeIn<E>>(
    filter: ReadFilter<T> & { readonly stream: string },
  ): Promise<{ events: RecordedIn<E, T>[]; last: number }> {
    const { headers } = this
    const tags = this.#tags
    return this.#connection.read(function* () {
      const last = (yield* readStreamEnd(tags, filter.stream))?.version ?? 0
      return { events: yield* readPage<RecordedIn<E, T>>(headers, filter), last }
    })
  }

  readAt(position: number): Promise<RecordedIn<E> | undefined> {
    return this.#connection.read(() => readAt(this.headers, position))
  }

  /** Reads a page of the log together with the position of the newest event. */
  readWithEnd<T extends string = TypeIn<E>>(filter: ReadFilter<T>): Promise<LogPage<RecordedIn<E, T>>> {
    return readWithEnd(this.#connection, this.headers, filter)
  }

  async readLast<T extends string = TypeIn<E>>(
    filter: Pick<ReadFilter<T>, 'types' | 'stream'> = {},
  ): Promise<RecordedIn<E, T> | undefined> {
    return (await this.read<T>({ ...filter, backward: true, limit: 1 }))[0]
  }

  /** Reads the version of the last event of a stream; 0 when it does not exist. */
  async lastVersion(stream: string): Promise<number> {
    return (await this.#connection.read(() => readStreamEnd(this.#tags, stream)))?.version ?? 0
  }

  /** Opens a part; `undefined` when it does not exist. */
  open(address: PartAddress): Promise<Json | undefined> {
    const openStored = () => openPart(this.vault, this.headers, address)
    return this.vault.keyring.withRefresh(() => this.#connection.read(openStored))
  }

  /** Finds the value that is indexed under a text's keyed digest. */
  async lookUp(kind: string, text: string): Promise<string | undefined> {
    return (await this.lookUpAll(kind, [text])).get(text)
  }

  /** Finds the values that are indexed under the keyed digests of texts, by text. Unknown texts are left out. */
  async lookUpAll(kind: string, texts: Iterable<string>): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>()
    const all = [...new Set(texts)]
    for (let from = 0; from < all.length; from += lookUpRows) {
      if (from > 0) await yieldToEventLoop()
      const page = all.slice(from, from + lookUpRows)
      const digests = page.map(text => this.digest(kind, text))
      const values = await this.#connection.read(() => lookUp(this.#tags, kind, digests))
      for (const [i, text] of page.entries()) if (values[i] !== undefined) found.set(text, values[i])
    }
    return found
  }

  /** Finds the event that was recorded recently under a digest, as far as this process has read. */
  async findRecent(recent: RecentDigest): Promise<number | undefined> {
    const { recents } = this.#writer
    if (recents.findInMemory(recent) === undefined) return undefined
    return this.#connection.read(() => recents.find(recent))
  }

  digest(kind: string, text: string): Uint8Array {
    return this.vault.keyring.digest(kind, text)
  }

  digestHex(kind: string, text: string): string {
    return Buffer.from(this.digest(kind, text)).toString('hex')
  }

  receipt(commandId: string): Promise<Receipt | undefined> {
    return this.#connection.read(() => findReceipt(commandId))
  }

  /** Throws `ROLLED_BACK` when the log lacks what this process knows of it. */
  checkKnown(): Promise<void> {
    return this.#connection.read(() => this.#writer.checkKnown())
  }

  /** Whether other processes may write to the store. */
  get isShared(): boolean {
    return this.#connection.isShared
  }

  /** Wakes `changes` if another process has written since the last call; sooner where the medium tells of it. */
  async watch(): Promise<void> {
    const { foreignWrites } = this.#connection
    if (!foreignWrites) return this.#connection.watch?.(() => this.changes.wake())
    const value = JSON.stringify(await this.#connection.read(() => first(foreignWrites)))
    if (this.#seenWrites !== undefined && this.#seenWrites !== value) this.changes.wake()
    this.#seenWrites = value
  }

  /** Lists the ids of the effects that are due, the oldest first. */
  dueEffects(now: number, filter: DueFilter = {}): Promise<string[]> {
    return this.#connection.read(() => dueEffects(this.#leasing.begin(now), filter))
  }

  /** Claims an effect for one attempt, without an event. It is durable before the request is sent. */
  claimEffect(
    id: string,
    now: number,
    mayClaim?: (found: ClaimCandidate) => boolean,
  ): Promise<LedgerClaim | undefined> {
    return this.#connection.transact(() => claimEffect(this.headers, id, this.#leasing.begin(now), mayClaim))
  }

  addLease(move: EffectMove): EffectMove {
    return { ...move, lease: this.#leasing.begin() }
  }

  /** Finds an effect that can be claimed, with the move that claims it in the transaction of an event. */
  findClaimable(id: string, now: number): Promise<ClaimCandidate | undefined> {
    return this.#connection.read(() => findClaimable(this.headers, id, this.#leasing.begin(now)))
  }

  /** Names this process in what it holds. */
  get owner(): string {
    return this.#leasing.owner
  }

  /** Reports whether an attempt of this process is still the one under way. */
  async holds(attempt: EffectAttempt): Promise<boolean> {
    return (await this.#connection.read(() => heldUntil(attempt, this.owner))) !== undefined
  }

  /** How long this process still holds an attempt, if it does. Extends the lease once a quarter of it has passed. */
  async extendLease(attempt: EffectAttempt): Promise<number | undefined> {
    const { owner, ms, lagMs } = this.#leasing
    const until = await this.#connection.read(() => heldUntil(attempt, owner))
    if (until === undefined) return undefined
    const leftMs = fromInstant(until) - fromInstant(this.#leasing.begin().now)
    // A lease that a clock ahead of time set counts as over for other processes.
    if (leftMs >= ms * 0.75 && leftMs <= ms) return leftMs - lagMs
    const isExtended = await this.#connection.transact(() => extendEffect(attempt, this.#leasing.begin()))
    return isExtended ? ms - lagMs : undefined
  }

  /** Defers an effect after an attempt, without an event. Does nothing when another attempt has begun. */
  deferEffect(attempt: EffectAttempt, dueAt: number, reason: string): Promise<void> {
    return this.#connection.transact(() => deferEffect(attempt, toInstant(dueAt), reason, this.#leasing.begin()))
  }

  async canSettle(end: AttemptEnd): Promise<boolean> {
    return canEnd(await this.#connection.read(() => findEffect(end.effect)), end)
  }

  effect(id: string): Promise<PendingEffect | undefined> {
    return this.#connection.read(() => readEffect(this.headers, id))
  }

  effects(filter: EffectFilter): Promise<PendingEffect[]> {
    return this.#connection.read(() => listEffects(this.headers, filter))
  }

  countPending(): Promise<readonly PendingCount[]> {
    return this.#connection.read(countPending)
  }

  /** Rebuilds views from the log and reports how the served rows differed. After an abort: the finished ones. */
  rebuild(options: RebuildAll = {}): Promise<RebuildResult[]> {
    return rebuildAll(this.#rebuildParts, this.#options.views, options)
  }

  /** Finds when the next effect of these types becomes due, or free of its lease, up to an instant. */
  nextDueAt(types: readonly string[], until: number): Promise<number> {
    return this.#connection.read(() => nextDueAt(types, this.#leasing.begin(), toInstant(until)))
  }

  /** Retries the stopped views that are due, until the signal. Returns when the next one is due. */
  retryStoppedViews(signal: AbortSignal): Promise<number> {
    return this.#stoppedViews.retryDue(AbortSignal.any([signal, this.#closing.signal]))
  }

  /** Signs a checkpoint and writes the high-water mark. Gives the newest one again when no event was added. */
  async checkpoint({ withAnchor = false } = {}): Promise<StoredCheckpoint> {
    const made = await this.#checkpointer.make()
    if (withAnchor) await this.#checkpointer.waitForAnchors()
    return made
  }

  /** Reports whether an effect was pending when the log was restored: it may have been performed already. */
  isFromBeforeRestore({ position }: Pick<PendingEffect, 'position'>): boolean {
    return position <= this.#restoredAt
  }

  /** Reads how far every view has come and which are stopped, including those of another version. */
  viewProgress(): Promise<readonly ViewProgress[]> {
    return this.#connection.read(() => readViewProgressOf(this.#options.views))
  }

  /** How far the clock of this host is from that of the server, in words, if by more than some milliseconds. */
  clockFault(allowedMs: number): string | undefined {
    return this.#leasing.clockFault(allowedMs)
  }

  /** Like `clockFault`, but a fault is looked at again after a reading: either clock may have been set right since. */
  async findClockFault(allowedMs: number): Promise<string | undefined> {
    if (this.clockFault(allowedMs) !== undefined) await this.checkKnown()
    return this.clockFault(allowedMs)
  }

  /** The database, to read it, and to remove what was erased from its files. Events are written by `append` alone. */
  get database(): Omit<Connection, 'transact' | 'close'> {
    return this.#connection
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.leaseKeeper.close()
    await withinTime(systemClock, closeMaxMs, () => this.#finish()).catch((error: unknown) => {
      if (!(error instanceof LateError)) throw error
      this.#rebuildParts.onTrouble('the last checkpoint or the keyring was not written at closing', error)
    })
    this.vault.forget()
    await this.#connection.close()
  }

  async #finish(): Promise<void> {
    await this.#sweeping
    const size = await this.#checkpointer.close()
    const onFailed = (error: unknown) => this.#rebuildParts.onTrouble('the keyring could not be written', error)
    await this.vault.keyring.rememberReached(size).catch(onFailed)
  }
}

/** Refuses an older copy of the keyring. Another process may have begun an epoch after it was read. */
async function checkNewest(connection: Connection, keyring: Keyring, path: string): Promise<void> {
  const isOutdated = () => connection.read(() => isOlderThanLog(keyring))
  if (await isOutdated()) await keyring.refresh()
  if (await isOutdated()) throw outdatedKeyringError(path)
}
