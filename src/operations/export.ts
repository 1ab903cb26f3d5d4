import { type ExportResult, exportLog, openSignedSnapshot } from '../store/files/export-log.ts'
import { type OpenedWith, withStore } from './with-store.ts'

/**
 * Exports a log, which may be in use, to a new folder that anyone can verify, up to a checkpoint that it signs now.
 *
 * @throws {AverbaError} `INVALID_INPUT` when the folder is not empty, and as `openAverba`
 */
export async function exportBundle(options: OpenedWith & ExportTo): Promise<ExportResult> {
  return exportUpTo(options, () => withStore(options, store => store.checkpoint()))
}

/** Exports a log to a new folder, up to a checkpoint that `sign` makes. */
export async function exportUpTo(
  { store, dir, onProgress }: { store: string } & ExportTo,
  sign: () => Promise<unknown>,
): Promise<ExportResult> {
  const snapshot = await openSignedSnapshot(store, sign)
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
