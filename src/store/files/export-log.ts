import { createReadStream, existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { absenceTypes } from '../../proof/log-verifier.ts'
import type { BundleFile, ReadFile } from '../../proof/verify-bundle.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { asFileError, withFileErrors } from '../../vocabulary/file-errors.ts'
import { makeFolder } from '../../vocabulary/make-folder.ts'
import { readCheckpoints, readKeyLines, readOrigin } from '../checkpoints/checkpoints.ts'
import { first, readPages, type Steps } from '../database/connection.ts'
import { type LogPlace, openReading } from '../database/log-place.ts'
import type { Reading } from '../database/reading.ts'
import { db } from '../database/schema.ts'
import { untaggedHeaders } from '../log/header.ts'
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
const partPageRows = 10
/** How often to sign again because parts were destroyed meanwhile. Each time, all cosigners sign. */
const signAttemptsMax = 10

/**
 * Opens a log for `exportLog`. The newest checkpoint must cover every event that destroys parts: otherwise a part would
 * be missing in the export without a reason.
 *
 * @throws {AverbaError} `STORE_BUSY` while parts keep being destroyed
 */
export async function openSigned(place: LogPlace, sign: () => Promise<unknown>): Promise<Reading> {
  for (let signed = 0; signed < signAttemptsMax; signed++) {
    await sign()
    const reading = await openReading(place)
    try {
      if (!(await reading.read(readDestroyedSince))) return reading
    } catch (error) {
      await reading.close()
      throw error
    }
    await reading.close()
  }
  throw new AverbaError('STORE_BUSY', 'Cannot export: parts keep being destroyed', {
    hint: 'Export again when the running erasures or retention have ended',
  })
}

/**
 * Writes the log up to its newest checkpoint to a folder that anyone can verify.
 *
 * @throws {AverbaError} `INVALID_INPUT` when the folder is not empty, or without a checkpoint; `STORE_UNSAFE`
 */
export async function exportLog(
  reading: Reading,
  dir: string,
  onProgress: (done: number, end: number) => void = () => undefined,
): Promise<ExportResult> {
  if (isOccupied(dir))
    throw new AverbaError('INVALID_INPUT', `Cannot export to "${dir}": it is not an empty folder`, {
      hint: 'Choose a new or empty folder: nothing is overwritten',
    })
  const checkpoints = await reading.read(readCheckpoints)
  const newest = checkpoints.at(-1)
  if (!newest)
    throw new AverbaError('INVALID_INPUT', `Cannot export "${reading.name}": it has no checkpoint`, {
      hint: 'Close the log first: that signs a checkpoint',
    })
  withFileErrors('write', dir, () => makeFolder(dir, 0o700))
  const { size } = newest
  const written: string[] = []
  const write = async (name: string, texts: Iterable<string> | AsyncIterable<string>) => {
    const path = join(dir, name)
    await writeTexts(path, texts, () => written.push(path)).catch(cause => {
      throw asFileError('write', path, cause)
    })
  }
  let parts = 0
  const onParts = (count: number) => {
    parts += count
  }
  const origin = await reading.read(() => readOrigin(untaggedHeaders))
  try {
    const keys = await reading.read(() => readKeyLines(untaggedHeaders))
    await write('key', new Set(keys.map(({ key }) => `${key}\n`)))
    await write('checkpoints.ndjson', checkpoints.map(checkpointLine))
    await write('leaves.ndjson', leafPages(reading, size, onProgress))
    await write('parts.ndjson', partPages(reading, size, onParts))
    await write('README', [exportReadme({ origin, size })])
    // Written last: a folder without it is incomplete.
    await write('checkpoint', [newest.note])
  } catch (error) {
    // Remove the incomplete files, so that the next export can use the folder.
    for (const path of written) rmSync(path, { force: true })
    throw error
  }
  return { dir, origin, events: size, parts, checkpoints: checkpoints.length }
}

function isOccupied(dir: string): boolean {
  const isUsed = () => existsSync(dir) && (!statSync(dir).isDirectory() || readdirSync(dir).length > 0)
  return withFileErrors('read', dir, isUsed)
}

const bundleFiles: readonly BundleFile[] = ['checkpoint', 'key', 'leaves.ndjson', 'parts.ndjson', 'checkpoints.ndjson']

/**
 * Opens an exported folder. The returned function reads its files.
 *
 * @throws {AverbaError} `NOT_OURS` when the folder has none of the files, `STORE_UNSAFE` when one cannot be read
 */
export function openBundle(dir: string): ReadFile {
  const hint = 'Name the file of a log, or a folder written by averba export'
  const exists = (name: string) => {
    const path = join(dir, name)
    const found = withFileErrors('read', path, () => statSync(path, { throwIfNoEntry: false }))
    // A pipe would be waited for, and a device may have no end.
    if (found && !found.isFile())
      throw new AverbaError('STORE_UNSAFE', `Cannot read "${path}": it is not a file`, { hint, path })
    return found !== undefined
  }
  const present = new Set(bundleFiles.filter(exists))
  if (present.size === 0)
    throw new AverbaError('NOT_OURS', `Cannot verify "${dir}": the folder holds no export of a log`, { hint })
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

async function* leafPages(reading: Reading, size: number, onProgress: (done: number, end: number) => void) {
  const leaves = db.selectFrom('event').select(['position', 'header']).where('position', '<=', size)
  const ordered = leaves.orderBy('position').limit(exportPageRows)
  const leavesAfter = (last?: { position: number }) => ordered.where('position', '>', last?.position ?? 0)
  for await (const page of readPages(reading, leavesAfter)) {
    yield page.map(({ header }) => `${header}\n`).join('')
    onProgress(page.at(-1)?.position ?? 0, size)
  }
}

async function* partPages(reading: Reading, size: number, onParts: (count: number) => void) {
  const partsAfter = (last: PartPlace = { position: 0, name: '' }) =>
    db
      .selectFrom('part')
      .innerJoin('owner_key', 'owner_key.key', 'part.owner')
      .select(['part.position', 'part.name', 'owner_key.owner', 'part.sealed'])
      .where(isAfterPart(last))
      .where('part.position', '<=', size)
      .orderBy('part.position')
      .orderBy('part.name')
      .limit(partPageRows)
  for await (const page of readPages(reading, partsAfter)) {
    // Each by itself: one part may take more than a hundred megabytes.
    for (const part of page)
      yield `${JSON.stringify({ ...part, sealed: Buffer.from(part.sealed).toString('base64') })}\n`
    onParts(page.length)
  }
}

/** Writes a new file, durable when it returns. `onMade` is called as soon as it exists. */
async function writeTexts(
  path: string,
  texts: Iterable<string> | AsyncIterable<string>,
  onMade: () => void,
): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  onMade()
  try {
    for await (const text of texts) await file.appendFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

function* readDestroyedSince(): Steps<boolean> {
  const query = db.selectFrom('event').select('position').where('type', 'in', absenceTypes).limit(1)
  const newest = db.selectFrom('checkpoint').select(({ fn }) => fn.max('size').as('size'))
  return (yield* first(query.where('position', '>', newest))) !== undefined
}
