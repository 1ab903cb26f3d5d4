import type { Faults } from '../../proof/faults.ts'
import type { View } from '../../vocabulary/view.ts'
import { each, rows, type Steps } from '../database/connection.ts'
import type { Snapshot } from '../database/snapshot.ts'
import { readViewProgress } from '../views/projector.ts'

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
 * Compares the keyed index with the log. Digests cannot be recomputed without the personal data, but their values must
 * exist, and for some kinds every value must have a digest.
 */
export async function checkIndex(
  snapshot: Snapshot,
  kinds: readonly IndexKind[],
  views: readonly View[],
  faults: Faults,
  onPage: () => Promise<boolean>,
): Promise<void> {
  snapshot.run(() => rows({ sql: 'create temp table index_check (stream text primary key)', parameters: [] }))
  if (kinds.length > 0) snapshot.run(() => checkKinds(kinds, faults))
  for (const known of kinds) {
    const columns = findValueColumns(snapshot, known, views)
    if (!columns) continue
    let after: Uint8Array = new Uint8Array()
    for (;;) {
      const page = snapshot.run(() => readIndexPage(known.kind, columns, after))
      for (const { name, doesExist, isErased } of page) {
        if (!doesExist)
          faults.add('index', `a digest of the kind "${known.kind}" leads to "${name}", which does not exist`)
        else if (isErased)
          faults.add('index', `a digest of the kind "${known.kind}" leads to "${name}", which was erased`)
      }
      const last = page.at(-1)
      if (!last) break
      after = last.digest
      if (!(await onPage())) return
    }
    const isOfEach = 'stream' in known && known.isOfEach
    if (isOfEach && !(await checkEveryStream(snapshot, known.kind, known.stream, faults, onPage))) return
  }
}

function* checkKinds(kinds: readonly IndexKind[], faults: Faults): Steps<void> {
  for (const { kind } of yield* rows<{ kind: string }>({ sql: selectKinds, parameters: [] })) {
    if (!kinds.some(known => known.kind === kind))
      faults.add('index', `there are digests of the unknown kind "${kind}"`)
  }
}

async function checkEveryStream(
  snapshot: Snapshot,
  kind: string,
  prefix: string,
  faults: Faults,
  onPage: () => Promise<boolean>,
): Promise<boolean> {
  for (let after = prefix; ; ) {
    const page = snapshot.run(() => readStreams(after, `${prefix}~`))
    for (const { name, isMissing } of page)
      if (isMissing) faults.add('index', `"${name}" has no digest of the kind "${kind}"`)
    const last = page.at(-1)
    if (!last) return true
    after = last.name
    if (!(await onPage())) return false
  }
}

interface ValueColumns {
  readonly table: string
  readonly key: string
  readonly prefix: string
}

/** The table to look in; none for a view that is not running. */
function findValueColumns(snapshot: Snapshot, known: IndexKind, views: readonly View[]): ValueColumns | undefined {
  if ('stream' in known) return { table: 'stream', key: 'name', prefix: known.stream }
  const view = views.find(({ name }) => name === known.view)
  const isRunning = snapshot
    .run(readViewProgress)
    .some(found => found.isRunning && found.view === view?.name && found.version === view.version)
  const [key] = Object.keys(view?.columns ?? {})
  return isRunning && view && key !== undefined ? { table: view.name, key, prefix: '' } : undefined
}

interface IndexCheckRow {
  readonly digest: Uint8Array
  readonly name: string
  readonly doesExist: 0 | 1
  readonly isErased: 0 | 1
}

function* readIndexPage(
  kind: string,
  { table, key, prefix }: ValueColumns,
  after: Uint8Array,
): Steps<readonly IndexCheckRow[]> {
  const page = yield* rows<IndexCheckRow>({
    sql: `select digest, ? || value as name, exists (select 1 from ${table} where ${key} = ? || value) as "doesExist",
      exists (select 1 from owner_key where owner = ? || value and is_erased = 1) as "isErased"
      from keyed_index where kind = ? and digest > ? order by digest limit ${entriesPerPage}`,
    parameters: [prefix, prefix, prefix, kind, after],
  })
  if (table === 'stream')
    yield* each(
      insertFound,
      page.map(({ name }) => [name]),
    )
  return page
}

function* readStreams(after: string, end: string): Steps<readonly { name: string; isMissing: 0 | 1 }[]> {
  return yield* rows({ sql: selectStreams, parameters: [after, end] })
}

const selectKinds = 'select distinct kind from keyed_index'
const insertFound = 'insert into temp.index_check (stream) values (?) on conflict do nothing'
const selectStreams = `select name, exists (select 1 from owner_key where owner = name and is_erased = 0)
  and not exists (select 1 from temp.index_check as found where found.stream = name) as "isMissing"
  from stream where name > ? and name < ? order by name limit ${entriesPerPage}`
