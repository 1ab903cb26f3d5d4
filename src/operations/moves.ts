import { hash } from 'node:crypto'
import { resolve } from 'node:path'
import { systemClock } from '../runtime/clock.ts'
import { createIds, systemEntropy } from '../runtime/entropy.ts'
import { readMark } from '../store/checkpoints/high-water-mark.ts'
import { keyringOf, type LogPlace, openReading } from '../store/database/log-place.ts'
import { migrate } from '../store/database/migrations.ts'
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
} from '../store/files/copy-log.ts'
import { endOfLog } from '../store/log/read.ts'
import { openFile, placeOf } from '../store/opening.ts'
import type { KeyringStore } from '../vault/keyring-store.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { toInstant } from '../vocabulary/instant.ts'
import type { Instant } from '../vocabulary/message.ts'
import { isOnPostgres, markPath } from '../vocabulary/names.ts'
import { verifyLog } from './audit.ts'
import { type OpenedWith, withStore } from './with-store.ts'

/** See `copyStore` of src/index.ts. */
export async function copyStore({ from, to, onProgress }: CopyOptions): Promise<Copied> {
  const there = { ...to, ...(from.rootKey && { rootKey: from.rootKey }) }
  const [kept, keptThere] = [keyringOf(from, systemEntropy), keyringOf(to, systemEntropy)]
  const { path, medium } = await placeOf(to)
  const wanted = digestOf(to)
  // A log must not leave for a place that is wrong, or in a state that its copy would be refused for.
  if (!(await hasLeftFor(from, wanted))) {
    await checkPlace(to, kept, keptThere)
    await checkFaults(from, fault => `Cannot move the log: it has a fault: ${fault}`)
  }
  const target = await (medium?.open() ?? openFile(path))
  let [move, copied]: [string, Copied | undefined] = ['', undefined]
  try {
    await target.transact(() => migrate(target, path))
    await copyKeyring(kept, keptThere)
    move = await leavePlace(from, wanted)
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

/** Names a place so that the log can tell it from others, without saying where it is. */
function digestOf({ store }: LogPlace): string {
  if (!isOnPostgres(store)) return hash('sha256', resolve(store))
  const { hostname, port, pathname, searchParams } = new URL(store)
  return hash('sha256', [hostname, port || '5432', pathname, searchParams.get('schema') ?? 'averba'].join('\n'))
}

/** Whether the log has left its place. Throws `MOVED` when it has left for another one: two logs would go on. */
async function hasLeftFor(from: OpenedWith, wanted: string): Promise<boolean> {
  await using reading = await openReading(from)
  const left = await reading.read(readMove)
  if (left === undefined || left.to === wanted) return left !== undefined
  throw new AverbaError('MOVED', 'Cannot move the log: it has left for another place', {
    hint: 'Name the place as before. If that is lost, averba resume continues the log at its former place',
  })
}

/** Checks that the new place has nothing yet, or what an interrupted copy has put there before the log left. */
async function checkPlace(to: LogPlace, kept: KeyringStore, keptThere: KeyringStore): Promise<void> {
  await checkKeyringPlace(kept, keptThere)
  if (!isOnPostgres(to.store) && readMark(markPath(to.store)) !== undefined) throw occupiedError()
  const there = await openReading(to).catch((error: unknown) => {
    if (error instanceof AverbaError && error.code === 'NOT_FOUND') return undefined
    throw error
  })
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

/** Records that the log leaves its place, unless that was done before. Returns the name of the move. */
async function leavePlace(from: OpenedWith, to: string): Promise<string> {
  await using reading = await openReading(from)
  const left = await reading.read(readMove)
  if (left) return left.move
  await reading.read(() => checkIdle(reading.dialect, now()))
  const move = `move_${createIds(systemClock, systemEntropy)()}`
  await withStore(from, async store => {
    await store.appendAlone(leave({ move, to }, await store.database.read(endOfLog), now()))
  })
  return move
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
