import { readFileSync } from 'node:fs'
import {
  createVerifierKey,
  parseCheckpoint,
  parseNote,
  type Signer,
  signNote,
  writeVerifierKey,
} from '../../proof/note.ts'
import { logStream, resumedType } from '../../proof/recorded-header.ts'
import { type Entropy, systemEntropy } from '../../runtime/entropy.ts'
import { replaceDurably } from '../../vault/durable-file.ts'
import type { Keyring } from '../../vault/keyring.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { isOnPostgres, markPath } from '../../vocabulary/names.ts'
import { first, rows, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import type { HeaderReader } from '../log/header.ts'
import { endOfLog, eventsOf, headerColumns } from '../log/read.ts'
import { rootAt } from '../log/tree.ts'
import { findLengthFault, findLostErasures } from '../owners/keyring-faults.ts'
import type { HighWaterMark, StoreOptions } from '../store-options.ts'
import { type Append, logEvent } from '../writing/append.ts'
import { damagedMark, findMarkFault, readOrigin } from './checkpoints.ts'

/** Returns the mark of a store: the host's own, or a file beside the store. A log in memory has none. */
export function resolveMark(
  options: Pick<StoreOptions, 'path' | 'highWaterMark'> & Partial<Pick<StoreOptions, 'entropy'>>,
): HighWaterMark | undefined {
  const { path, highWaterMark, entropy } = options
  if (highWaterMark || path === ':memory:' || isOnPostgres(path)) return highWaterMark
  return createFileMark(markPath(path), entropy)
}

/** Stores the mark in a file, which is replaced atomically. */
export function createFileMark(path: string, entropy: Entropy = systemEntropy): HighWaterMark {
  return {
    async read() {
      return readMark(path)
    },
    async write(checkpoint) {
      // Others may write at the same time; in containers, processes have the same id.
      replaceDurably(path, checkpoint, Buffer.from(entropy.bytes(8)).toString('hex'))
    },
  }
}

/** Reads the file of a mark; `undefined` when it does not exist. */
export function readMark(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw new AverbaError('STORE_UNSAFE', `Cannot read the high-water mark "${path}"`, { cause })
  }
}

/** The error for a log that is behind what is known of it outside. */
function rolledBackError(path: string, fault: string): AverbaError {
  const isOnlyMark = fault === damagedMark
  return new AverbaError('ROLLED_BACK', `Cannot open "${path}": ${fault}`, {
    hint: isOnlyMark
      ? 'Move the mark away and keep it. Then averba verify has to say self-consistent, and with --key held'
      : 'Find the newest copy of the log. If it is lost, averba restore --accept-rollback continues from a backup of a file, and averba resume where a server put the log back',
  })
}

/** What a log records when it continues after an accepted restore. */
export interface ResumeRecord {
  /** The log's new name; `key` is the verifier key line of its checkpoints. */
  readonly origin: string
  readonly key: string
  /** The name of the log that it continues, its number of events and their root. */
  readonly before: string
  readonly size: number
  readonly root: string
  /** The high-water mark that the restored log is behind, if any. */
  readonly lost?: { readonly size: number; readonly root: string }
  /** How many erasures the restore undid, and when the first was: these subjects have to be erased again. */
  readonly lostErasures?: { readonly count: number; readonly since: Instant }
}

export function verifierKeyLine(origin: string, signer: Signer): string {
  return writeVerifierKey(createVerifierKey(origin, signer.publicKey))
}

/**
 * Refuses a log that contradicts its mark, or what its keyring remembers. Another signer's mark is of another log.
 *
 * @throws {AverbaError} `ROLLED_BACK`
 */
export function* checkAgainstMark(
  path: string,
  headers: HeaderReader,
  keyring: Pick<Keyring, 'signer' | 'size'>,
  mark: string | undefined,
): Steps<void> {
  const fault =
    mark === undefined
      ? undefined
      : (findSignerFault(keyring.signer, mark) ?? (yield* findMarkContradiction(headers, mark)))
  const found = fault ?? (yield* findLengthFault(keyring))
  if (found !== undefined) throw rolledBackError(path, found)
}

/** Describes why the signer of a keyring cannot have made a mark; `undefined` if it did. */
export function findSignerFault(signer: Signer, mark: string): string | undefined {
  if (!parseCheckpoint(mark)) return damagedMark
  return isSignedBy(signer, mark) ? undefined : 'its high-water mark is that of another log'
}

/** Makes the event with which a restored log continues. Pending effects become due, to be handled before new ones. */
export function* resumeLog(
  headers: HeaderReader,
  keyring: Pick<Keyring, 'signer' | 'erased'>,
  { clock, createId }: Pick<StoreOptions, 'clock' | 'createId'>,
  mark: string | undefined,
): Steps<Append> {
  const { signer, erased } = keyring
  const size = yield* endOfLog()
  const root = (yield* rootAt(size)) ?? ''
  const lost = mark === undefined ? undefined : parseCheckpoint(mark)
  const erasures = yield* findLostErasures(headers, erased)
  const since = erasures[0]?.at
  const origin = `log_${createId()}`
  const data: ResumeRecord = {
    origin,
    key: verifierKeyLine(origin, signer),
    before: yield* readOrigin(headers),
    size,
    root,
    ...(lost && lost.size > size && { lost: { size: lost.size, root: lost.root } }),
    ...(since !== undefined && { lostErasures: { count: erasures.length, since } }),
  }
  const at = toInstant(clock.now())
  const streams = [{ stream: logStream, expect: 'exists' }] as const
  return { at, streams, events: [logEvent(resumedType, 'log.resume', data)], end: size }
}

/** Reads the last accepted restore and its position; `undefined` when there was none. */
export function* readLastResume(headers: HeaderReader): Steps<{ position: number; resumed: ResumeRecord } | undefined> {
  const query = eventsOf(logStream).where('event.type', '=', resumedType).orderBy('event.version', 'desc')
  const found = yield* first(query.select(headerColumns).limit(1))
  return found && { position: found.position, resumed: headers.parse(found).data }
}

/** Whether a signer has signed a checkpoint: signs again and compares, so that no other thread delays the opening. */
export function isSignedBy(signer: Signer, checkpoint: string): boolean {
  const note = parseNote(checkpoint)
  const { origin = '' } = parseCheckpoint(checkpoint) ?? {}
  const [own] = (note && parseNote(signNote(note.text, origin, signer))?.signatures) ?? []
  if (!note || !own) return false
  return note.signatures.some(each => {
    const isOwn = each.name === own.name && each.id === own.id
    return isOwn && Buffer.from(each.signature).equals(own.signature)
  })
}

/** Describes how the log contradicts its high-water mark, whoever signed it; `undefined` if it does not. */
export function* findMarkContradiction(headers: HeaderReader, mark: string): Steps<string | undefined> {
  const checkpoint = parseCheckpoint(mark)
  const lost = (yield* readLastResume(headers))?.resumed.lost
  // A crash between the event of the accepted restore and its mark left the old mark.
  if (lost && lost.size === checkpoint?.size && lost.root === checkpoint.root) return undefined
  return yield* findMarkFault(mark)
}

/** Effects on keys keep their due times, which depend on the age of backups. */
export function* makeEffectsDue(at: Instant): Steps<void> {
  const later = db
    .updateTable('effect')
    .set({ due_at: at })
    .where('is_open', '=', eb => eb.lit(1))
    .where('due_at', '>', at)
  const waiting = later.where('state', 'in', ['pending', 'deferred', 'started'])
  yield* rows(waiting.where('type', 'not like', 'keys.%'))
}
