import { expect, test } from 'vitest'
import type { DecisionRequest } from '../../../src/engine/recording/decisions.ts'
import { type Recorder, WriteRetry } from '../../../src/engine/recording/recorder.ts'
import { VirtualClock } from '../../../src/simulation/world/virtual-clock.ts'
import { KeyringUnreadableError } from '../../../src/vault/keyring.ts'
import { AverbaError } from '../../../src/vocabulary/errors.ts'
import { minuteMs } from '../../support/pass-time.ts'
import { openStore } from '../../support/store.ts'
import { asCommand, recorderOn } from '../recorder-on.ts'

const nothing: DecisionRequest = { targets: [] }
const appended = { status: 'appended' }

/** A recorder whose decisions are held up. */
async function given() {
  const recorder = recorderOn(await openStore())
  const held = Promise.withResolvers<DecisionRequest>()
  const statusesOf = async (waiting: ReturnType<Recorder['record']>[]) =>
    new Set((await Promise.all(waiting)).map(made => made.status))
  return { recorder, held, statusesOf, recordNow: () => recorder.record(async () => nothing, {}) }
}

test('commands in progress are limited wherever they wait, and do not block facts', async () => {
  const { recorder, held, statusesOf, recordNow } = await given()
  const record = (n: number) => recorder.record(() => held.promise, asCommand(n))
  const waiting = Array.from({ length: 10_000 }, (_, n) => record(n))
  await expect(record(10_000)).rejects.toMatchObject({ code: 'STORE_BUSY' })
  expect(recorder.inFlight.commands).toEqual({ count: 10_000, max: 10_000 })
  expect(await recordNow()).toMatchObject(appended)
  held.resolve(nothing)
  expect(await statusesOf(waiting)).toEqual(new Set(['appended']))
  expect(await record(10_001)).toMatchObject(appended)
  expect(recorder.inFlight.commands.count).toBe(0)
})

test('facts in progress are limited: facts kept by their sender are refused, others wait', async () => {
  const { recorder, held, statusesOf } = await given()
  const order: number[] = []
  const record = (n: number, isKeptElsewhere: boolean) => {
    const createRequest = () => {
      order.push(n)
      return held.promise
    }
    return recorder.record(createRequest, { isKeptElsewhere })
  }
  const waiting = Array.from({ length: 10_000 }, (_, n) => record(n, n % 2 === 0))
  await expect(record(-1, true)).rejects.toMatchObject({ code: 'STORE_BUSY' })
  const beyond = [record(10_000, false), record(10_001, false)]
  await expect(record(-2, true)).rejects.toMatchObject({ code: 'STORE_BUSY' })
  expect(order).toHaveLength(10_000)
  expect(recorder.inFlight.facts).toEqual({ count: 10_002, max: 10_000 })
  // Commands have a limit of their own.
  expect(await recorder.record(async () => nothing, asCommand(0))).toMatchObject(appended)
  held.resolve(nothing)
  expect(await statusesOf([...waiting, ...beyond])).toEqual(new Set(['appended']))
  expect(order).toEqual(Array.from({ length: 10_002 }, (_, n) => n))
  expect(recorder.inFlight.facts.count).toBe(0)
  expect(await record(10_002, true)).toMatchObject(appended)
})

test('a fact that cannot be recorded frees its place for the next', async () => {
  const { recorder, held, recordNow } = await given()
  const failing = Array.from({ length: 10_000 }, () => recorder.record(() => held.promise, {}))
  const next = recordNow()
  held.reject(new RangeError('the store is missing'))
  expect((await Promise.allSettled(failing)).every(({ status }) => status === 'rejected')).toBe(true)
  expect(await next).toMatchObject(appended)
  expect(recorder.inFlight.facts.count).toBe(0)
})

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

const endsOf = async (recording: Promise<void>[]) => (await Promise.allSettled(recording)).map(({ status }) => status)
const ten = <T>(make: () => T) => Array.from({ length: 10 }, make)

test('when the log is closing one caller tries once a second for ten, and each a last time', async () => {
  const { clock, closing, disk, reported, record } = givenFullDisk()
  const ended = endsOf(ten(record))
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
  const ended = endsOf([odd, record()])
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
  const ended = endsOf([record(), record()])
  await clock.advance(5 * minuteMs)
  disk.isFull = false
  await clock.advance(minuteMs)
  expect(await ended).toEqual(['fulfilled', 'fulfilled'])
  const thrown = expect(waiting).rejects.toBe(away)
  closing.abort()
  await clock.finish(thrown)
})
