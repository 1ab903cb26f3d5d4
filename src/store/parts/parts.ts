import type { OwnerKey, Vault } from '../../vault/vault.ts'
import type { Json, PartAddress } from '../../vocabulary/message.ts'
import { parsePartAddress } from '../../vocabulary/names.ts'
import { first, type Steps } from '../database/connection.ts'
import { findRecordKey } from '../log/header.ts'

/** The position of a part's event, and the part's name. */
export interface PartPlace {
  readonly position: number
  readonly name: string
}

/** Formats a part's place as events name it: `<position>/<name>`. */
export function partPlaceKey({ position, name }: PartPlace): string {
  return `${position}/${name}`
}

/** Finds the parts that still exist. */
export function* findPresent<P extends PartPlace>(parts: readonly P[]): Steps<P[]> {
  const found: P[] = []
  for (const part of parts) if (yield* hasPart(part)) found.push(part)
  return found
}
function* hasPart({ position, name }: PartPlace): Steps<boolean> {
  return (yield* first({ sql: selectPart, parameters: [position, name] })) !== undefined
}
const selectPart = 'select position from part where position = ? and name = ?'

/** Opens the part at an address; `undefined` when it does not exist. */
export function* openPart(vault: Vault, address: PartAddress): Steps<Json | undefined> {
  const [stream, version, name] = parsePartAddress(address)
  const part = yield* first<OwnerKey & { header: string; sealed: Uint8Array }>({
    sql: selectSealed,
    parameters: [stream, version, name],
  })
  return part && vault.open(part, address, part.sealed, findRecordKey(part.header, name))
}
const selectSealed = `select event.header, part.sealed,
  owner_key.owner, owner_key.epoch, owner_key.wrapped, owner_key.commitment from stream
  join event on event.stream = stream.key join part on part.position = event.position
  join owner_key on owner_key.key = part.owner
  where stream.name = ? and event.version = ? and part.name = ?`
