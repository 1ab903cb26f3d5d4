import { Sqlite } from '../support/sqlite.ts'
import type { Mutation } from './mutations.ts'

interface Part {
  readonly position: number
  readonly name: string
}

const selectParts = `select part.position, part.name, part.position || '/' || part.name as id from part
  order by part.position, part.name`
const selectKept = `select json_extract(header, '$.data.kept') from event where type = 'subject.erased'`

/** Mutations that delete a part which an erasure kept. */
export function deleteKeptParts(database: Sqlite): Mutation[] {
  const parts = database.rows<Part & { id: string }>(selectParts)
  const lists = database.column(selectKept) as string[] // As selected.
  const kept = new Set<string>(lists.flatMap(list => JSON.parse(list)))
  return parts
    .filter(({ id }) => kept.has(id))
    .map(({ position, name, id }) => ({
      group: 'part: deleted although an erasure kept it',
      name: id,
      apply: (store: string) => deletePart(store, { position, name }),
    }))
}

function deletePart(store: string, { position, name }: Part): void {
  const database = new Sqlite(store)
  database.prepare('delete from part where position = ? and name = ?').run(position, name)
  database.close()
}
