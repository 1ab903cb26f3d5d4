import { each, first, type Steps } from '../database/connection.ts'
import { forgedLogError } from './header.ts'
import type { Tags } from './tags.ts'

export interface StreamEnd {
  readonly key: number
  readonly version: number
}

/** Reads the end of a stream; `undefined` when it does not exist. Throws `CORRUPT` when it was changed. */
export function* readStreamEnd(tags: Tags, name: string): Steps<StreamEnd | undefined> {
  const found = yield* first<StreamEnd & { tag: string }>({ sql: selectStream, parameters: [name] })
  if (!found) return undefined
  const { key, version, tag } = found
  if (tags.ofStream(name, key, version) === tag) return { key, version }
  throw forgedLogError(`The end of "${name}" was changed, or written without the keys of the log`)
}

export interface ChangedStream extends StreamEnd {
  readonly name: string
  readonly isNew: boolean
}

/** Writes the ends of new streams, which their events refer to, and of those that have got events. */
export function* writeStreamEnds(tags: Tags, changed: readonly ChangedStream[]): Steps<void> {
  const row = ({ name, key, version }: ChangedStream) => [key, name, version, tags.ofStream(name, key, version)]
  const isNew = (each: ChangedStream) => each.isNew
  yield* each(insertStream, changed.filter(isNew), row)
  const others = changed.filter(stream => !isNew(stream))
  yield* each(replaceEnd, others, row)
}

const selectStream = 'select key, version, tag from stream where name = ?'
const insertStream = 'insert into stream (key, name, version, tag) values (?, ?, ?, ?)'
/** Many rows of an insert are one statement, and those of an update are not. */
const replaceEnd = `${insertStream} on conflict (key) do update set version = excluded.version, tag = excluded.tag`
