import { accessSync, constants } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { systemClock } from '../runtime/clock.ts'
import { createIds, systemEntropy } from '../runtime/entropy.ts'
import { readMark } from '../store/checkpoints/high-water-mark.ts'
import type { Steps } from '../store/database/connection.ts'
import { keyringOf, type LogPlace, openReading } from '../store/database/log-place.ts'
import { migrate } from '../store/database/migrations.ts'
import type { Reading } from '../store/database/reading.ts'
import {
  arrive,
  type Copied,
  checkIdle,
  checkKeyringPlace,
  copyKeyring,
  copyRows,
  leave,
  occupiedError,
  readMove,
  reserve,
} from '../store/files/copy-log.ts'
import { endOfLog } from '../store/log/read.ts'
import { readReservation } from '../store/log/tail.ts'
import { openFile, placeOf } from '../store/opening.ts'
import type { KeyringStore } from '../vault/keyring-store.ts'
import { AverbaError, hasCode } from '../vocabulary/errors.ts'
import { withFileErrors } from '../vocabulary/file-errors.ts'
import { toInstant } from '../vocabulary/instant.ts'
import type { Instant } from '../vocabulary/message.ts'
import { checkKnownNames, isOnPostgres, markPath } from '../vocabulary/names.ts'
import { verifyLog } from './audit.ts'
import { placeNames } from './option-names.ts'
import { type OpenedWith, withStore } from './with-store.ts'

/** See `copyStore` of src/index.ts. */
export async function copyStore({ from, to, onProgress }: CopyOptions): Promise<Copied> {
  checkKnownNames(Object(to), Object.keys(placeNames), { noun: 'option', of: 'the new place' })
  // The one is read while the other is written.
  if (from.pool && from.pool === to.pool && from.pool.options?.max === 1) throw narrowPoolError()
  const there = { ...to, ...(from.rootKey && { rootKey: from.rootKey }) }
  const [kept, keptThere] = [keyringOf(from, systemEntropy), keyringOf(to, systemEntropy)]
  const { path, medium } = await placeOf(to)
  const left = await readLeft(from)
  if (left !== undefined) await checkReserved(to, left)
  else {
    // A log must not leave for a place that is wrong, or in a state that its copy would be refused for.
    await checkPlace(to, kept, keptThere)
    await checkFaults(from, fault => `Cannot move the log: it has a fault: ${fault}`)
  }
  const target = await (medium?.open() ?? openFile(path))
  let [move, copied]: [string, Copied | undefined] = ['', undefined]
  try {
    const id = `move_${createIds(systemClock, systemEntropy)()}`
    move = await target.transact(function* (): Steps<string> {
      yield* migrate(target, path)
      return left ?? (yield* reserve(id))
    })
    if (left === undefined) await leavePlace(from, move)
    await copyKeyring(kept, keptThere)
    await using reading = await openReading(from)
    copied = await copyRows(reading, target, onProgress)
  } finally {
    await target.close()
  }
  await checkFaults(there, fault => `Cannot move the log: its copy has a fault: ${fault}`)
  const arrival = arrive(move, copied, now())
  await withStore(there, store => store.appendAlone(arrival), { isArriving: true })
  return copied
}

function narrowPoolError(): AverbaError {
  return new AverbaError('MISCONFIGURED', 'Cannot move the log: both places share a pool of one connection', {
    hint: 'Give the pool a max of at least 2',
  })
}

/** Reads the move with which a log has left its place. Throws `STORE_BUSY` while a process works with it before. */
async function readLeft(from: OpenedWith): Promise<string | undefined> {
  await using reading = await openReading(from)
  const left = await reading.read(readMove)
  if (left === undefined) await reading.read(() => checkIdle(reading.dialect, now()))
  return left
}

/** Checks that a place was reserved before the log left. Throws `MOVED` for another one: two logs would go on. */
async function checkReserved(to: LogPlace, move: string): Promise<void> {
  const there = await openExisting(to)
  const isReserved = there && ((await there.read(endOfLog)) > 0 || (await there.read(readReservation)) === move)
  await there?.close()
  if (isReserved) return
  throw new AverbaError('MOVED', 'Cannot move the log: it has left for another place', {
    hint: 'Name the place as before. If that is lost, averba resume continues the log at its former place',
  })
}

async function openExisting(to: LogPlace): Promise<Reading | undefined> {
  return openReading(to).catch((error: unknown) => {
    if (hasCode(error, 'NOT_FOUND')) return undefined
    throw error
  })
}

/** Checks that the new place has nothing yet, or what an interrupted copy has put there before the log left. */
async function checkPlace(to: LogPlace, kept: KeyringStore, keptThere: KeyringStore): Promise<void> {
  await checkKeyringPlace(kept, keptThere)
  if (!isOnPostgres(to.store) && readMark(markPath(to.store)) !== undefined) throw occupiedError()
  const { keyring } = to
  const isFile = typeof keyring !== 'object'
  if (isFile)
    withFileErrors('write', keptThere.name, () => accessSync(dirname(resolve(keptThere.name)), constants.W_OK))
  const there = await openExisting(to)
  if (!there) return
  const events = await there.read(endOfLog).finally(() => there.close())
  if (events > 0) throw occupiedError()
}

/** Throws `CORRUPT` for a log that has a fault. Views are built from it anew. */
async function checkFaults(
  { store, pool, keyring, rootKey }: OpenedWith,
  cannot: (fault: string) => string,
): Promise<void> {
  const place = { store, ...(pool && { pool }), ...(keyring && { keyring }), ...(rootKey && { rootKey }) }
  const worst = (await verifyLog(place)).faults.find(({ check }) => check !== 'views')
  if (!worst) return
  throw new AverbaError('CORRUPT', cannot(worst.examples[0] ?? ''), {
    hint: 'Verify the log at its former place',
  })
}

/** Records that the log leaves its place. */
async function leavePlace(from: OpenedWith, move: string): Promise<void> {
  await withStore(from, async store => {
    // A process may have begun to work while the log was verified.
    await store.database.read(() => checkIdle(store.database.dialect, now()))
    await store.appendAlone(leave(move, await store.database.read(endOfLog), now()))
  })
}

function now(): Instant {
  return toInstant(systemClock.now())
}

/** A log, where it is to go, and how its root key is held. */
export interface CopyOptions {
  readonly from: OpenedWith
  readonly to: LogPlace
  readonly onProgress?: (done: number, end: number) => void
}
