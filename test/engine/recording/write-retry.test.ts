import { expect, test } from 'vitest'
import { WriteRetry } from '../../../src/engine/recording/recorder.ts'
import { VirtualClock } from '../../../src/simulation/world/virtual-clock.ts'
import { KeyringUnreadableError } from '../../../src/vault/keyring.ts'
import { AverbaError } from '../../../src/vocabulary/errors.ts'

const minuteMs = 60_000

function givenFullDisk() {
  const clock = new VirtualClock()
  const closing = new AbortController()
  const reported: string[] = []
  const knocking = new WriteRetry(clock, {
    closing: closing.signal,
    onTrouble: what => void reported.push(what),
  })
  const disk = { isFull: true, tries: 0 }
  const answers = Array.from({ length: 10 }, (_, i) =>
    knocking.retryUntilWritable(async () => {
      disk.tries += 1
      if (disk.isFull) throw new AverbaError('STORE_UNSAFE', 'The disk is full')
      return i
    }),
  )
  return { clock, closing, disk, reported, taken: Promise.allSettled(answers) }
}

const waits = 'the result of a call cannot be recorded: it waits until the store can be written'

test('one caller retries while the disk is full, and all succeed once it has space', async () => {
  const { clock, disk, reported, taken } = givenFullDisk()
  await clock.advance(60 * minuteMs)
  // Each tried at once; then one retried after 1, 3, 7, 15, 31 and 63 s, and once a minute.
  expect(disk.tries).toBe(10 + 6 + 58)
  disk.isFull = false
  await clock.advance(minuteMs)
  expect(await taken).toEqual(Array.from({ length: 10 }, (_, i) => ({ status: 'fulfilled', value: i })))
  expect(reported).toEqual(Array(10).fill(waits))
})

test('every caller tries a last time when the log is closing', async () => {
  const { closing, disk, reported, taken } = givenFullDisk()
  await Promise.resolve()
  closing.abort()
  const ended = await taken
  expect(ended.map(each => each.status)).toEqual(Array(10).fill('rejected'))
  expect(disk.tries).toBe(20)
  expect(reported.slice(10)).toEqual(Array(10).fill('the result of a call could not be recorded before closing'))
})

test('a permanent error of the retrying caller does not stop the others', async () => {
  const clock = new VirtualClock()
  const knocking = new WriteRetry(clock, {
    closing: new AbortController().signal,
    onTrouble: () => undefined,
  })
  let isFull = true
  const giving = (error: unknown) =>
    knocking.retryUntilWritable(async () => {
      if (isFull) throw new AverbaError('STORE_UNSAFE', 'The disk is full')
      if (error) throw error
      return 'taken'
    })
  const ended = Promise.allSettled([giving(new TypeError('odd')), giving(undefined)])
  await clock.quiet()
  isFull = false
  await clock.advance(2_000)
  expect((await ended).map(each => each.status)).toEqual(['rejected', 'fulfilled'])
})

test('a caller that keeps failing does not block callers that wait for another reason', async () => {
  const clock = new VirtualClock()
  const closing = new AbortController()
  const knocking = new WriteRetry(clock, { closing: closing.signal, onTrouble: () => undefined })
  const damaged = new AverbaError('KEYS_MISMATCH', 'A key of one owner')
  const away = new KeyringUnreadableError(new AverbaError('KEYS_MISSING', 'The key service'))
  let isFull = true
  const giving = (error: unknown) =>
    knocking.retryUntilWritable(async () => {
      if (error) throw error
      if (isFull) throw new AverbaError('STORE_UNSAFE', 'The disk is full')
      return 'taken'
    })
  await expect(giving(damaged)).rejects.toBe(damaged)
  const waiting = giving(away)
  const ended = Promise.all([giving(undefined), giving(undefined)])
  await clock.advance(5 * minuteMs)
  isFull = false
  await clock.advance(minuteMs)
  expect(await ended).toEqual(['taken', 'taken'])
  closing.abort()
  await expect(waiting).rejects.toBe(away)
})
