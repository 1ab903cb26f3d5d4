import Sqlite, { type Database } from 'better-sqlite3'
import type { Mutation } from './mutations.ts'

interface Part {
  readonly position: number
  readonly name: string
}

const selectParts = `select part.position, part.name, part.position || '/' || part.name as place from part
  order by part.position, part.name`
const selectTold = `select type, json_extract(header, '$.data.parts') as parts, json_extract(header, '$.data.kept') as kept
  from event where type in ('log.partsArchived', 'log.partsRestored', 'subject.erased')`

/**
 * Parts deleted by hand where an event tells of others: those that a move left between what it took, those that came
 * back from a bundle, and those that an erasure kept.
 */
export function absences(database: Database): Mutation[] {
  const parts = database.prepare(selectParts).all() as (Part & { place: string })[] // As selected.
  const told = database.prepare(selectTold).all() as { type: string; parts: string; kept: string }[] // As selected.
  const listOf = (type: string, list: 'parts' | 'kept'): string[] =>
    told.filter(event => event.type === type).flatMap(event => JSON.parse(event[list] ?? '[]'))
  const moved = listOf('log.partsArchived', 'parts').map(place => Number.parseInt(place, 10))
  const [from, to] = [Math.min(...moved), Math.max(...moved)]
  const [back, kept] = [listOf('log.partsRestored', 'parts'), listOf('subject.erased', 'kept')]
  const groups: [string, (part: Part & { place: string }) => boolean][] = [
    ['part: taken where others came back', ({ place }) => back.includes(place) && !kept.includes(place)],
    ['part: taken of what an erasure kept', ({ place }) => kept.includes(place)],
    [
      'part: taken where others were moved out',
      ({ place, position }) => ![...back, ...kept].includes(place) && from < position && position < to,
    ],
  ]
  return groups.flatMap(([group, isOfIt]) =>
    parts.filter(isOfIt).map(({ position, name, place }) => ({
      ...{ group, name: place },
      apply: (store: string) => remove(store, { position, name }),
    })),
  )
}

function remove(store: string, { position, name }: Part): void {
  const database = new Sqlite(store)
  database.prepare('delete from part where position = ? and name = ?').run(position, name)
  database.close()
}
