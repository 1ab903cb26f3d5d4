import { parseCheckpoint } from '../../proof/checkpoint.ts'
import { logStream, resumedType } from '../../proof/log-stream.ts'
import {
  createVerifierKey,
  parseNote,
  type SignedNote,
  type Signer,
  signNote,
  writeVerifierKey,
} from '../../proof/note.ts'
import type { Keyring } from '../../vault/keyring.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { type Connection, first, rows, type Steps } from '../database/connection.ts'
import { parseHeader } from '../log/header.ts'
import { treeHead } from '../log/tree.ts'
import { findLostErasures } from '../owners/lost-erasures.ts'
import type { HighWaterMark, StoreOptions } from '../store-options.ts'
import { type Append, logEvent } from '../writing/append.ts'
import { damagedMark, findMarkFault, readOrigin } from './checkpoints.ts'
import { rolledBackError } from './high-water-mark.ts'

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

/** Returns the verifier key line of a log with this name. */
export function verifierKeyLine(origin: string, signer: Signer): string {
  return writeVerifierKey(createVerifierKey(origin, signer.publicKey))
}

interface MarkComparison {
  readonly connection: Connection
  readonly keyring: Pick<Keyring, 'signer' | 'erased'>
  readonly options: Pick<StoreOptions, 'path' | 'clock' | 'createId' | 'acceptRollback'>
  readonly mark: HighWaterMark | undefined
  readonly append: (input: Append) => Promise<unknown>
}

/**
 * Refuses a log that contradicts its high-water mark. If the rollback was accepted, records that the log continues.
 *
 * @throws {AverbaError} `ROLLED_BACK`
 */
export async function checkAgainstMark({ connection, keyring, options, mark, append }: MarkComparison): Promise<void> {
  const { path, clock, createId, acceptRollback = false } = options
  const newest = await mark?.read()
  if (acceptRollback) {
    const at = toInstant(clock.now())
    await append(await connection.transact(() => resumeEvent(`log_${createId()}`, keyring, at, newest)))
  } else if (newest !== undefined) {
    const fault = await findMarkProblem(connection, keyring.signer, newest)
    if (fault !== undefined) throw rolledBackError(path, fault)
  }
}

/** Makes the first event of a restored log. Pending effects become due, so that they are handled before new ones. */
function* resumeEvent(origin: string, keyring: MarkComparison['keyring'], at: Instant, mark?: string): Steps<Append> {
  const { size, root = '' } = yield* treeHead()
  const lost = mark === undefined ? undefined : parseCheckpoint(mark)
  const erasures = yield* findLostErasures(keyring.erased)
  const since = erasures[0]?.at
  const data: ResumeRecord = {
    origin,
    key: verifierKeyLine(origin, keyring.signer),
    before: yield* readOrigin(),
    size,
    root,
    ...(lost && lost.size > size && { lost: { size: lost.size, root: lost.root } }),
    ...(since !== undefined && { lostErasures: { count: erasures.length, since } }),
  }
  yield* rows({ sql: makeDue, parameters: [at, at] })
  return {
    at,
    streams: [{ stream: logStream, expect: 'exists' }],
    events: [logEvent(resumedType, 'log.resume', data)],
  }
}

/** Reads the last accepted restore and its position; `undefined` when there was none. */
export function* readLastResume(): Steps<{ position: number; resumed: ResumeRecord } | undefined> {
  const found = yield* first<{ position: number; header: string }>({
    sql: selectResumed,
    parameters: [logStream, resumedType],
  })
  return found && { position: found.position, resumed: parseHeader(found.header).data }
}

/**
 * Describes how the log contradicts its high-water mark; `undefined` if it does not.
 *
 * @param signer the signer of the log's keyring: a mark by another signer belongs to another log
 */
async function findMarkProblem(
  connection: Pick<Connection, 'read'>,
  signer: Signer,
  mark: string,
): Promise<string | undefined> {
  const note = parseNote(mark)
  const checkpoint = parseCheckpoint(mark)
  if (!note || !checkpoint) return damagedMark
  if (!isSignedBy(signer, note, checkpoint.origin)) return 'its high-water mark is that of another log'
  return connection.read(() => findMarkContradiction(mark))
}

/**
 * Checks the signature by signing again, since Ed25519 is deterministic. Unlike a verification this runs synchronously,
 * so that opening a log does not depend on the timing of other threads.
 */
function isSignedBy(signer: Signer, { text, signatures }: SignedNote, name: string): boolean {
  const [own] = parseNote(signNote(text, name, signer))?.signatures ?? []
  if (!own) return false
  return signatures.some(each => {
    const isOwn = each.name === own.name && each.id === own.id
    return isOwn && Buffer.from(each.signature).equals(own.signature)
  })
}

/** Like `findMarkProblem`, but without checking who signed the mark. */
export function* findMarkContradiction(mark: string): Steps<string | undefined> {
  const checkpoint = parseCheckpoint(mark)
  const lost = (yield* readLastResume())?.resumed.lost
  // A crash between the event of the accepted restore and its mark left the old mark.
  if (lost && lost.size === checkpoint?.size && lost.root === checkpoint.root) return undefined
  return yield* findMarkFault(mark)
}

/** Effects on keys keep their due times, which depend on the age of backups. */
const makeDue = `update effect set due_at = ? where is_open = 1 and due_at > ?
  and state in ('pending', 'deferred', 'started') and type not like 'keys.%'`
const selectResumed = `select event.position, event.header from event join stream on stream.key = event.stream
  where stream.name = ? and event.type = ? order by event.version desc limit 1`
