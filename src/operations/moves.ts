import { systemClock } from '../runtime/clock.ts'
import { createIds, systemEntropy } from '../runtime/entropy.ts'
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
import { verifyLog } from './audit.ts'
import { type OpenedWith, withStore } from './with-store.ts'

/** See `copyStore` of src/index.ts. */
export async function copyStore({ from, to, onProgress }: CopyOptions): Promise<Copied> {
  const { rootKey } = from
  const [kept, keptThere] = [keyringOf(from, systemEntropy), keyringOf(to, systemEntropy)]
  const { path, medium } = await placeOf(to)
  // A log must not leave for a place that is wrong.
  await checkPlace(from, to, kept, keptThere)
  const target = await (medium?.open() ?? openFile(path))
  let move = ''
  let copied: Copied
  try {
    await target.transact(() => migrate(target, path))
    await leavePlace(from)
    await using reading = await openReading(from)
    move = (await reading.read(readMove)) ?? ''
    await copyKeyring(kept, keptThere)
    copied = await copyRows(reading, target, onProgress)
  } finally {
    await target.close()
  }
  const { faults } = await verifyLog({ ...to, ...(rootKey && { rootKey }) })
  const [worst] = faults
  if (worst) {
    throw new AverbaError('CORRUPT', `Cannot move the log: its copy has a fault: ${worst.examples[0]}`, {
      hint: 'Verify the log at its former place',
    })
  }
  await withStore({ ...to, ...(rootKey && { rootKey }) }, store => store.append(arrive(move, copied, now())), {
    isArriving: true,
  })
  return copied
}

/** Checks that the new place has nothing yet, unless the log has left for it already: `copyRows` compares them then. */
async function checkPlace(from: OpenedWith, to: LogPlace, kept: KeyringStore, keptThere: KeyringStore): Promise<void> {
  await using reading = await openReading(from)
  if ((await reading.read(readMove)) !== undefined) return
  await checkKeyringPlace(kept, keptThere)
  const there = await openReading(to).catch((error: unknown) => {
    if (error instanceof AverbaError && error.code === 'NOT_FOUND') return undefined
    throw error
  })
  if (!there) return
  const events = await there.read(endOfLog).finally(() => there.close())
  if (events > 0) throw occupiedError()
}

/** Records that the log leaves its place, unless that was done before. */
async function leavePlace(from: OpenedWith): Promise<void> {
  await using reading = await openReading(from)
  if ((await reading.read(readMove)) !== undefined) return
  await reading.read(() => checkIdle(reading.dialect, now()))
  await withStore(from, async store => {
    await store.append(leave(`move_${createIds(systemClock, systemEntropy)()}`, now()))
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
