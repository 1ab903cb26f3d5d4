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

/** What a log records when it goes on after an accepted restore. */
export interface ResumeRecord {
  /** Its new name, and the verifier key line of its checkpoints. */
  readonly origin: string
  readonly key: string
  /** The log that it continues: its name, its number of events and the root over them. */
  readonly before: string
  readonly size: number
  readonly root: string
  /** The mark that it is behind, where there was one. */
  readonly lost?: { readonly size: number; readonly root: string }
  /**
   * How many erasures are lost with it, and when the first was: these persons are back, and have to be erased again.
   */
  readonly lostErasures?: { readonly count: number; readonly since: Instant }
}

/** The verifier key line of a log of this name. */
export function verifierKeyLine(origin: string, signer: Signer): string {
  return writeVerifierKey(createVerifierKey(origin, signer.publicKey))
}

/** What is compared with a mark. */
interface MarkComparison {
  readonly connection: Connection
  readonly keyring: Pick<Keyring, 'signer' | 'erased'>
  readonly options: Pick<StoreOptions, 'path' | 'clock' | 'createId' | 'acceptRollback'>
  readonly mark: HighWaterMark | undefined
  readonly append: (input: Append) => Promise<unknown>
}

/**
 * Refuses a log that contradicts its high-water mark, or goes on from what there is where that was accepted.
 *
 * @throws {AverbaError} `ROLLED_BACK`
 */
export async function checkAgainstMark({
  connection,
  keyring,
  options,
  mark,
  append,
}: MarkComparison): Promise<void> {
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

/** The event with which a restored log goes on. Owed calls come due, so that they are looked at before anything new. */
function* resumeEvent(
  origin: string,
  keyring: MarkComparison['keyring'],
  at: Instant,
  mark?: string,
): Steps<Append> {
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

/** The position of the last restore that was accepted, and what it says; `undefined` when there was none. */
export function* readLastResume(): Steps<{ position: number; resumed: ResumeRecord } | undefined> {
  const found = yield* first<{ position: number; header: string }>({
    sql: selectResumed,
    parameters: [logStream, resumedType],
  })
  return found && { position: found.position, resumed: parseHeader(found.header).data }
}

/**
 * Says how a log contradicts its high-water mark, if it does.
 *
 * @param signer the key of the log's keyring: a mark that it did not sign belongs to another log
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
 * Whether a note bears what we would sign: Ed25519 signs the same text the same way. At once, unlike a verification,
 * which other threads make: opening a log would take its turns by their speed.
 */
function isSignedBy(signer: Signer, { text, signatures }: SignedNote, name: string): boolean {
  const [own] = parseNote(signNote(text, name, signer))?.signatures ?? []
  if (!own) return false
  return signatures.some(each => {
    const isOwn = each.name === own.name && each.id === own.id
    return isOwn && Buffer.from(each.signature).equals(own.signature)
  })
}

/** The same, whoever signed the mark. */
export function* findMarkContradiction(mark: string): Steps<string | undefined> {
  const checkpoint = parseCheckpoint(mark)
  const lost = (yield* readLastResume())?.resumed.lost
  // A crash came between the event that accepts the restore and its mark.
  if (lost && lost.size === checkpoint?.size && lost.root === checkpoint.root) return undefined
  return yield* findMarkFault(mark)
}

/** Work on keys concerns nobody else, and keeps its time: older backups live until then. */
const makeDue = `update effect set due_at = ? where is_open = 1 and due_at > ?
  and state in ('owed', 'deferred', 'started') and type not like 'keys.%'`
const selectResumed = `select event.position, event.header from event join stream on stream.key = event.stream
  where stream.name = ? and event.type = ? order by event.version desc limit 1`
