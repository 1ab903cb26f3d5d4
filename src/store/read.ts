import type { Json, PartAddress, Recorded } from '../message.ts'
import type { Vault } from '../vault/vault.ts'
import { type Connection, first, rows, type Steps } from './connection.ts'
import { readHeader } from './header.ts'

/** Which events to read: after a position, of some types, of one stream, the newest first or last. */
export interface ReadFilter {
  readonly after?: number
  readonly types?: readonly string[]
  readonly stream?: string
  readonly backward?: boolean
  readonly limit?: number
}

const pageRows = 1_000

/** Reads one page of the log, in order of position. */
export function* readPage(connection: Connection, filter: ReadFilter): Steps<Recorded[]> {
  const { after, types, stream, backward = false, limit = pageRows } = filter
  let query = connection.compiler.selectFrom('event').select('event.header').limit(limit)
  query = query.orderBy('event.position', backward ? 'desc' : 'asc')
  if (after !== undefined) query = query.where('event.position', backward ? '<' : '>', after)
  if (types) query = query.where('event.type', 'in', [...types])
  if (stream !== undefined) {
    query = query.where('event.stream', '=', eb =>
      eb.selectFrom('stream').select('key').where('name', '=', stream),
    )
  }
  return (yield* rows(query)).map(row => readHeader(row.header))
}

/** Reads one event. */
export function* readAt(connection: Connection, position: number): Steps<Recorded | undefined> {
  const query = connection.compiler.selectFrom('event').select('header').where('position', '=', position)
  const row = yield* first(query)
  return row && readHeader(row.header)
}

/** Opens a part at its address; `undefined` when it is not there. */
export function* openPart(
  connection: Connection,
  vault: Vault,
  address: PartAddress,
): Steps<Json | undefined> {
  const [stream = '', version = '', name = ''] = address.split('/')
  const query = connection.compiler
    .selectFrom('part')
    .innerJoin('event', 'event.position', 'part.position')
    .innerJoin('stream', 'stream.key', 'event.stream')
    .innerJoin('owner_key', 'owner_key.key', 'part.owner')
    .select(['part.sealed', 'owner_key.owner', 'owner_key.epoch', 'owner_key.wrapped'])
    .where('stream.name', '=', stream)
    .where('event.version', '=', Number(version))
    .where('part.name', '=', name)
  const part = yield* first(query)
  return part && vault.open(part, address, part.sealed)
}
