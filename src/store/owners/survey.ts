import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { PartMark } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import { type Connection, first, rows, type Steps } from '../database/connection.ts'
import { parseHeader } from '../log/header.ts'
import { endOfLog } from '../log/position-before.ts'
import { isEventOfPerson } from '../parts/person-search.ts'

/** A part that a header names. */
export interface NamedPart {
  readonly position: number
  /** The type of its event. */
  readonly type: string
  readonly name: string
  /** SHA-256 of the sealed bytes, in hexadecimal. */
  readonly hash: string
  /** The hash of its event in the tree, in hexadecimal. */
  readonly leaf: string
  /** Its last bytes as they are in the file; absent where it is not there. */
  readonly ending?: string
}

/** What the log holds of one person, up to a position. */
export interface PersonSurvey {
  readonly until: number
  readonly parts: readonly NamedPart[]
  /** The streams that speak of the person. */
  readonly streams: readonly string[]
  /** The ids of the commands of those events, and of all other events of the person's consents and validations. */
  readonly commands: readonly string[]
  /** The owed calls that have not ended, except those that an erasure owes. */
  readonly effects: readonly string[]
  /** The keyed digests that lead to the person, or to what is theirs. */
  readonly claims: readonly { readonly kind: string; readonly digest: Uint8Array }[]
  /** The last bytes of the key as they are in the file. */
  readonly keyEnding?: string
}

/** How many positions are looked at before the event loop turns. */
const pagePositions = 5_000
/** How many rows of the index are read at a time. */
const pageClaims = 5_000
/** What identifies sealed bytes in a file: the end of their tag. */
const endingBytes = 16

/** Searches the log for all that it holds of a person. Nothing is opened. */
export async function survey(connection: Connection, subject: string): Promise<PersonSurvey> {
  const { values, ...found } = await findMarks(connection, subject)
  const claims = await findClaims(connection, values)
  return connection.read(() => readRest(streamOf('subject', subject), { ...found, claims }))
}

/** Searches the headers for the parts that the log names, or named, of a person. */
export async function findMarks(connection: Connection, subject: string): Promise<PersonMentions> {
  const owner = streamOf('subject', subject)
  const parts: NamedPart[] = []
  const streams = new Map<number, string>()
  const values = new Set([subject])
  const commands = new Set<string>()
  let until = 0
  for (;;) {
    const { found, last, end } = await connection.read(() => readFound(subject, until))
    for (const row of found) {
      const header: SurveyedHeader = parseHeader(row.header)
      if (!isEventOfPerson(subject, header)) continue
      streams.set(row.key, row.stream)
      const { parts: marks = [], data, commandId } = header
      if (commandId !== undefined) commands.add(commandId)
      // What has no stream of its own is found by the id that the event gives it.
      if (typeof data.record === 'string') values.add(data.record)
      for (const { name, hash } of marks.filter(mark => mark.owner === owner))
        parts.push({ position: row.position, type: row.type, name, hash, leaf: toHex(row.leaf) })
    }
    until = last
    if (last >= end) break
    await yieldToEventLoop()
  }
  // Each of these streams is of one person.
  const own = [...streams].filter(([, name]) => name === owner || /^(consent|validation)-/.test(name))
  for (const [key] of own) for (const id of await commandsOf(connection, key)) commands.add(id)
  for (const name of streams.values()) values.add(name).add(name.slice(name.indexOf('-') + 1))
  return { until, parts, streams, values, commands: [...commands] }
}

/** The commands of all events of a stream: most of them do not name the person again. */
async function commandsOf(connection: Connection, key: number): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  for (let after = 0; ; ) {
    const parameters = [key, after, pagePositions]
    const page = await connection.read(() => rows<VersionRow>({ sql: selectVersions, parameters }))
    for (const { header } of page) {
      const { commandId }: SurveyedHeader = parseHeader(header)
      if (commandId !== undefined) ids.add(commandId)
    }
    const last = page.at(-1)
    if (!last) return ids
    after = last.version
    await yieldToEventLoop()
  }
}

/** No index leads from a value to its digests: nothing else needs one. */
async function findClaims(
  connection: Connection,
  values: ReadonlySet<string>,
): Promise<PersonSurvey['claims']> {
  const claims: PersonSurvey['claims'][number][] = []
  let after: Pick<ClaimRow, 'kind' | 'digest'> = { kind: '', digest: new Uint8Array() }
  for (;;) {
    const page = await connection.read(() => readClaims(after))
    for (const { kind, digest, value } of page) if (values.has(value)) claims.push({ kind, digest })
    const last = page.at(-1)
    if (!last) return claims
    after = last
    await yieldToEventLoop()
  }
}

function* readClaims({ kind, digest }: Pick<ClaimRow, 'kind' | 'digest'>): Steps<readonly ClaimRow[]> {
  return yield* rows<ClaimRow>({ sql: selectClaims, parameters: [kind, digest, pageClaims] })
}

interface FoundRow {
  readonly position: number
  readonly key: number
  readonly stream: string
  readonly type: string
  readonly header: string
  readonly leaf: Uint8Array
}

function* readFound(
  subject: string,
  after: number,
): Steps<{ found: readonly FoundRow[]; last: number; end: number }> {
  const end = yield* endOfLog()
  const last = Math.min(after + pagePositions, end)
  const found = yield* rows<FoundRow>({ sql: selectFound, parameters: [after, last, `%${subject}%`] })
  return { found, last, end }
}

interface VersionRow {
  readonly version: number
  readonly header: string
}

interface SurveyedHeader {
  readonly stream: string
  readonly parts?: readonly PartMark[]
  readonly data: { readonly record?: unknown }
  readonly commandId?: string
}

/** What headers say of a person. */
interface PersonMentions {
  readonly until: number
  readonly parts: readonly NamedPart[]
  readonly streams: ReadonlyMap<number, string>
  readonly commands: readonly string[]
  /** What the index may lead to. */
  readonly values: ReadonlySet<string>
}

interface FoundClaims extends Omit<PersonMentions, 'values'> {
  readonly claims: PersonSurvey['claims']
}

function* readRest(
  owner: string,
  { until, parts, streams, commands, claims }: FoundClaims,
): Steps<PersonSurvey> {
  const open = yield* rows<{ stream: number; version: number; n: number }>({
    sql: selectOpen,
    parameters: [],
  })
  const effects = open.flatMap(({ stream, version, n }) => {
    const name = streams.get(stream)
    return name === undefined ? [] : `${name}/${version}/${n}`
  })
  const key = yield* first<{ ending: Uint8Array }>({ sql: selectKey, parameters: [owner] })
  const there: NamedPart[] = []
  for (const part of parts) {
    const { position, name } = part
    const row = yield* first<{ ending: Uint8Array }>({ sql: selectEnding, parameters: [position, name] })
    there.push(row ? { ...part, ending: toHex(row.ending) } : part)
  }
  const survey = { until, parts: there, streams: [...streams.values()], commands, effects, claims }
  return key ? { ...survey, keyEnding: toHex(key.ending) } : survey
}

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

interface ClaimRow {
  readonly kind: string
  readonly digest: Uint8Array
  readonly value: string
}

const selectVersions = `select version, header from event where stream = ? and version > ? order by version limit ?`
const selectFound = `select event.position, event.stream as key, stream.name as stream, event.type, event.header,
  event.leaf from event join stream on stream.key = event.stream
  where event.position > ? and event.position <= ? and event.header like ? order by event.position`
const selectOpen = `select effect.stream, event.version, effect.n from effect
  join event on event.position = effect.position where effect.is_open = 1 and effect.type not like 'keys.%'`
const selectClaims = `select kind, digest, value from keyed_index where (kind, digest) > (?, ?)
  order by kind, digest limit ?`
const selectKey = `select substr(wrapped, length(wrapped) - ${endingBytes - 1}) as ending from owner_key
  where owner = ? and epoch > 0`
const selectEnding = `select substr(sealed, length(sealed) - ${endingBytes - 1}) as ending from part
  where position = ? and name = ?`
