import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { KeyedLock } from '../../runtime/locks.ts'
import { EpochMissingError, type Keyring } from '../../vault/keyring.ts'
import type { Keys } from '../../vault/keys.ts'
import type { ErasureToRemember } from '../../vault/stored-keys.ts'
import type { Vault } from '../../vault/vault.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { type Connection, each, first, rows, type Steps } from '../database/connection.ts'
import { db, raiseFence } from '../database/schema.ts'
import { resealSecrets } from '../ledger/secrets.ts'
import { damagedLogError, type HeaderReader } from '../log/header.ts'
import { writeEntries } from '../log/keyed-index.ts'
import { endOfLog } from '../log/read.ts'
import type { Tags } from '../log/tags.ts'
import { type AgedPage, findPresent, type PartPlace, readAgedParts } from '../parts/parts.ts'
import type { IndexEntry } from '../writing/append.ts'
import { findLostErasures } from './keyring-faults.ts'
import { type PersonSurvey, surveyPerson } from './survey.ts'

/** The result of a rotation: the epoch that wraps every key now, and the earlier ones that the keyring still has. */
export interface Rotated {
  readonly epoch: number
  readonly previous: readonly number[]
  readonly rewrapped: number
}

/** How many keys are rewrapped per transaction: other writers get a turn in between. */
const pageKeys = 1_000

interface OwnersParts {
  readonly connection: Connection
  readonly vault: Vault
  readonly headers: HeaderReader
  readonly tags: Tags
  /** Called when keys have a new wrapping: cached ones still have the old one. */
  readonly onRewrapped: () => void
}

/** Owners' keys, their wrapping, and the data sealed under them. */
export class Owners {
  readonly #connection: Connection
  readonly #vault: Vault
  readonly #headers: HeaderReader
  readonly #tags: Tags
  readonly #onRewrapped: () => void
  readonly #changing = new KeyedLock()

  constructor({ connection, vault, headers, tags, onRewrapped }: OwnersParts) {
    this.#connection = connection
    this.#vault = vault
    this.#headers = headers
    this.#tags = tags
    this.#onRewrapped = onRewrapped
  }

  /** Whether an owner has a key or was erased; `undefined` when the owner never had a key. */
  stateOf(owner: string): Promise<'live' | 'erased' | undefined> {
    return this.#connection.read(() => readOwnerState(owner))
  }

  agedParts(kinds: readonly string[], before: Instant, last: PartPlace): Promise<AgedPage> {
    return this.#connection.read(() => readAgedParts(this.#headers, kinds, before, last))
  }

  survey(subject: string): Promise<PersonSurvey> {
    return surveyPerson(this.#connection, this.#headers, subject)
  }

  existingParts<P extends PartPlace>(parts: readonly P[]): Promise<P[]> {
    return this.#connection.read(() => findPresent(parts))
  }

  /**
   * Wraps every key under an epoch that began after a position. Keys destroyed before that open in no copy of the file
   * once the older epochs are destroyed. If interrupted, the next call continues.
   *
   * @param erasure what the keyring remembers from then on, in case an older backup is restored
   * @throws {AverbaError} `STORE_UNSAFE` when the keyring cannot be written, `STORE_BUSY`, `KEYS_MISMATCH`
   */
  rotate(since: number, erasure?: ErasureToRemember): Promise<Rotated> {
    return this.#oneByOne(keyring =>
      keyring.withRefresh(async () => {
        await this.#beginEpoch(since, erasure)
        const rewrapped = await this.#rewrap()
        return { epoch: keyring.epoch, previous: keyring.epochs.filter(each => each < keyring.epoch), rewrapped }
      }),
    )
  }

  /**
   * Wraps the keys of the keyring under another root key, or under one that the keyring holds.
   *
   * @throws {AverbaError} `KEYS_MISMATCH`, `STORE_UNSAFE`, `STORE_BUSY`
   */
  changeRootKey(keys?: Keys): Promise<void> {
    return this.#oneByOne(keyring =>
      keyring.withRefresh(async () => keyring.replaceRoot(await keyring.prepareRoot(keys))),
    )
  }

  /** Destroys epochs: keys wrapped under them no longer open, in any copy. Throws as `rotate`. */
  destroyEpochs(epochs: readonly number[]): Promise<void> {
    return this.#oneByOne(async keyring => {
      // A process that had not read the newest epoch may have made keys under an older one.
      await this.#rewrap()
      const lost = await this.#connection.transact(() => releaseEpochs(this.#headers, keyring, epochs))
      for (const epoch of epochs) {
        await keyring.destroyEpoch(epoch, lost)
        await keyring.announceDestroyed(epoch)
      }
    })
  }

  /** Changes the keys, one change after the other: each reads the keyring again first. */
  #oneByOne<T>(work: (keyring: Keyring) => Promise<T>): Promise<T> {
    const { keyring } = this.#vault
    return this.#changing.run(['keys'], async () => {
      await keyring.refresh()
      return work(keyring)
    })
  }

  /** Replaces the keyed index. Does nothing and returns `undefined` when events follow the position. */
  replaceIndex(
    indexEntries: readonly IndexEntry[],
    since: number,
  ): Promise<{ before: number; after: number } | undefined> {
    return this.#connection.transact(() => replaceIndex(this.#tags, indexEntries, since))
  }

  /**
   * Begins an epoch, unless the present one began late enough. The keyring has it before the log names it. One that is
   * in the keyring but not in the log, after a crash or a restore, does not count: copies of that log may use it too.
   */
  async #beginEpoch(since: number, erasure?: ErasureToRemember): Promise<void> {
    const { keyring } = this.#vault
    const size = await this.#connection.read(() => findSizeForEpoch(keyring, since))
    if (size === undefined) {
      if (erasure) await keyring.remember(erasure)
      return
    }
    const epoch = await keyring.beginEpoch(await keyring.prepareEpoch(), size, erasure)
    await this.#connection.transact(() => enterEpoch(epoch, size))
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
      // Cached keys still have the old wrapping, even if the rotation stopped early.
      if (rewrapped > 0) {
        this.#onRewrapped()
        this.#vault.forget()
      }
    }
  }
}

function* readOwnerState(owner: string): Steps<'live' | 'erased' | undefined> {
  const row = yield* first(db.selectFrom('owner_key').select('is_erased').where('owner', '=', owner))
  return row && (row.is_erased === 1 ? 'erased' : 'live')
}

/** The size of the log, when an epoch must begin after a position; `undefined` when the present one did. */
function* findSizeForEpoch({ epoch }: Keyring, since: number): Steps<number | undefined> {
  const head = yield* first(db.selectFrom('head').select(['epoch', 'epoch_since']))
  // Another process began one meanwhile.
  if (head && head.epoch > epoch) throw new EpochMissingError(head.epoch, epoch)
  const size = yield* endOfLog()
  if (head && head.epoch_since > size)
    throw damagedLogError(`The log has ${size} events, and its epoch is said to have begun at ${head.epoch_since}`)
  return head && head.epoch_since >= since ? undefined : size
}

/**
 * Lets all processes wrap new keys under an epoch, unless another one has begun a later one.
 *
 * @param size the number of events before it began: keys of later events may be under it
 */
function* enterEpoch(epoch: number, size: number): Steps<void> {
  yield* rows(db.updateTable('head').set({ epoch, epoch_since: size }).where('epoch', '<', epoch))
}

function* rewrapPage(vault: Vault, after: number): Steps<readonly { key: number }[]> {
  const query = db.selectFrom('owner_key').selectAll().where('key', '>', after).where('epoch', '>', 0)
  const page = yield* rows(query.where('epoch', '<', vault.keyring.epoch).orderBy('key').limit(pageKeys))
  const rewrapped = page.map(row => ({ ...vault.rewrap(row), key: row.key }))
  yield* each(updateWrapped, rewrapped, ({ epoch, wrapped, key }) => [epoch, wrapped, key])
  // Other writers keep the former wrapping in memory.
  if (page.length > 0) yield* rows({ sql: raiseFence, parameters: [] })
  return page
}

/** Checks that epochs wrap no key, nor will: writers use a later one. Lists the persons whose erasures were lost. */
function* releaseEpochs(
  headers: HeaderReader,
  keyring: Keyring,
  epochs: readonly number[],
): Steps<ReadonlySet<string>> {
  // A process that died may have begun an epoch without entering it.
  yield* rows(db.updateTable('head').set({ epoch: keyring.epoch }).where('epoch', '<', keyring.epoch))
  for (const epoch of epochs) {
    const used = yield* first(db.selectFrom('owner_key').select('key').where('epoch', '=', epoch).limit(1))
    if (used || epoch >= keyring.epoch)
      throw new AverbaError('KEYS_MISMATCH', `Cannot destroy the epoch ${epoch}: keys are wrapped under it`)
    // Secrets that still opened have been sealed again under the new epoch.
    yield* rows(db.deleteFrom('secret').where('epoch', '=', epoch))
  }
  return new Set((yield* findLostErasures(headers, keyring.erased)).map(({ subject }) => subject))
}

function* replaceIndex(
  tags: Tags,
  indexEntries: readonly IndexEntry[],
  since: number,
): Steps<{ before: number; after: number } | undefined> {
  if ((yield* endOfLog()) !== since) return undefined
  const before = yield* first(db.selectFrom('keyed_index').select(({ fn }) => fn.countAll<number>().as('n')))
  yield* rows(db.deleteFrom('keyed_index'))
  yield* writeEntries(tags, indexEntries)
  return { before: before?.n ?? 0, after: indexEntries.length }
}

const updateWrapped = 'update owner_key set epoch = ?, wrapped = ? where key = ?'
