import { systemEntropy } from '../runtime/entropy.ts'
import { type DiagnoseOptions, type Diagnosis, diagnose } from '../store/checks/diagnose.ts'
import { migrationStatements, migrations } from '../store/database/migrations.ts'
import type { RebuildAll } from '../store/views/rebuild-all.ts'
import type { RebuildResult } from '../store/views/rebuilder.ts'
import { views } from '../views/views.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { claimedKinds, type OpenedWith, withStore } from './with-store.ts'

/**
 * Diagnoses a store, which may be in use, without writing to it: its size and growth, pending calls and faults.
 * `isDeep` compares everything in it with everything else; `keys` names the keyring of a backup.
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
 * Rebuilds views of a store, which may be in use, and reports how their rows differed.
 *
 * @throws {AverbaError} `NOT_FOUND`, `STORE_BUSY` when another process rebuilds the same view, and as `openAverba`
 */
export function rebuildStore(options: OpenedWith & RebuildAll): Promise<RebuildResult[]> {
  return withStore(options, store => store.rebuild(options))
}

/**
 * The statements that migrate the tables of a store from a version to the current one, as opening it does.
 *
 * @throws {AverbaError} `INVALID_INPUT`
 */
export function migrationsFrom(version: number, dialect: string): string[] {
  const isKnown = Number.isInteger(version) && version >= 0 && version <= migrations.length
  if (isKnown && (dialect === 'sqlite' || dialect === 'postgres')) return migrationStatements(version, dialect)
  throw new AverbaError('INVALID_INPUT', 'Cannot print the migrations: the version or the dialect is unknown', {
    hint: `Versions are 0 to ${migrations.length}, dialects sqlite and postgres`,
  })
}
