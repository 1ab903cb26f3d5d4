import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { Fault } from '../../proof/faults.ts'
import type { Entropy } from '../../runtime/entropy.ts'
import { inspectKeyring, type Keyring, openKeyring } from '../../vault/keyring.ts'
import { KeyringFile } from '../../vault/keyring-file.ts'
import type { Keys } from '../../vault/keys.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { requireFile } from '../../vocabulary/file-errors.ts'
import { keyringPath, markPath } from '../../vocabulary/names.ts'
import type { View } from '../../vocabulary/view.ts'
import { damagedMark, findMarkFault } from '../checkpoints/checkpoints.ts'
import { readMark } from '../checkpoints/high-water-mark.ts'
import type { IndexKind } from '../checks/check-index.ts'
import { type CheckFindings, checkStore, findKeyFaults, throwOnCutOff, throwOnFaults } from '../checks/check-store.ts'
import type { Steps } from '../database/connection.ts'
import { Snapshot } from '../database/snapshot.ts'
import { classifyFile } from '../database/sqlite.ts'
import { openDatabase, run } from '../database/sqlite-driver.ts'
import { countPending, type PendingCount } from '../ledger/ledger.ts'
import { readFacts, type StoreFacts } from '../log/facts.ts'
import { untaggedHeaders } from '../log/header.ts'
import { findLengthFault, findLostErasures, type LostErasure } from '../owners/keyring-faults.ts'
import { checkAbsent, writeNewFile } from './new-file.ts'

/** The result of a restore. */
export interface RestoreResult extends StoreFacts, Pick<CheckFindings, 'parts'> {
  readonly store: string
  /** The keyring beside the store: the existing one, or a copy of the given one. */
  readonly keys: string
  /** The pending effects in the backup. They may have been performed since, and would be performed again. */
  readonly pending: readonly PendingCount[]
  /** Erasures after the backup, as remembered by the keyring: these subjects have to be erased again. */
  readonly lostErasures: readonly LostErasure[]
  /** Views that differ from the log: a rebuild repairs them. */
  readonly views: readonly Fault[]
}

export interface RestoreOptions {
  readonly backup: string
  /** The path of the new store. It must not exist, except as an empty file. Its keyring may exist. */
  readonly store: string
  /** The keyring; by default the one beside the new store, or else beside the backup. */
  readonly keys?: string
  /** The holder of the root key, if it is not in the keyring. */
  readonly rootKey?: Keys
  /** Accepts a rollback: lets the copy continue, although it is behind the high-water mark of the former store. */
  readonly accept?: (copy: string) => Promise<void>
  readonly views: readonly View[]
  readonly indexKinds?: readonly IndexKind[]
  readonly entropy: Entropy
  readonly onProgress?: (what: 'copy' | 'log' | 'views', done: number, end: number) => void
}

/**
 * Makes a store from a backup, and puts its keyring beside it. Checks the copy, which has the same faults as the
 * backup, and renames it last.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `INVALID_INPUT` when the path exists, `KEYS_MISSING`, `KEYS_MISMATCH`,
 * `ROLLED_BACK`, `STORE_UNSAFE`, `CORRUPT`
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreResult> {
  const { backup, store, entropy } = options
  requireFile(store)
  removeEmptyStore(store)
  // SQLite would use the remaining files of a lost store.
  for (const end of ['', '-wal', '-shm', '-journal']) checkAbsent(`${store}${end}`)
  const cannot = `Cannot restore "${backup}"`
  await using source = await Snapshot.open(backup)
  throwOnCutOff(cannot, source)
  const facts = await source.read(readFacts)
  const { path, opens } = findKeyring(options)
  for (const each of opens) {
    const [keyFault] = findKeyFaults(facts, await identifyKeyring(each, options))
    if (keyFault === undefined) continue
    const hint = `It needs the keyring ${facts.keyring} with the epochs ${facts.epochs.join(', ')}`
    throw new AverbaError('KEYS_MISMATCH', `${cannot} with "${each}": ${keyFault}`, { hint })
  }
  return await writeNewFile(store, entropy, async temporary => {
    const restored = await copyChecked(source, { path, opens }, temporary, options)
    await options.accept?.(temporary)
    // Changes that SQLite left in the write-ahead log, such as the accepted restore, would be lost.
    if (existsSync(`${temporary}-wal`))
      throw new AverbaError('STORE_UNSAFE', `${cannot}: the copy could not be written completely`, {
        hint: 'Check the disk for free space and errors, then restore again',
      })
    return restored
  })
}

async function copyChecked(
  source: Snapshot,
  { path, opens }: Keyrings,
  to: string,
  options: RestoreOptions,
): Promise<RestoreResult> {
  const { backup, store, accept, entropy, onProgress } = options
  const cannot = `Cannot restore "${backup}"`
  await source.copyTo(to, store, (done, pages) => onProgress?.('copy', done, pages))
  await using copy = await Snapshot.open(to, backup)
  const checked = await checkStore(copy, options)
  const differing = checked.faults.filter(fault => fault.check === 'views')
  const others = checked.faults.filter(fault => fault.check !== 'views')
  throwOnFaults(cannot, others)
  // The newer of them knows of more erasures, and of more events.
  const known = await Promise.all(opens.map(each => inspectKeyring(new KeyringFile(each, entropy), entropy)))
  const size = Math.max(...known.map(each => each.size))
  const erased = Object.fromEntries(known.flatMap(each => Object.entries(each.erased)))
  if (!accept) await copy.read(() => refuseRollback(cannot, readMark(markPath(store)), size))
  // The keyring first: a store without one cannot be opened.
  const keys = await placeKeyring(path, keyringPath(store), entropy)
  const { parts } = checked
  const pending = await copy.read(countPending)
  const lostErasures = await copy.read(() => findLostErasures(untaggedHeaders, erased))
  const found = { parts, pending, lostErasures, views: differing }
  return { ...(await copy.read(readFacts)), ...found, store, keys }
}

/** Refuses a backup that is behind the mark of the former store, or its keyring. */
function* refuseRollback(cannot: string, mark: string | undefined, size: number): Steps<void> {
  const fault = (mark === undefined ? undefined : yield* findMarkFault(mark)) ?? (yield* findLengthFault({ size }))
  if (fault === undefined) return
  throw new AverbaError('ROLLED_BACK', `${cannot}: ${fault}`, {
    hint:
      fault === damagedMark
        ? 'It says nothing about the backup: move the mark away if there is no newer backup'
        : 'Look for a newer backup. With --accept-rollback the log continues from this one and records it',
  })
}

interface Keyrings {
  readonly path: string
  /** All that have to open the log. */
  readonly opens: readonly string[]
}

/** Chooses the keyring. An existing one beside the new store stays, and has to open the log as well. */
function findKeyring({ backup, store, keys }: RestoreOptions): Keyrings {
  const beside = keyringPath(store)
  const path = keys ?? (existsSync(beside) ? beside : keyringPath(backup))
  if (!existsSync(path))
    throw new AverbaError('KEYS_MISSING', `Cannot restore "${backup}": there is no keyring at "${path}"`, {
      hint: `Put the log's keyring at "${beside}", or name it with --keys`,
    })
  return { path, opens: existsSync(beside) && beside !== path ? [path, beside] : [path] }
}

/** Reads the ids of a keyring. A log that continues needs the root key; a plain copy does not. */
async function identifyKeyring(
  path: string,
  { rootKey, accept, entropy }: RestoreOptions,
): Promise<Pick<Keyring, 'id' | 'epochs'>> {
  const place = new KeyringFile(path, entropy)
  return rootKey || accept ? openKeyring(place, entropy, rootKey) : inspectKeyring(place, entropy)
}

async function placeKeyring(from: string, to: string, entropy: Entropy): Promise<string> {
  if (!existsSync(to)) {
    const kept = await new KeyringFile(from, entropy).read()
    if (kept) await writeNewFile(to, entropy, async temporary => writeFileSync(temporary, kept.text))
  }
  return to
}

/** Removes an empty database, which opening a lost or new log leaves, and which nobody has open: it would block. */
function removeEmptyStore(path: string): void {
  if (!existsSync(path) || existsSync(`${path}-journal`)) return
  // The write-ahead log may hold all the data.
  if ((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) return
  try {
    openDatabase(path, {}, database => {
      for (const sql of ['pragma locking_mode = exclusive', 'begin exclusive']) run(database, sql)
      if (classifyFile(database) === 'empty')
        for (const end of ['-shm', '-wal', '']) rmSync(`${path}${end}`, { force: true })
      database.close()
    })
  } catch {
    // Not a database that is free: do not remove it.
  }
}
