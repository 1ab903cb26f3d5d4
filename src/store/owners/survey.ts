import { sql } from 'kysely'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { PartMark } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import { type Connection, first, rows, type Steps } from '../database/connection.ts'
import { db, type Schema } from '../database/schema.ts'
import { parseHeader } from '../log/header.ts'
import { endOfLog } from '../log/read.ts'
import { eventsNaming, isEventOfPerson } from '../parts/person-search.ts'

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
  const found = await findMentions(connection, subject)
  const indexEntries = await findIndexEntries(connection, found.values)
  return connection.read(() => completeSurvey(streamOf('subject', subject), found, indexEntries))
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
    const query = db.selectFrom('event').select(['version', 'header']).where('stream', '=', key)
    const newer = query.where('version', '>', after).orderBy('version').limit(pagePositions)
    const page = await connection.read(() => rows(newer))
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
  let after: IndexPlace = { kind: '', digest: new Uint8Array() }
  for (;;) {
    const page = await connection.read(() => readIndexPage(after))
    for (const { kind, digest, value } of page) if (values.has(value)) indexEntries.push({ kind, digest })
    const last = page.at(-1)
    if (!last) return indexEntries
    after = last
    await yieldToEventLoop()
  }
}

type IndexPlace = Pick<Schema['keyed_index'], 'kind' | 'digest'>

function readIndexPage({ kind, digest }: IndexPlace) {
  const query = db.selectFrom('keyed_index').selectAll().orderBy('kind').orderBy('digest').limit(pageIndexRows)
  return rows(query.where(({ eb, refTuple, tuple }) => eb(refTuple('kind', 'digest'), '>', tuple(kind, digest))))
}

function* readMentionPage(subject: string, after: number) {
  const end = yield* endOfLog()
  const last = Math.min(after + pagePositions, end)
  const columns = ['event.position', 'stream.key', 'stream.name as stream', 'event.type', 'event.header'] as const
  const found = yield* rows(eventsNaming(subject, after, last).select(columns).select('event.leaf'))
  return { found, last, end }
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
  return sql<Uint8Array>`substr(${sql.ref(column)}, length(${sql.ref(column)}) - ${sql.lit(endingBytes - 1)})`.as(
    'ending',
  )
}

function encodeHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
