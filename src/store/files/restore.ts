import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { Fault } from '../../proof/faults.ts'
import type { Entropy } from '../../runtime/entropy.ts'
import {
  inspectKeyringFile,
  type Keyring,
  openKeyringFile,
  openKeyringFileUnder,
} from '../../vault/keyring.ts'
import type { Keys } from '../../vault/keys.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { keyringPath, markPath } from '../../vocabulary/names.ts'
import type { View } from '../../vocabulary/view.ts'
import { damagedMark, findMarkFault } from '../checkpoints/checkpoints.ts'
import { readMark } from '../checkpoints/high-water-mark.ts'
import type { ClaimedKind } from '../checks/check-claims.ts'
import {
  type CheckFindings,
  checkStore,
  keyFaults,
  refuseCutOff,
  refuseFaults,
} from '../checks/check-store.ts'
import type { Steps } from '../database/connection.ts'
import { Snapshot } from '../database/snapshot.ts'
import { applicationId, loadSqlite } from '../database/sqlite.ts'
import { countPending, type PendingCount } from '../ledger/ledger.ts'
import { readFacts, type StoreFacts } from '../log/facts.ts'
import { findLostErasures, type LostErasure } from '../owners/lost-erasures.ts'
import { checkAbsent, writeNewFile } from './new-file.ts'

/** What was restored. */
export interface RestoreResult extends StoreFacts, Pick<CheckFindings, 'parts'> {
  readonly store: string
  /** The keyring beside it: the one that was there, or a copy of the one that was given. */
  readonly keys: string
  /** Calls that were owed when the backup was made: they may have been made since, and would be made again. */
  readonly owed: readonly PendingCount[]
  /** Erasures that came after the backup, as the keyring remembers them: these persons are back. Erase them again. */
  readonly lostErasures: readonly LostErasure[]
  /** Views that do not show the log correctly: a rebuild repairs them. */
  readonly views: readonly Fault[]
}

/** How to restore a backup. */
export interface RestoreOptions {
  readonly backup: string
  /** The path of the new store. Nothing may be there but its keyring, or a file that holds nothing. */
  readonly store: string
  /** The keyring; otherwise the one beside the new store, or else beside the backup. */
  readonly keys?: string
  /** Who holds the root key, if the keyring does not: the keyring has to open with it. */
  readonly rootKey?: Keys
  /**
   * Lets the copy go on by itself before it gets its name: also where it is behind the high-water mark beside the new
   * store, and the events after it are lost.
   */
  readonly accept?: (copy: string) => Promise<void>
  readonly views: readonly View[]
  /** The kinds of keyed digests that are compared with the log. */
  readonly claimedKinds?: readonly ClaimedKind[]
  readonly entropy: Entropy
  readonly onProgress?: (what: 'copy' | 'log' | 'views', done: number, end: number) => void
}

/**
 * Makes a store of a backup, and puts its keyring beside it. The copy is checked in place of the backup, whose faults
 * it shares, and gets its name last.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `INVALID_INPUT` when something is at the path, `KEYS_MISSING`,
 * `KEYS_MISMATCH`, `ROLLED_BACK`, `STORE_UNSAFE`, `CORRUPT`
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreResult> {
  const { backup, store, entropy } = options
  await removeEmptyStore(store)
  // What a lost store left behind would be taken for a part of the new one.
  for (const end of ['', '-wal', '-shm', '-journal']) checkAbsent(`${store}${end}`)
  const cannot = `Cannot restore "${backup}"`
  const source = await Snapshot.open(backup)
  try {
    refuseCutOff(cannot, source)
    const facts = source.run(readFacts)
    const { path, opens } = findKeyring(options)
    for (const each of opens) {
      const [keyFault] = keyFaults(facts, await identifyKeyring(each, options))
      if (keyFault === undefined) continue
      const hint = `It needs the keyring ${facts.keyring} with the epochs ${facts.epochs.join(', ')}`
      throw new AverbaError('KEYS_MISMATCH', `${cannot} with "${each}": ${keyFault}`, { hint })
    }
    return await writeNewFile(store, entropy, async temporary => {
      const restored = await copyChecked(source, path, temporary, options)
      await options.accept?.(temporary)
      // What SQLite could not move into the file would be gone with its journal: how the log goes on, too.
      if (existsSync(`${temporary}-wal`))
        throw new AverbaError('STORE_UNSAFE', `${cannot}: the copy could not be written as a whole`, {
          hint: 'Look for room on the disk and for its errors, and restore again',
        })
      return restored
    })
  } finally {
    source.close()
  }
}

/** Copies a backup, checks the copy, and puts its keyring beside the new store. */
async function copyChecked(
  source: Snapshot,
  keyring: string,
  to: string,
  { backup, store, views, claimedKinds = [], accept, entropy, onProgress }: RestoreOptions,
): Promise<RestoreResult> {
  const cannot = `Cannot restore "${backup}"`
  await source.copyTo(to, store, (done, pages) => onProgress?.('copy', done, pages))
  const copy = await Snapshot.open(to, backup)
  try {
    const checked = await checkStore(copy, { views, claimedKinds, ...(onProgress && { onProgress }) })
    const differing = checked.faults.filter(fault => fault.check === 'views')
    refuseFaults(cannot, { faults: checked.faults.filter(fault => fault.check !== 'views') })
    if (!accept) copy.run(() => refuseRollback(cannot, readMark(markPath(store))))
    // The keyring comes first: a store without one would not open.
    const keys = await placeKeyring(keyring, keyringPath(store), entropy)
    const { parts } = checked
    const owed = copy.run(countPending)
    const { erased } = inspectKeyringFile(keys, entropy)
    const lostErasures = copy.run(() => findLostErasures(erased))
    const found = { parts, owed, lostErasures, views: differing }
    return { ...copy.run(readFacts), ...found, store, keys }
  } finally {
    copy.close()
  }
}

/** Throws where the mark of the former store is ahead of the backup. */
function* refuseRollback(cannot: string, mark: string | undefined): Steps<void> {
  const fault = mark === undefined ? undefined : yield* findMarkFault(mark)
  if (fault === undefined) return
  throw new AverbaError('ROLLED_BACK', `${cannot}: ${fault}`, {
    hint:
      fault === damagedMark
        ? 'It says nothing of the backup: move the mark away once you know that no newer backup is there'
        : 'Look for a newer backup. With --accept-rollback the log goes on from this one, and says so',
  })
}

/** Which keyring to take. One beside the new store stays there, and has to open the log as well. */
function findKeyring({ backup, store, keys }: RestoreOptions): { path: string; opens: readonly string[] } {
  const beside = keyringPath(store)
  const path = keys ?? (existsSync(beside) ? beside : keyringPath(backup))
  if (!existsSync(path)) {
    throw new AverbaError('KEYS_MISSING', `Cannot restore "${backup}": there is no keyring at "${path}"`, {
      hint: `Put the keyring that was made with the log at "${beside}", or name it with --keys`,
    })
  }
  return { path, opens: existsSync(beside) && beside !== path ? [path, beside] : [path] }
}

/**
 * Opens a keyring as far as needed: a mere copy does without a root key held elsewhere; a log that is to go on does
 * not.
 */
async function identifyKeyring(
  path: string,
  { rootKey, accept, entropy }: RestoreOptions,
): Promise<Pick<Keyring, 'id' | 'epochs'>> {
  if (rootKey) return openKeyringFileUnder(rootKey, path, entropy)
  return accept ? openKeyringFile(path, entropy) : inspectKeyringFile(path, entropy)
}

async function placeKeyring(from: string, to: string, entropy: Entropy): Promise<string> {
  if (!existsSync(to)) {
    const text = readFileSync(from, 'utf8')
    await writeNewFile(to, entropy, async temporary => writeFileSync(temporary, text))
  }
  return to
}

/**
 * Removes a file that holds nothing, not even a table: opening a lost log, or one that was never begun, leaves such a
 * file, and it would be in the way of the backup. Anything else stays.
 */
async function removeEmptyStore(path: string): Promise<void> {
  if (!existsSync(path) || existsSync(`${path}-journal`)) return
  // Its journal may hold all that there is.
  if ((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) return
  if (!(await isEmptyStore(path))) return
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
}

async function isEmptyStore(path: string): Promise<boolean> {
  const Sqlite = await loadSqlite()
  try {
    const database = new Sqlite(path, { readonly: true, fileMustExist: true })
    try {
      const id = database.pragma('application_id', { simple: true })
      const tables = database.prepare('select count(*) from sqlite_schema').pluck().get()
      return tables === 0 && (id === applicationId || id === 0)
    } finally {
      database.close()
    }
  } catch {
    // Not a database, or unreadable: whatever it is, it is not ours to remove.
    return false
  }
}
