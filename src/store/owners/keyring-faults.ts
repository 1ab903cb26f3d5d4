import type { Keyring } from '../../vault/keyring.ts'
import type { RememberedErasures } from '../../vault/stored-keys.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import { first, rows, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import type { HeaderReader } from '../log/header.ts'
import { endOfLog, readErasedAt } from '../log/read.ts'

/** An erasure missing in the log, which was restored from an earlier backup together with the person's data. */
export interface LostErasure {
  readonly subject: string
  readonly at: Instant
}

/** Finds the erasures that the keyring remembers and the store has not carried out, oldest first. */
export function* findLostErasures(headers: HeaderReader, erased: RememberedErasures): Steps<readonly LostErasure[]> {
  const lost: LostErasure[] = []
  for (const [subject, { at, keepsKey }] of Object.entries(erased)) {
    const owner = streamOf('subject', subject)
    const row = yield* first(db.selectFrom('owner_key').select(['is_erased', 'epoch']).where('owner', '=', owner))
    if (!row) continue
    // A later erasure may have kept fewer parts than the one in the store.
    const isOutdated = (yield* readErasedAt(headers, owner)) < at
    if (row.is_erased === 0 || (row.epoch > 0 && !keepsKey) || isOutdated) lost.push({ subject, at })
  }
  return lost.sort((a, b) => (a.at < b.at ? -1 : 1))
}

/** Describes what to do about lost erasures; `undefined` when there are none. */
export function describeLostErasures(lost: readonly LostErasure[]): string | undefined {
  const [oldest] = lost
  if (!oldest) return undefined
  const more = lost.length > namedMax ? ` and ${lost.length - namedMax} more` : ''
  const named = lost.slice(0, namedMax).map(({ subject }) => subject)
  const erasures = lost.length === 1 ? 'one erasure is' : `${lost.length} erasures are`
  const problem = `${erasures} missing in this log, since ${oldest.at}: the data is as before`
  return `${problem}. Erase each again, with ${eraseAgain}: ${named.join(', ')}${more}`
}

const eraseAgain =
  'averba erase --store <log> --subject <ref> --actor <ref> --requester <ref> --legal-basis <text> --backups-kept <days>'
const namedMax = 20

/** Describes how a log is shorter than its keyring remembers; `undefined` when it is not. */
export function* findLengthFault({ size }: Pick<Keyring, 'size'>): Steps<string | undefined> {
  const end = yield* endOfLog()
  return end < size ? `it has ${end} events, and had ${size} when its keyring was written` : undefined
}

/**
 * Lists the owners' keys that do not open with the keyring, and reports when the keyring is older than the log. A key
 * that does not open blocks every later erasure; with an older keyring the log cannot be written.
 */
export function* findUnopenedKeys(keyring: Pick<Keyring, 'unwrap' | 'epoch'>): Steps<string[]> {
  const faults = (yield* isOlderThanLog(keyring)) ? ['the keyring is older than the log: a newer one exists'] : []
  const query = db.selectFrom('owner_key').select(['owner', 'epoch', 'wrapped'])
  const keys = query.where(({ eb, or, fn }) =>
    or([eb('is_erased', '<>', 1), eb('epoch', '<>', 0), eb(fn<number>('length', ['wrapped']), '>', 0)]),
  )
  for (const { epoch, owner, wrapped } of yield* rows(keys)) {
    try {
      keyring.unwrap(wrapped, epoch, owner)
    } catch {
      faults.push(`the key of "${owner}" does not open with the keyring`)
    }
  }
  return faults
}

/** Reports whether the log uses a later epoch than the keyring has, so the keyring is an older copy. */
export function* isOlderThanLog({ epoch }: Pick<Keyring, 'epoch'>): Steps<boolean> {
  const head = yield* first(db.selectFrom('head').select('epoch'))
  return head !== undefined && head.epoch > epoch
}
