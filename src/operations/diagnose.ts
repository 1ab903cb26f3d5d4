import { existsSync, statSync } from 'node:fs'
import { machines } from '../averba/performers.ts'
import { parseVerifierKey } from '../proof/note.ts'
import type { Verdict } from '../proof/verdict.ts'
import { verifyBundle } from '../proof/verify-bundle.ts'
import { fromInstant, giveWay, systemEntropy, toInstant } from '../runtime/clock.ts'
import { readMark } from '../store/checkpoints/high-water-mark.ts'
import { proveEvent, type WhichEvent } from '../store/checkpoints/prove.ts'
import { type DiagnoseOptions, type Diagnosis, diagnose } from '../store/checks/diagnose.ts'
import { type VerifyStoreOptions, verifyStore } from '../store/checks/verify-store.ts'
import { migrations, statementsFrom } from '../store/database/migrations.ts'
import { Snapshot } from '../store/database/snapshot.ts'
import { type BackupMade, type BackupOptions, makeBackup } from '../store/files/backup.ts'
import { type Exported, exportLog, openSigned, readExported } from '../store/files/export-log.ts'
import { readFacts } from '../store/log/facts.ts'
import { readPage } from '../store/log/read.ts'
import type { RebuildAll } from '../store/views/rebuild-all.ts'
import type { Rebuilt } from '../store/views/rebuilder.ts'
import { views } from '../views/views.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import type { Instant } from '../vocabulary/message.ts'
import { claimedKinds } from './claimed-kinds.ts'
import { type Replayed, type ReplayOptions, replay } from './replay.ts'
import { type OpenedWith, withStore } from './with-store.ts'

type OnProgress = NonNullable<BackupOptions['onProgress']>

/**
 * Copies a store, which may be in use, into one file that was checked. The keyring is not in it: keep it apart.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `INVALID_INPUT`, `STORE_BUSY`, `STORE_UNSAFE`, `CORRUPT`
 */
export function backupStore(options: {
  store: string
  to: string
  onProgress?: OnProgress
}): Promise<BackupMade> {
  return makeBackup({ ...options, entropy: systemEntropy })
}

/**
 * Looks at a store, which may be in use, without writing to it: how large it is, how it grows, what is owed and
 * what is wrong. `isDeep` compares everything in it with everything else; `keys` names the keyring of a backup.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `STORE_BUSY`, `STORE_UNSAFE`, `CORRUPT`
 */
export function diagnoseStore(options: {
  store: string
  keys?: string
  isDeep?: boolean
  onProgress?: NonNullable<DiagnoseOptions['onProgress']>
  signal?: AbortSignal
}): Promise<Diagnosis> {
  return diagnose({ ...options, views, claimedKinds, entropy: systemEntropy })
}

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
      onProgress: (done: number, end: number) => onProgress('proof', done, end),
    }
    return verifyBundle(readExported(store), { ...known, ...(mark !== undefined && { mark }), ...progress })
  }
  // Before the log: a mark that is written meanwhile is ahead of what is looked at.
  const mark = markNow(others.mark ?? `${store}.mark`)
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

/**
 * Writes a log, which may be in use, to a new folder that anyone can verify without it, up to a checkpoint that is
 * signed for it now.
 *
 * @throws {AverbaError} `INVALID_INPUT` when something is in the folder, and as `openAverba`
 */
export async function exportBundle(options: OpenedWith & ExportTo): Promise<Exported> {
  return exportUpTo(options, () => withStore(options, store => store.checkpoint()))
}

/** Writes a log to a new folder, up to a checkpoint that `sign` makes. */
export async function exportUpTo(
  { store, dir, onProgress }: { store: string } & ExportTo,
  sign: () => Promise<unknown>,
): Promise<Exported> {
  const snapshot = await openSigned(store, sign)
  try {
    return await exportLog(snapshot, dir, onProgress)
  } finally {
    snapshot.close()
  }
}

interface ExportTo {
  readonly dir: string
  readonly onProgress?: (done: number, end: number) => void
}

/**
 * The proof that an event of a log, which may be in use, is in it: one file of C2SP tlog-proof, up to a checkpoint that
 * is signed for it now.
 *
 * @throws {AverbaError} `NOT_FOUND`, and as `openAverba`
 */
export function proveRecorded(options: OpenedWith & { event: WhichEvent }): Promise<string> {
  return withStore(options, async store => {
    await store.checkpoint()
    return store.reader.read(() => proveEvent(options.event))
  })
}

/**
 * Makes every recorded decision of a log again, which may be in use, and tells the first one that comes out
 * differently.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `INVALID_INPUT`, `STORE_BUSY`, `STORE_UNSAFE`, `CORRUPT`
 */
export async function replayLog(options: ReplayLogOptions): Promise<Replayed> {
  const { store, until, onProgress, ...others } = options
  const to = typeof until === 'string' ? parseInstant(until) : until
  const snapshot = await Snapshot.open(store)
  try {
    const end = snapshot.run(readFacts).position
    const pages = async function* () {
      for (let after = 0; ; ) {
        const page = snapshot.run(() => readPage({}, { after }))
        if (page.length === 0) return
        yield page
        after = page.at(-1)?.position ?? after
        onProgress?.(after, end)
        await giveWay()
      }
    }
    return await replay(pages(), machines, { ...others, ...(to !== undefined && { until: to }) })
  } finally {
    snapshot.close()
  }
}

/** How to replay a log. */
export interface ReplayLogOptions extends ReplayOptions {
  readonly store: string
  readonly onProgress?: (position: number, end: number) => void
}

/**
 * Builds views of a store, which may be in use, anew, and tells how the rows that served differed.
 *
 * @throws {AverbaError} `NOT_FOUND`, `STORE_BUSY` when another process rebuilds the same view, and as `openAverba`
 */
export function rebuildStore(options: OpenedWith & RebuildAll): Promise<Rebuilt[]> {
  return withStore(options, store => store.rebuild(options))
}

/**
 * The statements that bring the tables of a store from a version to today's, as opening it would run them.
 *
 * @throws {AverbaError} `INVALID_INPUT`
 */
export function migrationsFrom(version: number, dialect: string): string[] {
  const isKnown = Number.isInteger(version) && version >= 0 && version <= migrations.length
  if (isKnown && (dialect === 'sqlite' || dialect === 'postgres')) return statementsFrom(version, dialect)
  throw new AverbaError(
    'INVALID_INPUT',
    'Cannot print the migrations: the version or the dialect is unknown',
    {
      hint: `Versions are 0 to ${migrations.length}, dialects sqlite and postgres`,
    },
  )
}

function parseInstant(text: string): Instant {
  const ms = /^\d{4}-\d{2}-\d{2}(T[\d:.]+Z)?$/.test(text) ? fromInstant(text) : Number.NaN
  if (!Number.isNaN(ms)) return toInstant(ms)
  throw new AverbaError('INVALID_INPUT', 'Cannot read the instant: it is not a day or an instant in UTC', {
    hint: 'Give it as 2026-01-31 or 2026-01-31T00:00:00.000Z',
  })
}

function checkKeyLine(line: string): void {
  if (parseVerifierKey(line.trim())) return
  throw new AverbaError('INVALID_INPUT', 'Cannot use a verifier key: it is not a line of an Ed25519 key', {
    hint: 'Such as the line in the file "key" of an exported bundle',
  })
}
