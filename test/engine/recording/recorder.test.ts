import { expect, test } from 'vitest'
import type { DecisionRequest } from '../../../src/engine/recording/decisions.ts'
import type { Recorder } from '../../../src/engine/recording/recorder.ts'
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
