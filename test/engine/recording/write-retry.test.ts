import { expect, test } from 'vitest'
import { WriteRetry } from '../../../src/engine/recording/recorder.ts'
import { VirtualClock } from '../../../src/simulation/world/virtual-clock.ts'
import { KeyringUnreadableError } from '../../../src/vault/keyring.ts'
import { AverbaError } from '../../../src/vocabulary/errors.ts'
import { minuteMs } from '../../support/pass-time.ts'

const full = new AverbaError('STORE_UNSAFE', 'The disk is full')

function givenFullDisk() {
  const clock = new VirtualClock()
  const closing = new AbortController()
  const reported: string[] = []
  const retry = new WriteRetry(clock, { closing: closing.signal, onTrouble: what => void reported.push(what) })
  const disk = { isFull: true, tries: 0 }
  /** Records something, which fails with the given error, if any, also on a disk with space. */
  const record = (errorNow: () => unknown = () => undefined) =>
    retry.retryUntilWritable(async () => {
      disk.tries += 1
      const error = errorNow() ?? (disk.isFull ? full : undefined)
      if (error !== undefined) throw error
    }, 'the answer')
  return { clock, closing, disk, reported, record }
}

const statusesOf = async (recording: Promise<void>[]) =>
  (await Promise.allSettled(recording)).map(({ status }) => status)
const ten = <T>(make: () => T) => Array.from({ length: 10 }, make)

test('one caller retries while the disk is full, and all succeed once it has space', async () => {
  const { clock, disk, reported, record } = givenFullDisk()
  const ended = statusesOf(ten(record))
  await clock.advance(60 * minuteMs)
  // Each tried at once; then one retried after 1, 3, 7, 15, 31 and 63 s, and once a minute.
  expect(disk.tries).toBe(10 + 6 + 58)
  disk.isFull = false
  await clock.advance(minuteMs)
  expect(await ended).toEqual(ten(() => 'fulfilled'))
  const waits = 'the answer cannot be recorded: it waits until the store can be written'
  expect(reported).toEqual(ten(() => waits))
})

test('when the log is closing one caller tries once a second for ten, and each a last time', async () => {
  const { clock, closing, disk, reported, record } = givenFullDisk()
  const ended = statusesOf(ten(record))
  await clock.quiet()
  closing.abort()
  await clock.advance(10_000)
  expect(await ended).toEqual(ten(() => 'rejected'))
  // One at once, and one after each second.
  expect(disk.tries).toBe(10 + 1 + 10 + 9)
  const lost = 'the answer could not be recorded before closing'
  expect(reported.slice(10)).toEqual(ten(() => lost))
})

test('a permanent error of the retrying caller does not stop the others', async () => {
  const { clock, disk, record } = givenFullDisk()
  const odd = record(() => (disk.isFull ? undefined : new TypeError('odd')))
  const ended = statusesOf([odd, record()])
  await clock.quiet()
  disk.isFull = false
  await clock.advance(2_000)
  expect(await ended).toEqual(['rejected', 'fulfilled'])
})

test('a caller that keeps failing does not block callers that wait for another reason', async () => {
  const { clock, closing, disk, record } = givenFullDisk()
  const damaged = new AverbaError('KEYS_MISMATCH', 'A key of one owner')
  const away = new KeyringUnreadableError(new AverbaError('KEYS_MISSING', 'The key service'))
  await expect(record(() => damaged)).rejects.toBe(damaged)
  const waiting = record(() => away)
  const ended = statusesOf([record(), record()])
  await clock.advance(5 * minuteMs)
  disk.isFull = false
  await clock.advance(minuteMs)
  expect(await ended).toEqual(['fulfilled', 'fulfilled'])
  const thrown = expect(waiting).rejects.toBe(away)
  closing.abort()
  await clock.finish(thrown)
})
