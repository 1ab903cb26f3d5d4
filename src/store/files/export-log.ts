import { createReadStream, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { absenceTypes } from '../../proof/log-verifier.ts'
import type { BundleFile, ReadFile } from '../../proof/verify-bundle.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { asFileError } from '../../vocabulary/file-errors.ts'
import { readCheckpoints, readKeyLines, readOrigin } from '../checkpoints/checkpoints.ts'
import { first, rows, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import { Snapshot } from '../database/snapshot.ts'
import { isAfterPart, type PartPlace } from '../parts/parts.ts'
import { exportReadme } from './export-readme.ts'

/** The contents of an export. */
export interface ExportResult {
  readonly dir: string
  readonly origin: string
  readonly events: number
  readonly parts: number
  readonly checkpoints: number
}

const exportPageRows = 100
/** How often to sign again because parts were destroyed meanwhile. Each time, all cosigners sign. */
const signAttemptsMax = 10

/**
 * Opens a log for `exportLog`. The newest checkpoint must cover every event that destroys parts: otherwise a part would
 * be missing in the export without a reason.
 *
 * @throws {AverbaError} `STORE_BUSY` while parts keep being destroyed
 */
export async function openSignedSnapshot(path: string, sign: () => Promise<unknown>): Promise<Snapshot> {
  for (let signed = 0; signed < signAttemptsMax; signed++) {
    await sign()
    const snapshot = await Snapshot.open(path)
    try {
      if (!snapshot.run(readDestroyedSince)) return snapshot
    } catch (error) {
      snapshot.close()
      throw error
    }
    snapshot.close()
  }
  throw new AverbaError('STORE_BUSY', 'Cannot export: parts keep being destroyed', {
    hint: 'Export again when the running erasures or retention have ended',
  })
}

/**
 * Writes the log up to its newest checkpoint to a folder that anyone can verify.
 *
 * @throws {AverbaError} `INVALID_INPUT` when the folder is not empty, or there is no checkpoint, `STORE_UNSAFE` when a
 * file cannot be written
 */
export async function exportLog(
  snapshot: Snapshot,
  dir: string,
  onProgress: (done: number, end: number) => void = () => undefined,
): Promise<ExportResult> {
  if (isOccupied(dir))
    throw new AverbaError('INVALID_INPUT', `Cannot export to "${dir}": it is not an empty folder`, {
      hint: 'Choose a new or empty folder: nothing is overwritten',
    })
  const checkpoints = snapshot.run(readCheckpoints)
  const newest = checkpoints.at(-1)
  if (!newest)
    throw new AverbaError('INVALID_INPUT', `Cannot export "${snapshot.path}": it has no checkpoint`, {
      hint: 'Close the log first: that signs a checkpoint',
    })
  makeFolder(dir)
  const { size } = newest
  const written: string[] = []
  const writeFile = (name: string, texts: Iterable<string>) =>
    writeLines(join(dir, name), texts, () => written.push(name))
  let parts = 0
  const origin = snapshot.run(readOrigin)
  try {
    await writeFile('key', new Set(snapshot.run(readKeyLines).map(({ key }) => `${key}\n`)))
    await writeFile('checkpoints.ndjson', checkpoints.map(checkpointLine))
    await writeFile('leaves.ndjson', leafLines(snapshot, size, onProgress))
    await writeFile(
      'parts.ndjson',
      partLines(snapshot, size, () => (parts += 1)),
    )
    await writeFile('README', [exportReadme({ origin, size })])
    // Written last: a folder without it is incomplete.
    await writeFile('checkpoint', [newest.note])
  } catch (error) {
    // Remove the incomplete files, so that the next export can use the folder.
    for (const name of written) rmSync(join(dir, name), { force: true })
    throw error
  }
  return { dir, origin, events: size, parts, checkpoints: checkpoints.length }
}

function isOccupied(dir: string): boolean {
  try {
    return existsSync(dir) && (!statSync(dir).isDirectory() || readdirSync(dir).length > 0)
  } catch (cause) {
    throw asFileError('read', dir, cause)
  }
}

function makeFolder(dir: string): void {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw asFileError('write', dir, cause)
  }
}

const bundleFiles: readonly BundleFile[] = ['checkpoint', 'key', 'leaves.ndjson', 'parts.ndjson', 'checkpoints.ndjson']

/**
 * Opens an exported folder. The returned function reads its files.
 *
 * @throws {AverbaError} `NOT_OURS` when the folder has none of the files, `STORE_UNSAFE` when one cannot be read
 */
export function openBundle(dir: string): ReadFile {
  const exists = (name: string) => {
    try {
      return statSync(join(dir, name), { throwIfNoEntry: false }) !== undefined
    } catch (cause) {
      throw asFileError('read', join(dir, name), cause)
    }
  }
  const present = new Set(bundleFiles.filter(exists))
  if (present.size === 0)
    throw new AverbaError('NOT_OURS', `Cannot verify "${dir}": the folder holds no export of a log`, {
      hint: 'Name the file of a log, or a folder written by averba export',
    })
  return name => (present.has(name) ? readFileBytes(join(dir, name)) : undefined)
}

async function* readFileBytes(path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path)
  } catch (cause) {
    throw asFileError('read', path, cause)
  }
}

function checkpointLine({ note, anchor }: { note: string; anchor: Uint8Array | null }): string {
  return `${JSON.stringify({ note, ...(anchor && { anchor: Buffer.from(anchor).toString('base64') }) })}\n`
}

function* leafLines(
  snapshot: Snapshot,
  size: number,
  onProgress: (done: number, end: number) => void,
): Iterable<string> {
  for (let after = 0; after < size; ) {
    const page = snapshot.run(() => readLeaves(after, size))
    if (page.length === 0) return
    for (const { header } of page) yield `${header}\n`
    after += page.length
    onProgress(after, size)
  }
}

function* partLines(snapshot: Snapshot, size: number, onPart: () => void): Iterable<string> {
  let last = { position: 0, name: '' }
  for (;;) {
    const page = snapshot.run(() => readParts(last, size))
    for (const { sealed, ...place } of page) {
      onPart()
      yield `${JSON.stringify({ ...place, sealed: Buffer.from(sealed).toString('base64') })}\n`
    }
    const end = page.at(-1)
    if (!end) return
    last = end
  }
}

async function writeLines(path: string, texts: Iterable<string>, onMade: () => void): Promise<void> {
  try {
    await appendLines(await open(path, 'wx', 0o600), texts, onMade)
  } catch (cause) {
    throw asFileError('write', path, cause)
  }
}

async function appendLines(file: FileHandle, texts: Iterable<string>, onMade: () => void): Promise<void> {
  onMade()
  try {
    let buffer: string[] = []
    for (const text of texts) {
      buffer.push(text)
      if (buffer.length < exportPageRows) continue
      await file.appendFile(buffer.join(''))
      buffer = []
    }
    await file.appendFile(buffer.join(''))
    await file.sync()
  } finally {
    await file.close()
  }
}

function readLeaves(after: number, size: number): Steps<readonly { header: string }[]> {
  const query = db.selectFrom('event').select('header').where('position', '>', after).where('position', '<=', size)
  return rows(query.orderBy('position').limit(exportPageRows))
}

function* readDestroyedSince(): Steps<boolean> {
  const query = db.selectFrom('event').select('position').where('type', 'in', absenceTypes).limit(1)
  const newest = db.selectFrom('checkpoint').select(({ fn }) => fn.max('size').as('size'))
  return (yield* first(query.where('position', '>', newest))) !== undefined
}

function readParts(last: PartPlace, size: number) {
  return rows(
    db
      .selectFrom('part')
      .innerJoin('owner_key', 'owner_key.key', 'part.owner')
      .select(['part.position', 'part.name', 'owner_key.owner', 'part.sealed'])
      .where(isAfterPart(last))
      .where('part.position', '<=', size)
      .orderBy('part.position')
      .orderBy('part.name')
      .limit(exportPageRows),
  )
}
