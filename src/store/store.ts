import type { Clock } from '../runtime/clock.ts'
import { monotonicClock } from '../runtime/clock.ts'
import { Listeners } from '../runtime/listeners.ts'
import { Vault } from '../vault/vault.ts'
import { clocksDifferMaxMs, fromInstant, toInstant } from '../vocabulary/instant.ts'
import type { Json, PartAddress, PendingEffect, RecordedEvent } from '../vocabulary/message.ts'
import type { View } from '../vocabulary/view.ts'
import { Checkpointer } from './checkpoints/checkpointer.ts'
import type { StoredCheckpoint } from './checkpoints/checkpoints.ts'
import { markOf } from './checkpoints/high-water-mark.ts'
import { holdAgainstMark, readResumed } from './checkpoints/resuming.ts'
import { checkEnd } from './checks/check-end.ts'
import type { Connection } from './database/connection.ts'
import { timed } from './database/timed-connection.ts'
import { FollowerTable } from './ledger/followers.ts'
import type { Lease } from './ledger/leases.ts'
import {
  type AttemptAt,
  type Claimable,
  type ClaimedSince,
  claimEffect,
  countPending,
  type DueFilter,
  deferEffect,
  dueEffects,
  type EffectFilter,
  type EffectMove,
  extendEffect,
  findClaimable,
  heldUntil,
  isOpen,
  listEffects,
  type PendingCount,
  readEffect,
} from './ledger/ledger.ts'
import { Secrets } from './ledger/secrets.ts'
import { WriteTrial } from './ledger/write-trial.ts'
import { type LastFilter, type ReadFilter, readAt, readFrom, readOn } from './log/read.ts'
import { treeRoot } from './log/tree.ts'
import type { Schemas } from './log/upcasters.ts'
import { begin, olderKeyring, openFile, openKeyring, prepareTables, refuseOtherKeyring } from './opening.ts'
import { Owners } from './owners/owners.ts'
import { isOlderThanLog } from './owners/unopened-keys.ts'
import { openPart } from './parts/parts.ts'
import type { HighWaterMark, StoreOptions } from './store-options.ts'
import { hasDiscarded, sweep } from './views/discarded-tables.ts'
import { Projector, readCheckpointsOf, type ViewCheckpoint } from './views/projector.ts'
import { type RebuildAll, rebuildAll } from './views/rebuild-all.ts'
import { Rebuilder, type RebuildResult, type ViewBound } from './views/rebuilder.ts'
import { StoppedViews } from './views/stopped-views.ts'
import { ViewReader } from './views/view-reader.ts'
import { noSuchView } from './views/view-table.ts'
import type { Append, Appended, Receipt } from './writing/append.ts'
import { findReceipt, lookUp } from './writing/batch.ts'
import type { RecentDigest } from './writing/recent-digests.ts'
import { Writer, type WriterParts } from './writing/writer.ts'

/** What a store is opened on. */
type StoreParts = {
  readonly connection: Connection
  readonly vault: Vault
  readonly trial: WriteTrial
  readonly transacted: Listeners<number>
}

/** The log, its ledger and its views in one database: what changes together changes in one durable transaction. */
export class Store {
  /** Those who hear of every commit of this process, with the end of the log. */
  readonly committed: Listeners<number> = new Listeners()
  /** Those who hear how long each committed transaction took, in milliseconds: the event loop stood still meanwhile. */
  readonly transacted: Listeners<number>
  readonly vault: Vault
  readonly secrets: Secrets
  readonly trial: WriteTrial
  readonly followers: FollowerTable
  readonly owners: Owners
  readonly viewReader: ViewReader
  /** How long an effect or a follower belongs to the process that took it. */
  readonly leaseMs: number = 60_000
  readonly #connection: Connection
  readonly #writer: Writer
  readonly #projector: Projector
  readonly #rebuilder: Rebuilder
  readonly #stoppedViews: StoppedViews
  readonly #schemas: Schemas
  readonly #views: readonly View[]
  readonly #owner: string
  readonly #clock: Clock
  readonly #checkpointer: Checkpointer
  readonly #closing = new AbortController()
  #sweeping: Promise<void> = Promise.resolve()
  /** The position of the last restore that was accepted: what was owed before may have been done since. */
  #resumedAt = 0

  private constructor(
    { connection, vault, trial, transacted }: StoreParts,
    options: StoreOptions,
    mark?: HighWaterMark,
  ) {
    this.trial = trial
    this.transacted = transacted
    this.#connection = connection
    this.vault = vault
    this.secrets = new Secrets(connection, vault, () => this.#lease())
    this.followers = new FollowerTable(connection, () => this.#lease())
    const { views, schemas = {} } = options
    const { clock, anchor, onTrouble = () => undefined } = options
    this.#views = views
    this.#schemas = schemas
    this.#projector = new Projector(connection, views, () => this.#stoppedViews)
    const project: WriterParts['project'] = (events, known) => this.#projector.project(events, known)
    this.#checkpointer = new Checkpointer({
      connection,
      signer: vault.keyring.signer,
      clock,
      onTrouble,
      ...(mark && { mark }),
      ...(anchor && { anchor }),
    })
    const onCommitted = (position: number) => this.committed.tell(this.#checkpointer.hear(position))
    this.#writer = new Writer({ connection, vault, schemas, project, onCommitted })
    this.#clock = clock
    const folding = { connection, schemas, clock, onRejoined: () => this.#writer.forget() }
    this.viewReader = new ViewReader({ connection, schemas, views })
    this.#rebuilder = new Rebuilder({
      ...folding,
      ...(options.onTrouble && { onTrouble: options.onTrouble }),
    })
    this.#stoppedViews = new StoppedViews({ ...folding, rebuilder: this.#rebuilder, options })
    this.#owner = options.createId()
    this.owners = new Owners(connection, vault, () => this.#writer.forget())
  }

  /**
   * Opens a store, or makes one.
   *
   * @throws {AverbaError} `STORE_UNSAFE`, `STORE_BUSY`, `NOT_OURS`, `CORRUPT`, `KEYS_MISSING`,
   * `KEYS_MISMATCH`
   */
  static async open(options: StoreOptions): Promise<Store> {
    const { medium, clock } = options
    const opened = await (medium?.open() ?? openFile(options.path))
    const trial = new WriteTrial(clock)
    const transacted = new Listeners<number>()
    const tell = (ms: number) => transacted.tell(ms)
    const connection = timed(opened, monotonicClock(clock), tell, error => trial.hear(error))
    try {
      await connection.transact(() => prepareTables(connection, options.path))
      await connection.read(() => checkEnd(options.path))
      const began = await connection.read(() => readAt(options.schemas ?? {}, 1))
      const open = () => openKeyring(options, began === undefined)
      const keyring = await (medium?.keyring(open) ?? open())
      // Before anything is written: a log that is refused is left as it is.
      if (began) refuseOtherKeyring(options.path, began, keyring)
      const isOlder = () => connection.read(() => isOlderThanLog(keyring))
      // Another process may have begun an epoch since it was read.
      if (await isOlder()) await keyring.refresh()
      if (await isOlder()) throw olderKeyring(options.path)
      const mark = markOf(options)
      const vault = new Vault(keyring, options.entropy, options.recordKeys)
      const store = new Store({ connection, vault, trial, transacted }, options, mark)
      await connection.transact(() => store.#projector.createTables())
      const append = (input: Append) => store.append(input)
      if (!began) {
        const log = { append, readAt: (position: number) => store.readAt(position), keyring }
        refuseOtherKeyring(options.path, await begin(log, options), keyring)
      }
      await holdAgainstMark({ connection, keyring, options, mark, append })
      await store.#checkpointer.begin(options.acceptRollback === true)
      store.#resumedAt = (await connection.read(readResumed))?.position ?? 0
      await store.#stoppedViews.restore()
      if (await hasDiscarded(connection)) store.#sweep(options)
      return store
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  /** Runs beside everything else; what it leaves is removed when the log is next opened. */
  #sweep({ onTrouble = () => undefined }: StoreOptions): void {
    const failed = (error: unknown) => onTrouble('discarded tables could not be removed', error)
    this.#sweeping = sweep(this.#connection, this.#closing.signal).catch(failed)
  }

  /** Appends to one or more streams, with all that belongs to it, or leaves no trace. */
  append(input: Append): Promise<Appended> {
    return this.#writer.append(input)
  }

  /** Reads a page of the log. */
  read(filter: ReadFilter): Promise<RecordedEvent[]> {
    return readFrom(this.#connection, this.#schemas, filter)
  }

  /** Reads the event at a position. */
  readAt(position: number): Promise<RecordedEvent | undefined> {
    return this.#connection.read(() => readAt(this.#schemas, position))
  }

  /** Reads a page of the log, with the end of the log at that moment. */
  readOn(filter: ReadFilter): Promise<{ events: RecordedEvent[]; end: number }> {
    return readOn(this.#connection, this.#schemas, filter)
  }

  /** Reads the newest event of those that a filter names. */
  async readLast(filter: LastFilter = {}): Promise<RecordedEvent | undefined> {
    return (await this.read({ ...filter, backward: true, limit: 1 }))[0]
  }

  /** Opens a part; `undefined` when it is not there. */
  open(address: PartAddress): Promise<Json | undefined> {
    const opening = () => openPart(this.vault, address)
    return this.vault.keyring.whenRefreshed(() => this.#connection.read(opening))
  }

  /** Finds what a keyed digest stands for. */
  lookUp(kind: string, text: string): Promise<string | undefined> {
    return this.#connection.read(() => lookUp(kind, this.digest(kind, text)))
  }

  /** Finds the event that was recorded under a digest a short while ago, as far as this process knows. */
  async findRecent(recent: RecentDigest): Promise<number | undefined> {
    const { recents } = this.#writer
    if (recents.remembered(recent) === undefined) return undefined
    return this.#connection.read(() => recents.find(recent))
  }

  /** The keyed digest under which something is looked up. */
  digest(kind: string, text: string): Uint8Array {
    return this.vault.keyring.digest(kind, text)
  }

  receipt(commandId: string): Promise<Receipt | undefined> {
    return this.#connection.read(() => findReceipt(commandId))
  }

  /** The effects that are due, the oldest first. */
  dueEffects(now: number, filter: DueFilter = {}): Promise<string[]> {
    return this.#connection.read(() => dueEffects(this.#lease(now), filter))
  }

  /** Takes an effect for one attempt without an event, written down before the request leaves. */
  claimEffect(id: string, now: number): Promise<ClaimedSince | undefined> {
    return this.#connection.transact(() => claimEffect(this.#schemas, id, this.#lease(now)))
  }

  /** The same move with a lease that begins now. */
  leased(move: EffectMove): EffectMove {
    return { ...move, lease: this.#lease() }
  }

  /** Finds an effect that may be taken for one attempt, with the move that takes it in the transaction of an event. */
  findClaimable(id: string, now: number): Promise<Claimable | undefined> {
    return this.#connection.read(() => findClaimable(this.#schemas, id, this.#lease(now)))
  }

  /**
   * Reports whether an attempt is still this process's, and extends it once a quarter of its time is over: a process
   * that goes on at once waits for no disk.
   */
  async holdEffect(attempt: AttemptAt): Promise<boolean> {
    const until = await this.#connection.read(() => heldUntil(attempt, this.#owner))
    if (until === undefined) return false
    const leftMs = fromInstant(until) - this.#clock.now()
    // An end that a fast clock set is over for others already.
    if (leftMs >= this.leaseMs * 0.75 && leftMs <= this.leaseMs) return true
    return this.#connection.transact(() => extendEffect(attempt, this.#lease()))
  }

  /** Puts an effect off that this process still has. */
  deferEffect(id: string, dueAt: number, reason: string): Promise<void> {
    return this.#connection.transact(() => deferEffect(id, toInstant(dueAt), reason, this.#lease()))
  }

  /** Reports whether an effect has neither been settled nor declined. */
  isOpen(effect: string): Promise<boolean> {
    return this.#connection.read(() => isOpen(effect))
  }

  effect(id: string): Promise<PendingEffect | undefined> {
    return this.#connection.read(() => readEffect(this.#schemas, id))
  }

  effects(filter: EffectFilter): Promise<PendingEffect[]> {
    return this.#connection.read(() => listEffects(this.#connection, this.#schemas, filter))
  }

  /** Counts the effects that are open, by type and state. */
  countOwed(): Promise<readonly PendingCount[]> {
    return this.#connection.read(countPending)
  }

  /** Builds every view anew from the log, and tells how the serving rows differed. Ended, it gives those done. */
  rebuild(options: RebuildAll = {}): Promise<RebuildResult[]> {
    return rebuildAll(this.#rebuilder, this.#views, options)
  }

  /** Lets stopped views whose next try is due catch up and rejoin: outside appends, until the signal. */
  bringViewsBack(signal: AbortSignal): Promise<void> {
    return this.#stoppedViews.look(AbortSignal.any([signal, this.#closing.signal]))
  }

  /**
   * The rows of a view as they were at a position or an instant.
   *
   * @throws {AverbaError} `INVALID_INPUT` when there is no such view
   */
  async viewAsOf(name: string, asOf: ViewBound): Promise<object[]> {
    const view = this.#views.find(each => each.name === name)
    if (!view) throw noSuchView(`Cannot build "${name}"`, this.#views)
    return this.#rebuilder.buildAsOf(view, asOf)
  }

  /** The root of the Merkle tree over all headers. */
  root(): Promise<string | undefined> {
    return this.#connection.read(treeRoot)
  }

  /** Signs where the log stands, and writes the mark. Gives the newest checkpoint again when nothing was added. */
  async checkpoint({ withAnchor = false } = {}): Promise<StoredCheckpoint> {
    const made = await this.#checkpointer.make()
    if (withAnchor) await this.#checkpointer.anchored()
    return made
  }

  /** Reports whether an effect was owed when the log was restored: it may have been performed since. */
  isFromBeforeRestore({ position }: Pick<PendingEffect, 'position'>): boolean {
    return position <= this.#resumedAt
  }

  /** How far every view has come, and which stand still: also one that another version took over. */
  checkpoints(): Promise<readonly ViewCheckpoint[]> {
    return this.#connection.read(() => readCheckpointsOf(this.#views))
  }

  /** A process whose clock is ahead by more than a lease takes over all the same. */
  #lease(now = this.#clock.now()): Lease {
    const [until, latest] = [now + this.leaseMs, now + this.leaseMs + clocksDifferMaxMs]
    return { owner: this.#owner, now: toInstant(now), until: toInstant(until), latest: toInstant(latest) }
  }

  /** The connection that the store is read through. */
  get reader(): Pick<Connection, 'read' | 'readOnly' | 'dialect'> {
    return this.#connection
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#sweeping
    await this.#checkpointer.close()
    this.vault.forget()
    await this.#connection.close()
  }
}
