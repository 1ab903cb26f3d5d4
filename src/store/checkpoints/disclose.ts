import { writeDisclosure } from '../../proof/disclosure.ts'
import type { OwnerKey, Vault } from '../../vault/vault.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { PartAddress, PartMark } from '../../vocabulary/message.ts'
import { rows, type Steps } from '../database/connection.ts'
import { parseHeader } from '../log/header.ts'
import { type EventSelector, findEvent, proveEvent } from './prove.ts'

/** The parts of an event that can be disclosed, which are encrypted under keys of its record, and their owners. */
export interface Disclosable {
  readonly parts: readonly PartAddress[]
  readonly owners: readonly string[]
}

/**
 * Finds the parts of an event that can be disclosed.
 *
 * @throws {AverbaError} `NOT_FOUND` when the event does not exist, or its parts were destroyed; `INVALID_INPUT` when
 * none of its parts is encrypted under a key of its record
 */
export function* findDisclosable(which: EventSelector): Steps<Disclosable> {
  const { record, parts } = yield* readSealedParts(which)
  return {
    parts: parts.map(({ name }) => `${record}/${name}`),
    owners: [...new Set(parts.map(part => part.owner))],
  }
}

/**
 * Writes the proof of an event under the newest checkpoint, with its encrypted parts and the keys of its record.
 *
 * @throws {AverbaError} as `findDisclosable` and `proveEvent`
 */
export function* discloseEvent(vault: Vault, which: EventSelector): Steps<string> {
  const { record, parts } = yield* readSealedParts(which)
  const owners = new Map(parts.map(part => [part.owner, part]))
  const keys = [...owners].map(([owner, part]) => ({ owner, key: vault.recordKey(part, record).key }))
  return writeDisclosure({ proof: yield* proveEvent(which), keys, parts })
}

interface SealedRow extends OwnerKey {
  readonly name: string
  readonly sealed: Uint8Array
}

/** Reads the parts of an event that are encrypted under keys of its record. */
function* readSealedParts(which: EventSelector): Steps<{ record: string; parts: readonly SealedRow[] }> {
  const { position, header } = yield* findEvent(which)
  const { stream, version, parts = [] } = parseHeader(header)
  const record = `${stream}/${version}`
  const marks: readonly PartMark[] = parts
  const own = new Set(marks.flatMap(({ name, recordKey }) => (recordKey === undefined ? [] : [name])))
  if (own.size === 0) {
    throw new AverbaError('INVALID_INPUT', `Cannot disclose "${record}": it has no key of its own`, {
      hint: 'Set the option recordKeys: later events get their own keys',
    })
  }
  const stored = yield* rows<SealedRow>({ sql: selectParts, parameters: [position] })
  const found = stored.filter(({ name }) => own.has(name))
  if (found.length > 0) return { record, parts: found }
  throw new AverbaError('NOT_FOUND', `Cannot disclose "${record}": its parts were destroyed`)
}

const selectParts = `select part.name, part.sealed, owner_key.owner, owner_key.epoch, owner_key.wrapped,
  owner_key.commitment from part join owner_key on owner_key.key = part.owner
  where part.position = ? order by part.name`
