import Sqlite, { type Database } from 'better-sqlite3'
import type { Mutation } from './mutations.ts'

interface Part {
  readonly position: number
  readonly name: string
}

const selectParts = `select part.position, part.name, part.position || '/' || part.name as place from part
  order by part.position, part.name`
const selectKept = `select json_extract(header, '$.data.kept') from event where type = 'subject.erased'`

/** Parts deleted by hand that an erasure says it has kept. */
export function absences(database: Database): Mutation[] {
  const parts = database.prepare(selectParts).all() as (Part & { place: string })[] // As selected.
  const lists = database.prepare(selectKept).pluck().all() as string[] // As selected.
  const kept = new Set<string>(lists.flatMap(list => JSON.parse(list)))
  return parts
    .filter(({ place }) => kept.has(place))
    .map(({ position, name, place }) => ({
      ...{ group: 'part: taken of what an erasure kept', name: place },
      apply: (store: string) => remove(store, { position, name }),
    }))
}

function remove(store: string, { position, name }: Part): void {
  const database = new Sqlite(store)
  database.prepare('delete from part where position = ? and name = ?').run(position, name)
  database.close()
}
