import { AverbaError } from '../../vocabulary/errors.ts'
import { each, oneOf, rows, type Steps } from '../database/connection.ts'
import type { Tags } from './tags.ts'

/** A value in the keyed index, with the kind and the keyed digest of the text that it is found by. */
export interface IndexValue {
  readonly kind: string
  readonly digest: Uint8Array
  readonly value: string
}

export const lookUpRows = 100

/**
 * Finds the values under keyed digests of one kind, in the order of the digests.
 *
 * @throws {AverbaError} `CORRUPT` when one was stored under another digest, or without the keys
 */
export function* lookUp(tags: Tags, kind: string, digests: readonly Uint8Array[]): Steps<(string | undefined)[]> {
  const entries = new Map<string, StoredEntry>()
  for (let from = 0; from < digests.length; from += lookUpRows) {
    const page = digests.slice(from, from + lookUpRows)
    const sql = `${selectEntries} ${oneOf('digest', page)}`
    const found = yield* rows<StoredEntry>({ sql, parameters: [kind, ...page] })
    for (const entry of found) entries.set(digestKey(entry.digest), entry)
  }
  return digests.map(digest => {
    const entry = entries.get(digestKey(digest))
    if (!entry || tags.ofEntry(kind, digest, entry.value) === entry.tag) return entry?.value
    throw new AverbaError('CORRUPT', `Cannot use the index of the kind "${kind}": an entry was changed or moved`, {
      hint: 'Find out who can write to the file. averba.rebuildIndex makes the index again from the log',
    })
  })
}

/** Writes entries: those that replace a value in its place, and the others as new ones, which must not exist. */
export function* writeEntries(
  tags: Tags,
  entries: readonly (IndexValue & { readonly replaces?: string })[],
): Steps<void> {
  const row = ({ kind, digest, value }: IndexValue) => [kind, digest, value, tags.ofEntry(kind, digest, value)]
  const isNew = (each: (typeof entries)[number]) => each.replaces === undefined
  yield* each(insertEntry, entries.filter(isNew), row)
  const others = entries.filter(entry => !isNew(entry))
  yield* each(
    `${insertEntry} on conflict (kind, digest) do update set value = excluded.value, tag = excluded.tag`,
    others,
    row,
  )
}

export function digestKey(digest: Uint8Array): string {
  return Buffer.from(digest.buffer, digest.byteOffset, digest.length).toString('latin1')
}

interface StoredEntry {
  readonly digest: Uint8Array
  readonly value: string
  readonly tag: string
}

const selectEntries = 'select digest, value, tag from keyed_index where kind = ? and'
const insertEntry = 'insert into keyed_index (kind, digest, value, tag) values (?, ?, ?, ?)'
