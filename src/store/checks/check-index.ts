import type { InferResult } from 'kysely'
import type { Faults } from '../../proof/faults.ts'
import type { View } from '../../vocabulary/view.ts'
import { each, readPages, rows, type Statement, type Steps } from '../database/connection.ts'
import type { Reading } from '../database/reading.ts'
import { db } from '../database/schema.ts'
import { parseHeader } from '../log/header.ts'
import type { Tags } from '../log/tags.ts'
import { readProgressOf } from '../views/projector.ts'

/** Where the values of one kind of keyed digests are found: the rest of a stream's name, or the key of a view. */
export type IndexKind = { readonly kind: string } & (
  | {
      readonly stream: string
      /** Every stream of the kind must have a digest while the key of its personal data exists. */
      readonly isOfEach?: boolean
    }
  | { readonly view: string }
)

const entriesPerPage = 500

/**
 * Compares the keyed index with the log. Digests cannot be recomputed without the personal data, but a tag binds each
 * to its value, the values must exist, and for some kinds every value must have a digest.
 */
export async function checkIndex(
  reading: Reading,
  kinds: readonly IndexKind[],
  views: readonly View[],
  faults: Faults,
  tags: Tags | undefined,
  onPage: () => Promise<boolean>,
): Promise<void> {
  await reading.read(() => rows({ sql: 'create temp table index_check (stream text primary key)', parameters: [] }))
  if (kinds.length > 0) await reading.read(() => checkKinds(kinds, faults))
  for (const known of kinds) {
    const columns = await findValueColumns(reading, known, views)
    if (!columns) continue
    const { kind } = known
    for await (const page of readPages<IndexCheckRow>(reading, last => indexAfter(kind, columns, last))) {
      for (const { name, digest, value, tag, doesExist, isErased } of page) {
        if (!doesExist) faults.add('index', `a digest of the kind "${kind}" leads to "${name}", which does not exist`)
        else if (isErased) faults.add('index', `a digest of the kind "${kind}" leads to "${name}", which was erased`)
        else if (tags && tags.ofEntry(kind, digest, value) !== tag)
          faults.add('index', `a digest of the kind "${kind}" leads to "${name}", without a tag that binds them`)
      }
      if (columns.table === 'stream') await reading.read(() => each(insertFound, page, ({ name }) => [name]))
      if (!(await onPage())) return
    }
    if (!('stream' in known && known.isOfEach)) continue
    for await (const page of readPages<StreamCheckRow>(reading, last => streamsAfter(known.stream, last))) {
      for (const { name, isMissing } of page)
        if (isMissing) faults.add('index', `"${name}" has no digest of the kind "${kind}"`)
      if (!(await onPage())) return
    }
  }
}

function* checkKinds(kinds: readonly IndexKind[], faults: Faults): Steps<void> {
  for (const { kind } of yield* rows(db.selectFrom('keyed_index').select('kind').distinct())) {
    if (!kinds.some(known => known.kind === kind))
      faults.add('index', `there are digests of the unknown kind "${kind}"`)
  }
}

interface ValueColumns {
  readonly table: string
  readonly key: string
  readonly prefix: string
}

/** The table to look in; none for a view that is not running. */
async function findValueColumns(
  reading: Reading,
  known: IndexKind,
  views: readonly View[],
): Promise<ValueColumns | undefined> {
  if ('stream' in known) return { table: 'stream', key: 'name', prefix: known.stream }
  const view = views.find(({ name }) => name === known.view)
  const [key] = Object.keys(view?.columns ?? {})
  if (!view || key === undefined) return undefined
  if (!(await reading.read(() => readProgressOf(view)))?.isRunning) return undefined
  return { table: view.name, key, prefix: '' }
}

interface IndexCheckRow {
  readonly digest: Uint8Array
  readonly value: string
  readonly tag: string
  readonly name: string
  readonly doesExist: 0 | 1
  readonly isErased: 0 | 1
}

function indexAfter(kind: string, { table, key, prefix }: ValueColumns, last?: IndexCheckRow): Statement {
  return {
    sql: `select digest, value, tag, ? || value as name, exists (select 1 from ${table} where ${key} = ? || value) as "doesExist",
      exists (select 1 from owner_key where owner = ? || value and is_erased = 1) as "isErased"
      from keyed_index where kind = ? and digest > ? order by digest limit ${entriesPerPage}`,
    parameters: [prefix, prefix, prefix, kind, last?.digest ?? new Uint8Array()],
  }
}

interface StreamCheckRow {
  readonly name: string
  readonly isMissing: 0 | 1
}

const insertFound = 'insert into index_check (stream) values (?) on conflict do nothing'

function streamsAfter(prefix: string, last?: StreamCheckRow): Statement {
  return {
    sql: `select name, exists (select 1 from owner_key where owner = name and is_erased = 0)
      and not exists (select 1 from index_check as found where found.stream = name) as "isMissing"
      from stream where name > ? and name < ? order by name limit ${entriesPerPage}`,
    parameters: [last?.name ?? prefix, `${prefix}~`],
  }
}

const digestsPerPage = 500

/** Compares recent digests with the times of their events. The content of the digests cannot be checked. */
export async function checkRecent(reading: Reading, faults: Faults, onPage: () => Promise<boolean>): Promise<void> {
  for await (const page of readPages(reading, recentAfter)) {
    for (const row of page)
      if (!hasTimeOfEvent(row)) {
        const what = `a recent digest names the event at ${row.position}`
        faults.add('index', `${what}, which does not exist or has another time`)
      }
    if (!(await onPage())) return
  }
}

type RecentRow = InferResult<ReturnType<typeof recentAfter>>[number]

/** Whether the time is the event's, or earlier because the clock was set back: the log's time never goes back. */
function hasTimeOfEvent({ at, header, before }: RecentRow): boolean {
  if (header === null) return false
  const event = parseHeader(header)
  if (event.at === at) return true
  return at < event.at && before !== null && parseHeader(before).at === event.at
}

function recentAfter(last?: { readonly position: number }) {
  return (
    db
      .selectFrom('recent_digest as recent')
      .leftJoin('event', 'event.position', 'recent.position')
      .leftJoin('event as earlier', join => join.on(eb => eb('earlier.position', '=', eb('recent.position', '-', 1))))
      .select(['recent.position', 'recent.at', 'event.header', 'earlier.header as before'])
      // A tampered position may be negative.
      .where('recent.position', '>', last?.position ?? Number.MIN_SAFE_INTEGER)
      .orderBy('recent.position')
      .limit(digestsPerPage)
  )
}
