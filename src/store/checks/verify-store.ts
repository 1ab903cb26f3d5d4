import { existsSync } from 'node:fs'
import { Faults } from '../../proof/faults.ts'
import { LogVerifier } from '../../proof/log-verifier.ts'
import {
  type Checkpoint,
  createVerifierKey,
  parseCheckpoint,
  parseVerifierKey,
  type VerifierKey,
  writeVerifierKey,
} from '../../proof/note.ts'
import { conclude, type Findings, type Verdict } from '../../proof/verdict.ts'
import { type GivenCheckpoint, verifyCheckpoint, verifyCheckpoints } from '../../proof/verify-checkpoints.ts'
import type { Entropy } from '../../runtime/entropy.ts'
import { holdsRootKey, type Keyring, openKeyringFile } from '../../vault/keyring.ts'
import type { Keys } from '../../vault/keys.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { keyringPath, markPath } from '../../vocabulary/names.ts'
import { readCheckpoints, readKeyLines, type StoredCheckpoint } from '../checkpoints/checkpoints.ts'
import { readMark } from '../checkpoints/high-water-mark.ts'
import { rows, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import type { Snapshot } from '../database/snapshot.ts'
import { findUnopenedKeys } from '../owners/keyring-faults.ts'
import { type CheckOptions, checkRows, runCheck } from './check-store.ts'

/** How to verify a store. */
export interface VerifyStoreOptions extends CheckOptions {
  readonly entropy: Entropy
  /** Verifier key lines that must have signed the log; else those of the keyring beside it, or the log's own. */
  readonly keys?: readonly string[]
  /** Who holds the root key of the log. Without it, a keyring that lacks its root key is ignored. */
  readonly rootKey?: Keys
  /** A signed checkpoint that was kept elsewhere, or the path of its file; `<store>.mark` when absent. */
  readonly mark?: string
  readonly witnesses?: readonly string[]
}

/** Verifies a store: everything that the verifier of a bundle checks, and that rows, tiles and views agree with it. */
export async function verifyStore(snapshot: Snapshot, options: VerifyStoreOptions): Promise<Verdict> {
  const faults = new Faults()
  const trust = await runCheck(faults, () => gatherTrust(snapshot, options, faults))
  const { keys, points, mark, ...found } = trust ?? emptyTrust
  const verifier = new LogVerifier(points, keys.map(writeVerifierKey))
  const { origin = '', root = '', ...checked } = await checkRows(snapshot, verifier, faults, options)
  faults.addAll(verifier.faults.list())
  await runCheck(faults, async () => {
    const [head, ...others] = snapshot.run(readHead)
    if (!head || others.length > 0 || head.id !== 1 || head.schema < 1)
      faults.add('end', 'its head does not have exactly one row')
  })
  if (mark > found.signed && mark <= checked.events)
    faults.add('checkpoints', `the checkpoint over ${mark} events is missing`)
  return conclude({
    ...{ origin, root, ...checked, ...found, held: mark },
    faults: faults.list(),
    notHeldReason: 'There is no high-water mark: no evidence from outside the store shows how far the log had come.',
  })
}

interface LogTrust extends Pick<Findings, 'checkpoints' | 'signed' | 'anchored' | 'stamped' | 'uncounted'> {
  readonly keys: readonly VerifierKey[]
  readonly isKeyGiven: boolean
  /** The checkpoints that the log is compared with, smallest first. */
  readonly points: readonly Checkpoint[]
  readonly mark: number
}

const emptyTrust: LogTrust = {
  ...{ checkpoints: 0, signed: 0, anchored: 0, uncounted: [], mark: 0 },
  ...{ keys: [], points: [], isKeyGiven: false },
}

async function gatherTrust(snapshot: Snapshot, options: VerifyStoreOptions, faults: Faults): Promise<LogTrust> {
  const { witnesses = [] } = options
  const { keys, isKeyGiven } = await findVerifierKeys(snapshot, options, faults)
  const stored = snapshot.run(readCheckpoints)
  const trusted = await verifyCheckpoints(stored.map(toGivenCheckpoint), keys, parseVerifierKeys(witnesses), faults)
  for (const [i, { number, size, note }] of stored.entries()) {
    if (number !== i + 1) faults.add('checkpoints', `checkpoint ${i + 1} is missing`)
    if (parseCheckpoint(note)?.size !== size) faults.add('checkpoints', `checkpoint ${number} differs from its row`)
  }
  const mark = await verifyMark(snapshot, options, keys, faults)
  const { anchored, stamped, uncounted } = trusted
  return {
    points: [...trusted.checkpoints, ...(mark ? [mark] : [])].sort((a, b) => a.size - b.size),
    mark: mark?.size ?? 0,
    checkpoints: stored.length,
    signed: trusted.checkpoints.at(-1)?.size ?? 0,
    ...{ keys, isKeyGiven, anchored, stamped, uncounted },
  }
}

function toGivenCheckpoint({ note, anchor }: StoredCheckpoint): GivenCheckpoint {
  return { note, anchor: anchor ?? undefined }
}

/** The keys that must have signed the log. Keys read from the log itself prove only its consistency. */
async function findVerifierKeys(
  snapshot: Snapshot,
  options: VerifyStoreOptions,
  faults: Faults,
): Promise<{ keys: VerifierKey[]; isKeyGiven: boolean }> {
  const own = snapshot.run(readKeyLines)
  if (options.keys) return { keys: parseVerifierKeys(options.keys), isKeyGiven: true }
  const keyring = await openKeyringBeside(snapshot.path, options, faults)
  if (!keyring) return { keys: parseVerifierKeys(own.map(line => line.key)), isKeyGiven: false }
  for (const fault of snapshot.run(() => findUnopenedKeys(keyring))) faults.add('keys', fault)
  const keys = own.map(({ origin }) => createVerifierKey(origin, keyring.signer.publicKey))
  return { keys, isKeyGiven: true }
}

async function openKeyringBeside(
  store: string,
  { entropy, rootKey }: VerifyStoreOptions,
  faults: Faults,
): Promise<Keyring | undefined> {
  const path = keyringPath(store)
  if (!existsSync(path)) return undefined
  try {
    if (holdsRootKey(path)) return await openKeyringFile(path, entropy)
  } catch (error) {
    // A file that may not be read says nothing about the log.
    if (error instanceof AverbaError && error.code === 'STORE_UNSAFE') throw error
    faults.add('keys', error instanceof Error ? error.message : 'the keyring cannot be read')
    return undefined
  }
  // Without the right root key it may fail to open, which says nothing about the log.
  return rootKey && openKeyringFile(path, entropy, rootKey)
}

/** Lines in a damaged log may be malformed and are skipped; given lines were checked before. */
function parseVerifierKeys(lines: readonly string[]): VerifierKey[] {
  return lines.flatMap(line => parseVerifierKey(line.trim()) ?? [])
}

async function verifyMark(
  { path }: Snapshot,
  { mark }: VerifyStoreOptions,
  keys: readonly VerifierKey[],
  faults: Faults,
) {
  const text = mark?.includes('\n') ? mark : readMark(mark ?? markPath(path))
  if (text === undefined) return undefined
  const checkpoint = await verifyCheckpoint(text, keys)
  if (typeof checkpoint !== 'string') return checkpoint
  faults.add('mark', `the high-water mark ${checkpoint}`)
  return undefined
}

function readHead(): Steps<readonly { id: number; schema: number }[]> {
  return rows(db.selectFrom('head').select(['id', 'schema']))
}
