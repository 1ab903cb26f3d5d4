import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Keyring, PreparedEpoch } from '../../vault/keyring.ts'
import type { ErasureToRemember } from '../../vault/remembered-erasures.ts'
import type { OwnerKey, Vault } from '../../vault/vault.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { PartAddress, PartMark } from '../../vocabulary/message.ts'
import { parsePartAddress } from '../../vocabulary/names.ts'
import {
  type Connection,
  each,
  first,
  rows,
  type SearchProgress,
  type Steps,
} from '../database/connection.ts'
import { resealSecrets } from '../ledger/secrets.ts'
import { parseHeader } from '../log/header.ts'
import { endOfLog } from '../log/position-before.ts'
import { type Leaf, readLeaf } from '../log/read.ts'
import { findPresent, type PartPlace } from '../parts/parts.ts'
import type { IndexEntry } from '../writing/append.ts'
import { type AgedPage, agedParts } from './aged-parts.ts'
import { findLostErasures, type LostErasure } from './lost-erasures.ts'
import { findMarks, type NamedPart, type PersonSurvey, survey } from './survey.ts'

/** The result of a rotation: the epoch that wraps every key now, and those before it that the keyring still holds. */
export interface Rotated {
  readonly epoch: number
  readonly previous: readonly number[]
  /** How many keys were wrapped anew. */
  readonly rewrapped: number
}

/** How many keys are rewrapped in one transaction: others write in between. */
const pageKeys = 1_000

/** Owners' keys, how they are wrapped, and what is theirs. */
export class Owners {
  readonly #connection: Connection
  readonly #vault: Vault
  readonly #onRewrapped: () => void

  constructor(connection: Connection, vault: Vault, onRewrapped: () => void) {
    this.#connection = connection
    this.#vault = vault
    this.#onRewrapped = onRewrapped
  }

  /** Whether an owner has a key, or was erased; `undefined` when no key was ever made. */
  stateOf(owner: string): Promise<'live' | 'erased' | undefined> {
    return this.#connection.read(() => readState(owner))
  }

  /** Whose key seals a part, as its event says; `undefined` where no event names such a part. */
  ownerOf(address: PartAddress): Promise<string | undefined> {
    return this.#connection.read(() => readOwner(address))
  }

  /** Reads a page of the parts of some kinds, of events recorded before an instant. */
  agedParts(...asked: Parameters<typeof agedParts>): Promise<AgedPage> {
    return this.#connection.read(() => agedParts(...asked))
  }

  /** The exact header of an event, and its hash in the tree, in hexadecimal. */
  leafAt(position: number): Promise<Leaf | undefined> {
    return this.#connection.read(() => readLeaf(position))
  }

  /** Finds all that the log holds of a person. */
  survey(subject: string): Promise<PersonSurvey> {
    return survey(this.#connection, subject)
  }

  /** The given parts that are there: the others were destroyed. */
  present<P extends PartPlace>(parts: readonly P[]): Promise<P[]> {
    return this.#connection.read(() => findPresent(parts))
  }

  /** The parts of a person that the log names, whether they still exist or not. */
  async partsOf(subject: string): Promise<readonly NamedPart[]> {
    return (await findMarks(this.#connection, subject)).parts
  }

  /**
   * Wraps every key by an epoch that began after a position. Keys destroyed before it are not among them, and open in
   * no copy of the file once the older epochs are gone. Cut off at any point, the next call goes on.
   *
   * @param erasure what the keyring remembers then, for the sake of backups from before
   * @throws {AverbaError} `STORE_UNSAFE` when the keyring cannot be written, `STORE_BUSY`, `KEYS_MISMATCH`
   */
  async rotate(since: number, erasure?: ErasureToRemember): Promise<Rotated> {
    const { keyring } = this.#vault
    await keyring.refresh()
    await keyring.withRefresh(async () => {
      const prepared = await keyring.prepareEpoch()
      await this.#connection.transact(() => beginEpoch(keyring, prepared, since, erasure))
    })
    const rewrapped = await this.#rewrap()
    return { epoch: keyring.epoch, previous: keyring.epochs.filter(each => each < keyring.epoch), rewrapped }
  }

  /**
   * Destroys epochs: what they wrapped no longer opens, in any copy.
   *
   * @throws {AverbaError} as `rotate`
   */
  async destroyEpochs(epochs: readonly number[]): Promise<void> {
    const { keyring } = this.#vault
    await keyring.refresh()
    // A process that did not know the newest epoch may have made keys under an older one.
    await this.#rewrap()
    await this.#connection.transact(() => destroyEpochs(keyring, epochs))
    for (const epoch of epochs) await keyring.announceDestroyed(epoch)
  }

  /** The erasures that the log does not know of because it was put back to an earlier backup. */
  lostErasures(): Promise<readonly LostErasure[]> {
    return this.#connection.read(() => findLostErasures(this.#vault.keyring.erased))
  }

  /** Replaces the keyed index; `undefined`, and nothing is done, where the log has gone on since a position. */
  replaceIndex(
    claims: readonly IndexEntry[],
    since: number,
  ): Promise<{ before: number; after: number } | undefined> {
    return this.#connection.transact(() => replaceIndex(claims, since))
  }

  /** Moves all that was written into the file, and empties its journal. False while a reader still needs that. */
  emptyJournal(): Promise<boolean> {
    return this.#connection.emptyJournal()
  }

  /**
   * Rewrites the whole file. SQLite overwrites what is deleted but not what it moves: a copy of a row may stay behind,
   * and outlive it.
   */
  rewrite(): Promise<void> {
    return this.#connection.rewrite()
  }

  /** Searches the raw file for pieces of what was destroyed. */
  searchFile(pieces: readonly Uint8Array[]): Promise<SearchProgress> {
    return this.#connection.searchFile(pieces)
  }

  async #rewrap(): Promise<number> {
    await this.#connection.transact(() => resealSecrets(this.#vault))
    let rewrapped = 0
    try {
      for (let after = 0; ; ) {
        const page = await this.#connection.transact(() => rewrapPage(this.#vault, after))
        rewrapped += page.length
        const last = page.at(-1)
        if (!last) return rewrapped
        after = last.key
        await yieldToEventLoop()
      }
    } finally {
      // The remembered keys are wrapped as before, even where the rotation went no further.
      if (rewrapped > 0) {
        this.#onRewrapped()
        this.#vault.forget()
      }
    }
  }
}

function* readState(owner: string): Steps<'live' | 'erased' | undefined> {
  const row = yield* first<{ isErased: 0 | 1 }>({ sql: selectState, parameters: [owner] })
  return row && (row.isErased === 1 ? 'erased' : 'live')
}

/**
 * Begins an epoch in a transaction that writes, so that no two processes do. An epoch that the keyring has and the log
 * does not know of is never used, whether a crash left it or the log was put back to a backup: copies of that log may
 * hold keys under it.
 */
function* beginEpoch(
  keyring: Keyring,
  prepared: PreparedEpoch,
  since: number,
  erasure?: ErasureToRemember,
): Steps<void> {
  const head = yield* first<{ epoch: number; since: number }>({ sql: selectEpoch, parameters: [] })
  if (!head || head.since < since) {
    const epoch = keyring.beginEpoch(prepared)
    yield* rows({ sql: setEpoch, parameters: [epoch, yield* endOfLog()] })
  }
  if (erasure) keyring.remember(erasure)
}

function* rewrapPage(vault: Vault, after: number): Steps<readonly { key: number }[]> {
  const parameters = [after, vault.keyring.epoch, pageKeys]
  const page = yield* rows<OwnerKey & { key: number }>({ sql: selectOlder, parameters })
  const rewrapped = page.map(row => ({ ...vault.rewrap(row), key: row.key }))
  yield* each(
    updateWrapped,
    rewrapped.map(({ epoch, wrapped, key }) => [epoch, wrapped, key]),
  )
  return page
}

function* destroyEpochs(keyring: Keyring, epochs: readonly number[]): Steps<void> {
  const lost = new Set((yield* findLostErasures(keyring.erased)).map(({ subject }) => subject))
  for (const epoch of epochs) {
    const used = yield* first({ sql: selectUse, parameters: [epoch] })
    if (used || epoch >= keyring.epoch)
      throw new AverbaError('KEYS_MISMATCH', `Cannot destroy the epoch ${epoch}: keys are wrapped by it`)
    // What still opened has been sealed anew.
    yield* rows({ sql: deleteSecrets, parameters: [epoch] })
    keyring.destroyEpoch(epoch, lost)
  }
}

function* readOwner(address: PartAddress): Steps<string | undefined> {
  const [stream, version, name] = parsePartAddress(address)
  const event = yield* first<{ header: string }>({ sql: selectEvent, parameters: [stream, version] })
  const marks: readonly PartMark[] = event ? (parseHeader(event.header).parts ?? []) : []
  return marks.find(mark => mark.name === name)?.owner
}

const selectEvent = `select event.header from event join stream on stream.key = event.stream
  where stream.name = ? and event.version = ?`
function* replaceIndex(
  claims: readonly IndexEntry[],
  since: number,
): Steps<{ before: number; after: number } | undefined> {
  if ((yield* endOfLog()) !== since) return undefined
  const before = yield* first<{ n: number }>({ sql: 'select count(*) as n from keyed_index', parameters: [] })
  yield* rows({ sql: 'delete from keyed_index', parameters: [] })
  yield* each(
    insertClaim,
    claims.map(({ kind, digest, value }) => [kind, digest, value]),
  )
  return { before: before?.n ?? 0, after: claims.length }
}

const insertClaim = 'insert into keyed_index (kind, digest, value) values (?, ?, ?)'
const selectState = 'select is_erased as "isErased" from owner_key where owner = ?'
const selectEpoch = 'select epoch, epoch_since as since from head'
const setEpoch = 'update head set epoch = ?, epoch_since = ?'
const selectOlder = `select key, owner, epoch, wrapped, commitment from owner_key
  where key > ? and epoch > 0 and epoch < ? order by key limit ?`
const updateWrapped = 'update owner_key set epoch = ?, wrapped = ? where key = ?'
const selectUse = 'select key from owner_key where epoch = ? limit 1'
const deleteSecrets = 'delete from secret where epoch = ?'
