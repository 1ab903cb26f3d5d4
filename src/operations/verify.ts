import { existsSync, statSync } from 'node:fs'
import { parseVerifierKey } from '../proof/note.ts'
import type { Verdict } from '../proof/verdict.ts'
import { verifyBundle } from '../proof/verify-bundle.ts'
import { systemEntropy } from '../runtime/entropy.ts'
import { readMark } from '../store/checkpoints/high-water-mark.ts'
import { type VerifyStoreOptions, verifyStore } from '../store/checks/verify-store.ts'
import { Snapshot } from '../store/database/snapshot.ts'
import { openBundle } from '../store/files/export-log.ts'
import { views } from '../views/views.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { markPath } from '../vocabulary/names.ts'
import { claimedKinds } from './with-store.ts'

/**
 * Verifies a store, which may be in use, or an exported bundle, without writing to it: every signature, the root from
 * the bytes of the headers, every part or what explains that it is gone, and every decision; of a store also that its
 * tables and views say the same.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `INVALID_INPUT`, `STORE_BUSY`, `STORE_UNSAFE`, and `KEYS_MISMATCH`
 * when the root key that is given does not open the keyring
 */
export async function verifyLog(options: VerifyLogOptions): Promise<Verdict> {
  const { store, onProgress, ...others } = options
  for (const line of [...(others.keys ?? []), ...(others.witnesses ?? [])]) checkKeyLine(line)
  checkGivenMark(others.mark)
  if (existsSync(store) && statSync(store).isDirectory()) {
    const { mark: given, ...known } = others
    const mark = given === undefined || given.includes('\n') ? given : readMark(given)
    const progress = onProgress && {
      onProgress: (done: number, end: number) => onProgress('log', done, end),
    }
    return verifyBundle(openBundle(store), { ...known, ...(mark !== undefined && { mark }), ...progress })
  }
  // Before the log: a mark that is written meanwhile is ahead of what is looked at.
  const mark = markNow(others.mark ?? markPath(store))
  const snapshot = await Snapshot.open(store)
  try {
    const given = { ...others, ...(mark !== undefined && { mark }), ...(onProgress && { onProgress }) }
    const all = { ...given, views, claimedKinds, entropy: systemEntropy }
    return await verifyStore(snapshot, all)
  } finally {
    snapshot.close()
  }
}

/** The text of a mark; what cannot be read as one is looked at later, where it is a fault. */
function markNow(mark: string): string | undefined {
  if (mark.includes('\n')) return mark
  try {
    const text = readMark(mark)
    return text?.includes('\n') ? text : undefined
  } catch {
    return undefined
  }
}

/** Whoever names a mark wants the log held against it: a verdict without it would answer another question. */
function checkGivenMark(mark: string | undefined): void {
  if (mark === undefined || mark.includes('\n') || existsSync(mark)) return
  throw new AverbaError('NOT_FOUND', `Cannot hold the log against "${mark}": it is not there`, {
    hint: 'Name the file of a checkpoint that was kept, such as <store>.mark or the file "checkpoint" of a bundle',
  })
}

/** How to verify: the file of a store or the folder of a bundle, and what is known of it from elsewhere. */
export type VerifyLogOptions = { readonly store: string } & Omit<
  VerifyStoreOptions,
  'views' | 'entropy' | 'claimedKinds'
>

function checkKeyLine(line: string): void {
  if (parseVerifierKey(line.trim())) return
  throw new AverbaError('INVALID_INPUT', 'Cannot use a verifier key: it is not a line of an Ed25519 key', {
    hint: 'Such as the line in the file "key" of an exported bundle',
  })
}
