import { writeDisclosure } from '../../proof/disclosure.ts'
import type { OwnerKey, Vault } from '../../vault/vault.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { PartAddress, PartMark } from '../../vocabulary/message.ts'
import { rows, type Steps } from '../database/connection.ts'
import { parseHeader } from '../log/header.ts'
import { type EventSelector, findEvent, proveEvent } from './prove.ts'

/** What can be disclosed of an event: its parts that are there, sealed under keys of its record, and their owners. */
export interface Disclosable {
  readonly parts: readonly PartAddress[]
  readonly owners: readonly string[]
}

/**
 * Finds what can be disclosed of an event.
 *
 * @throws {AverbaError} `NOT_FOUND` when there is no such event, or its parts were destroyed;
 * `INVALID_INPUT` when none of its parts is sealed under a key of the record
 */
export function* findDisclosable(which: EventSelector): Steps<Disclosable> {
  const { record, parts } = yield* readSealedParts(which)
  return {
    parts: parts.map(({ name }) => `${record}/${name}`),
    owners: [...new Set(parts.map(part => part.owner))],
  }
}

/**
 * Writes the proof of an event under the newest checkpoint, with its sealed parts and the keys of its record.
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

/** The parts of an event that a key of its record opens. */
function* readSealedParts(which: EventSelector): Steps<{ record: string; parts: readonly SealedRow[] }> {
  const { position, header } = yield* findEvent(which)
  const { stream, version, parts = [] } = parseHeader(header)
  const record = `${stream}/${version}`
  const marks: readonly PartMark[] = parts
  const own = new Set(marks.flatMap(({ name, recordKey }) => (recordKey === undefined ? [] : [name])))
  if (own.size === 0) {
    throw new AverbaError('INVALID_INPUT', `Cannot disclose "${record}": it has no key of its own`, {
      hint: 'The option recordKeys gives the events that are recorded from then on keys of their own',
    })
  }
  const there = yield* rows<SealedRow>({ sql: selectParts, parameters: [position] })
  const found = there.filter(({ name }) => own.has(name))
  if (found.length > 0) return { record, parts: found }
  throw new AverbaError('NOT_FOUND', `Cannot disclose "${record}": its parts were destroyed`)
}

const selectParts = `select part.name, part.sealed, owner_key.owner, owner_key.epoch, owner_key.wrapped,
  owner_key.commitment from part join owner_key on owner_key.key = part.owner
  where part.position = ? order by part.name`
