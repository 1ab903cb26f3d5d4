import { expect, test } from 'vitest'
import { Decisions } from '../../../src/engine/recording/decisions.ts'
import { Recorder } from '../../../src/engine/recording/recorder.ts'
import { budgetMachine } from '../../../src/machines/budget.ts'
import type { Machine } from '../../../src/machines/definition/machine.ts'
import { subjectMachine } from '../../../src/machines/subject/subject.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import type { ReadFilter } from '../../../src/store/log/read.ts'
import type { Store } from '../../../src/store/store.ts'
import type { Json, RecordedEvent } from '../../../src/vocabulary/message.ts'
import { openStore } from '../../support/store.ts'

const stream = 'budget-2026-11-20'
const max = 100

const waiting = { closing: new AbortController().signal, onTrouble: () => undefined }

/** A store that reports every page that it reads. */
function watched(store: Store, onRead: (events: readonly RecordedEvent[], filter: ReadFilter) => unknown): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name !== 'read') return Reflect.get(target, name, target).bind(target)
      return async (filter: ReadFilter) => {
        const events = await target.read(filter)
        await onRead(events, filter)
        return events
      }
    },
  })
}

function recorderOf(store: Store, machine: Machine): Recorder {
  return new Recorder(store, systemClock, new Decisions(store, [machine]), () => undefined, waiting)
}

async function spend(recorder: Recorder | undefined, n: number, most = max) {
  const message = { type: 'budget.spend', data: { for: `v${n}`, max: most } }
  const receipt = { commandId: `c${n}`, digest: new Uint8Array([1]) }
  await recorder?.record(async () => ({ targets: [{ stream, message }] }), { isCommand: true, receipt })
}

test('after a conflict, only the new events of the stream are read', async () => {
  const store = await openStore()
  let read = 0
  const counted = watched(store, events => {
    read += events.length
  })
  const processes = [1, 2].map(() => recorderOf(counted, budgetMachine))
  for (let n = 0; n < max; n++) await spend(processes[n % 2], n)
  // Before each call, the other process has appended one event; the decision sees the newest state.
  expect(read).toBeLessThan(2 * max)
  for (const n of [max, max + 1])
    await expect(spend(processes[n % 2], n)).rejects.toMatchObject({ code: 'BUDGET_SPENT' })
})

test('a long stream is read without events that change no state, and decided on its newest version', async () => {
  const store = await openStore()
  const known = recorderOf(store, subjectMachine)
  const who = 'subject-s'
  const send = (recorder: Recorder, type: string, data: Json = {}) =>
    recorder.record(async () => ({ targets: [{ stream: who, message: { type, data } }] }), {})
  await send(known, 'subject.enrol', { subject: 's' })
  for (let n = 0; n < 250; n++) await send(known, 'subject.sync')
  await send(known, 'subject.schedule', { everyMs: 3_600_000 })
  for (let n = 0; n < 250; n++) await send(known, 'subject.sync')
  const end = (await store.readLast({ stream: who }))?.version ?? 0
  expect(end).toBeGreaterThan(500)
  let read = 0
  const counted = watched(store, events => {
    read += events.length
  })
  const [event] = (await send(recorderOf(counted, subjectMachine), 'subject.schedule', { everyMs: 3_600_000 })).events
  expect(read).toBeLessThan(200)
  expect(event).toBeUndefined()
  await send(recorderOf(counted, subjectMachine), 'subject.sync')
  expect((await store.readLast({ stream: who }))?.version).toBe(end + 1)
})

test('events that another process adds while a long stream is read are included', async () => {
  const store = await openStore()
  const other = recorderOf(store, budgetMachine)
  const long = 150
  for (let n = 0; n < long; n++) await spend(other, n, long + 1)
  let isFirst = true
  const outrun = watched(store, async (_, { exceptTypes }) => {
    if (!exceptTypes || !isFirst) return
    isFirst = false
    await spend(other, long, long + 1)
  })
  const late = spend(recorderOf(outrun, budgetMachine), long + 1, long + 1)
  await expect(late).rejects.toMatchObject({ code: 'BUDGET_SPENT' })
})
