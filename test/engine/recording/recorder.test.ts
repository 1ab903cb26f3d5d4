import { expect, test } from 'vitest'
import { type DecisionRequest, Decisions } from '../../../src/engine/recording/decisions.ts'
import { Recorder } from '../../../src/engine/recording/recorder.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { openStore } from '../../support/store.ts'

async function given() {
  const store = await openStore()
  const ignore = () => undefined
  const waiting = { closing: new AbortController().signal, onTrouble: ignore }
  const recorder = new Recorder(store, systemClock, new Decisions(store, []), ignore, waiting)
  const held = Promise.withResolvers<DecisionRequest>()
  const nothing = { targets: [] }
  const statusesOf = async (waiting: ReturnType<Recorder['record']>[]) =>
    new Set((await Promise.all(waiting)).map(made => made.status))
  return { store, recorder, held, nothing, statusesOf }
}

test('commands in progress are limited wherever they wait, and do not block facts', async () => {
  const { recorder, held, nothing, statusesOf } = await given()
  const record = (n: number) =>
    recorder.record(() => held.promise, {
      isCommand: true,
      receipt: { commandId: `c${n}`, digest: new Uint8Array([1]) },
    })
  const waiting = Array.from({ length: 10_000 }, (_, n) => record(n))
  await expect(record(10_000)).rejects.toMatchObject({ code: 'STORE_BUSY' })
  expect(recorder.inFlight.commands).toEqual({ count: 10_000, max: 10_000 })
  expect(await recorder.record(async () => nothing, {})).toMatchObject({ status: 'appended' })
  held.resolve(nothing)
  expect(await statusesOf(waiting)).toEqual(new Set(['appended']))
  expect(await record(10_001)).toMatchObject({ status: 'appended' })
  expect(recorder.inFlight.commands.count).toBe(0)
})

test('facts in progress are limited: facts kept by their sender are refused, others wait', async () => {
  const { recorder, held, nothing, statusesOf } = await given()
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
  const receipt = { commandId: 'c', digest: new Uint8Array([1]) }
  expect(await recorder.record(async () => nothing, { isCommand: true, receipt })).toMatchObject({ status: 'appended' })
  held.resolve(nothing)
  expect(await statusesOf([...waiting, ...beyond])).toEqual(new Set(['appended']))
  expect(order).toEqual(Array.from({ length: 10_002 }, (_, n) => n))
  expect(recorder.inFlight.facts.count).toBe(0)
  expect(await record(10_002, true)).toMatchObject({ status: 'appended' })
})

test('a fact that cannot be recorded frees its place for the next', async () => {
  const { recorder, nothing } = await given()
  const held = Promise.withResolvers<DecisionRequest>()
  const failing = Array.from({ length: 10_000 }, () => recorder.record(() => held.promise, {}))
  const next = recorder.record(async () => nothing, {})
  held.reject(new RangeError('the store is missing'))
  expect((await Promise.allSettled(failing)).every(({ status }) => status === 'rejected')).toBe(true)
  expect(await next).toMatchObject({ status: 'appended' })
  expect(recorder.inFlight.facts.count).toBe(0)
})
