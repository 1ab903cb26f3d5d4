import type { OwnerKey, Vault } from '../../vault/vault.ts'
import type { Json, PartAddress } from '../../vocabulary/message.ts'
import { parsePartAddress } from '../../vocabulary/names.ts'
import { first, type Steps } from '../database/connection.ts'
import { recordKeyIn } from '../log/header.ts'

/** Opens a part at its address; `undefined` when it is not there. */
export function* openPart(vault: Vault, address: PartAddress): Steps<Json | undefined> {
  const [stream, version, name] = parsePartAddress(address)
  const part = yield* first<OwnerKey & { header: string; sealed: Uint8Array }>({
    sql: selectPart,
    parameters: [stream, version, name],
  })
  return part && vault.open(part, address, part.sealed, recordKeyIn(part.header, name))
}
const selectPart = `select event.header, part.sealed, owner_key.owner, owner_key.epoch, owner_key.wrapped, owner_key.commitment from stream
  join event on event.stream = stream.key join part on part.position = event.position
  join owner_key on owner_key.key = part.owner
  where stream.name = ? and event.version = ? and part.name = ?`
