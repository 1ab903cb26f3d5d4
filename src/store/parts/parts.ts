import type { OwnerKey, Vault } from '../../vault/vault.ts'
import type { Json, PartAddress } from '../../vocabulary/message.ts'
import { parsePartAddress } from '../../vocabulary/names.ts'
import { first, type Steps } from '../database/connection.ts'
import { recordKeyIn } from '../log/header.ts'

/** Where a part stands. */
export interface PartPlace {
  readonly position: number
  readonly name: string
}

/** A part as events name it: `<position>/<name>`. */
export function placeOf({ position, name }: PartPlace): string {
  return `${position}/${name}`
}

/** Those that are there. */
export function* present<P extends PartPlace>(parts: readonly P[]): Steps<P[]> {
  const found: P[] = []
  for (const part of parts) if (yield* isThere(part)) found.push(part)
  return found
}
function* isThere({ position, name }: PartPlace): Steps<boolean> {
  return (yield* first({ sql: selectPart, parameters: [position, name] })) !== undefined
}
const selectPart = 'select position from part where position = ? and name = ?'

/** Opens a part at its address; `undefined` when it is not there. */
export function* openPart(vault: Vault, address: PartAddress): Steps<Json | undefined> {
  const [stream, version, name] = parsePartAddress(address)
  const part = yield* first<OwnerKey & { header: string; sealed: Uint8Array }>({
    sql: selectSealed,
    parameters: [stream, version, name],
  })
  return part && vault.open(part, address, part.sealed, recordKeyIn(part.header, name))
}
const selectSealed = `select event.header, part.sealed, owner_key.owner, owner_key.epoch, owner_key.wrapped, owner_key.commitment from stream
  join event on event.stream = stream.key join part on part.position = event.position
  join owner_key on owner_key.key = part.owner
  where stream.name = ? and event.version = ? and part.name = ?`
