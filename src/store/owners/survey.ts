import { sql } from 'kysely'
import type { PartMark } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import { type Connection, first, readPages, rows, type Steps } from '../database/connection.ts'
import { db, type Schema } from '../database/schema.ts'
import { pieceBytes } from '../database/search-file.ts'
import type { HeaderReader } from '../log/header.ts'
import { headerColumns, type PositionWindow, searchLog } from '../log/read.ts'
import { eventsNaming, isEventOfPerson, personWindow } from '../parts/person-search.ts'

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

type Reader = Pick<Connection, 'read'>

const pageRows = 5_000

/** Searches the log for everything it holds about a person. No part is opened. */
export async function surveyPerson(reader: Reader, headers: HeaderReader, subject: string): Promise<PersonSurvey> {
  const found = await findMentions(reader, headers, subject)
  const indexEntries = await findIndexEntries(reader, found.values)
  return reader.read(() => completeSurvey(streamOf('subject', subject), found, indexEntries))
}

/** Searches the headers for the parts that the log names of a person, including destroyed ones. */
export async function findMentions(reader: Reader, headers: HeaderReader, subject: string): Promise<PersonMentions> {
  const { found, end } = await searchLog(reader, personWindow, window => readMentions(headers, subject, window))
  const streams = new Map(found.map(({ key, stream }) => [key, stream]))
  const commands = new Set(found.flatMap(({ commandId }) => commandId ?? []))
  // Records without a stream of their own are found by the id in the event.
  const values = new Set([subject, ...found.flatMap(({ record }) => (typeof record === 'string' ? record : []))])
  // Each of these streams belongs to one person.
  const isOwn = (name: string) => name === streamOf('subject', subject) || /^(consent|validation)-/.test(name)
  for (const [key, name] of streams) {
    values.add(name).add(name.slice(name.indexOf('-') + 1))
    if (isOwn(name)) for await (const id of readCommandIds(reader, headers, key)) commands.add(id)
  }
  return { until: end, parts: found.flatMap(({ parts }) => parts), streams, values, commands: [...commands] }
}

/** Reads what the events of a person say in a window of the log. */
function* readMentions(headers: HeaderReader, subject: string, window: PositionWindow) {
  const owner = streamOf('subject', subject)
  const columns = [...headerColumns, 'stream.key', 'stream.name as stream', 'event.type'] as const
  const named = yield* rows(eventsNaming(subject, window).select(columns).select('event.leaf'))
  return named.flatMap(({ leaf, type, key, stream, ...stored }) => {
    const { position } = stored
    const event: SurveyedHeader = headers.parse(stored)
    if (!isEventOfPerson(subject, event)) return []
    const own = (event.parts ?? []).filter(mark => mark.owner === owner)
    const parts = own.map(({ name, hash }): NamedPart => ({ position, type, name, hash, leaf: encodeHex(leaf) }))
    return [{ key, stream, commandId: event.commandId, record: event.data.record, parts }]
  })
}

/** The commands of all events of a stream: most events do not name the person again. */
async function* readCommandIds(reader: Reader, headers: HeaderReader, key: number): AsyncGenerator<string> {
  const query = db
    .selectFrom('event')
    .select(['version', ...headerColumns])
    .where('stream', '=', key)
  const ordered = query.orderBy('version').limit(pageRows)
  const eventsAfter = (last?: { version: number }) => ordered.where('version', '>', last?.version ?? 0)
  for await (const page of readPages(reader, eventsAfter))
    for (const stored of page) {
      const { commandId }: SurveyedHeader = headers.parse(stored)
      if (commandId !== undefined) yield commandId
    }
}

/** Scans the whole index: there is no database index from a value to its digests. */
async function findIndexEntries(reader: Reader, values: ReadonlySet<string>): Promise<PersonSurvey['indexEntries']> {
  const found: PersonSurvey['indexEntries'][number][] = []
  for await (const page of readPages(reader, indexAfter))
    for (const { kind, digest, value } of page) if (values.has(value)) found.push({ kind, digest })
  return found
}

function indexAfter({ kind, digest }: IndexPlace = { kind: '', digest: new Uint8Array() }) {
  const query = db.selectFrom('keyed_index').selectAll().orderBy('kind').orderBy('digest').limit(pageRows)
  return query.where(({ eb, refTuple, tuple }) => eb(refTuple('kind', 'digest'), '>', tuple(kind, digest)))
}

type IndexPlace = Pick<Schema['keyed_index'], 'kind' | 'digest'>

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

function* completeSurvey(
  owner: string,
  { until, parts, streams, commands }: PersonMentions,
  indexEntries: PersonSurvey['indexEntries'],
): Steps<PersonSurvey> {
  const open = yield* rows(
    db
      .selectFrom('effect')
      .innerJoin('event', 'event.position', 'effect.position')
      .select(['effect.stream', 'event.version', 'effect.n'])
      .where('effect.is_open', '=', eb => eb.lit(1))
      .where('effect.type', 'not like', 'keys.%'),
  )
  const effects = open.flatMap(({ stream, version, n }) => {
    const name = streams.get(stream)
    return name === undefined ? [] : `${name}/${version}/${n}`
  })
  const keys = db.selectFrom('owner_key').where('owner', '=', owner).where('epoch', '>', 0)
  const key = yield* first(keys.select(endingOf('wrapped')))
  const withEndings: NamedPart[] = []
  for (const part of parts) {
    const { position, name } = part
    const stored = db.selectFrom('part').where('position', '=', position).where('name', '=', name)
    const row = yield* first(stored.select(endingOf('sealed')))
    withEndings.push(row ? { ...part, ending: encodeHex(row.ending) } : part)
  }
  const survey = { until, parts: withEndings, streams: [...streams.values()], commands, effects, indexEntries }
  return key ? { ...survey, keyEnding: encodeHex(key.ending) } : survey
}

function endingOf(column: 'wrapped' | 'sealed') {
  return sql<Uint8Array>`substr(${sql.ref(column)}, length(${sql.ref(column)}) - ${sql.lit(pieceBytes - 1)})`.as(
    'ending',
  )
}

function encodeHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
