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
  readonly type: string
  readonly name: string
  /** SHA-256 of the sealed bytes, in hexadecimal. */
  readonly hash: string
  /** The leaf hash of its event, in hexadecimal. */
  readonly leaf: string
  /** Its last bytes in the file; absent when it was destroyed. */
  readonly ending?: string
}

/** What the log holds about one person, up to a position. */
export interface PersonSurvey {
  readonly until: number
  readonly parts: readonly NamedPart[]
  /** The streams whose events mention the person. */
  readonly streams: readonly string[]
  /** The command ids of those events, and of all other events of the person's consents and validations. */
  readonly commands: readonly string[]
  /** The ids of open calls, except those of an erasure. */
  readonly effects: readonly string[]
  /** The keyed digests that lead to the person or to the person's records. */
  readonly indexEntries: readonly { readonly kind: string; readonly digest: Uint8Array }[]
  /** The last bytes of the wrapped key in the file. */
  readonly keyEnding?: string
}

const pagePositions = 5_000
const pageIndexRows = 5_000
/** The end of the tag identifies sealed bytes in a file. */
const endingBytes = 16

/** Searches the log for everything it holds about a person. No part is opened. */
export async function surveyPerson(connection: Connection, subject: string): Promise<PersonSurvey> {
  const { values, ...found } = await findMentions(connection, subject)
  const indexEntries = await findIndexEntries(connection, values)
  return connection.read(() => completeSurvey(streamOf('subject', subject), { ...found, indexEntries }))
}

/** Searches the headers for the parts that the log names of a person, including destroyed ones. */
export async function findMentions(connection: Connection, subject: string): Promise<PersonMentions> {
  const owner = streamOf('subject', subject)
  const parts: NamedPart[] = []
  const streams = new Map<number, string>()
  const values = new Set([subject])
  const commands = new Set<string>()
  let until = 0
  for (;;) {
    const { found, last, end } = await connection.read(() => readMentionPage(subject, until))
    for (const row of found) {
      const header: SurveyedHeader = parseHeader(row.header)
      if (!isEventOfPerson(subject, header)) continue
      streams.set(row.key, row.stream)
      const { parts: marks = [], data, commandId } = header
      if (commandId !== undefined) commands.add(commandId)
      // Records without a stream of their own are found by the id in the event.
      if (typeof data.record === 'string') values.add(data.record)
      for (const { name, hash } of marks.filter(mark => mark.owner === owner))
        parts.push({ position: row.position, type: row.type, name, hash, leaf: encodeHex(row.leaf) })
    }
    until = last
    if (last >= end) break
    await yieldToEventLoop()
  }
  // Each of these streams belongs to one person.
  const own = [...streams].filter(([, name]) => name === owner || /^(consent|validation)-/.test(name))
  for (const [key] of own) for (const id of await readCommandIds(connection, key)) commands.add(id)
  for (const name of streams.values()) values.add(name).add(name.slice(name.indexOf('-') + 1))
  return { until, parts, streams, values, commands: [...commands] }
}

/** The commands of all events of a stream: most events do not name the person again. */
async function readCommandIds(connection: Connection, key: number): Promise<ReadonlySet<string>> {
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

/** Scans the whole index: there is no database index from a value to its digests. */
async function findIndexEntries(
  connection: Connection,
  values: ReadonlySet<string>,
): Promise<PersonSurvey['indexEntries']> {
  const indexEntries: PersonSurvey['indexEntries'][number][] = []
  let after: Pick<IndexRow, 'kind' | 'digest'> = { kind: '', digest: new Uint8Array() }
  for (;;) {
    const page = await connection.read(() => readIndexPage(after))
    for (const { kind, digest, value } of page) if (values.has(value)) indexEntries.push({ kind, digest })
    const last = page.at(-1)
    if (!last) return indexEntries
    after = last
    await yieldToEventLoop()
  }
}

function* readIndexPage({ kind, digest }: Pick<IndexRow, 'kind' | 'digest'>): Steps<readonly IndexRow[]> {
  return yield* rows<IndexRow>({ sql: selectIndexPage, parameters: [kind, digest, pageIndexRows] })
}

interface MentionRow {
  readonly position: number
  readonly key: number
  readonly stream: string
  readonly type: string
  readonly header: string
  readonly leaf: Uint8Array
}

function* readMentionPage(
  subject: string,
  after: number,
): Steps<{ found: readonly MentionRow[]; last: number; end: number }> {
  const end = yield* endOfLog()
  const last = Math.min(after + pagePositions, end)
  const found = yield* rows<MentionRow>({ sql: selectMentions, parameters: [after, last, `%${subject}%`] })
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

interface PersonMentions {
  readonly until: number
  readonly parts: readonly NamedPart[]
  readonly streams: ReadonlyMap<number, string>
  readonly commands: readonly string[]
  /** The values that index entries of the person may have. */
  readonly values: ReadonlySet<string>
}

interface MentionsWithIndexEntries extends Omit<PersonMentions, 'values'> {
  readonly indexEntries: PersonSurvey['indexEntries']
}

function* completeSurvey(
  owner: string,
  { until, parts, streams, commands, indexEntries }: MentionsWithIndexEntries,
): Steps<PersonSurvey> {
  const open = yield* rows<{ stream: number; version: number; n: number }>({
    sql: selectOpenEffects,
    parameters: [],
  })
  const effects = open.flatMap(({ stream, version, n }) => {
    const name = streams.get(stream)
    return name === undefined ? [] : `${name}/${version}/${n}`
  })
  const key = yield* first<{ ending: Uint8Array }>({ sql: selectKey, parameters: [owner] })
  const withEndings: NamedPart[] = []
  for (const part of parts) {
    const { position, name } = part
    const row = yield* first<{ ending: Uint8Array }>({ sql: selectEnding, parameters: [position, name] })
    withEndings.push(row ? { ...part, ending: encodeHex(row.ending) } : part)
  }
  const survey = { until, parts: withEndings, streams: [...streams.values()], commands, effects, indexEntries }
  return key ? { ...survey, keyEnding: encodeHex(key.ending) } : survey
}

function encodeHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

interface IndexRow {
  readonly kind: string
  readonly digest: Uint8Array
  readonly value: string
}

const selectVersions = `select version, header from event where stream = ? and version > ? order by version limit ?`
const selectMentions = `select event.position, event.stream as key, stream.name as stream, event.type, event.header,
  event.leaf from event join stream on stream.key = event.stream
  where event.position > ? and event.position <= ? and event.header like ? order by event.position`
const selectOpenEffects = `select effect.stream, event.version, effect.n from effect
  join event on event.position = effect.position where effect.is_open = 1 and effect.type not like 'keys.%'`
const selectIndexPage = `select kind, digest, value from keyed_index where (kind, digest) > (?, ?)
  order by kind, digest limit ?`
const selectKey = `select substr(wrapped, length(wrapped) - ${endingBytes - 1}) as ending from owner_key
  where owner = ? and epoch > 0`
const selectEnding = `select substr(sealed, length(sealed) - ${endingBytes - 1}) as ending from part
  where position = ? and name = ?`
