import { expect, test } from 'vitest'
import type { Recorder } from '../../../src/engine/recording/recorder.ts'
import { budgetMachine } from '../../../src/machines/budget.ts'
import { subjectMachine } from '../../../src/machines/subject/subject.ts'
import type { ReadFilter } from '../../../src/store/log/read.ts'
import type { Store } from '../../../src/store/store.ts'
import type { Json } from '../../../src/vocabulary/message.ts'
import { openStore } from '../../support/store.ts'
import { asCommand, recorderOn } from '../recorder-on.ts'

const max = 100

/** A store that counts the events that it reads, and tells of every page. */
function watched(store: Store, onRead: (filter: ReadFilter) => unknown = () => undefined) {
  const seen = { events: 0 }
  const counted = new Proxy(store, {
    get(target, name) {
      if (name !== 'read') return Reflect.get(target, name, target).bind(target)
      return async (filter: ReadFilter) => {
        const events = await target.read(filter)
        seen.events += events.length
        await onRead(filter)
        return events
      }
    },
  })
  return { seen, store: counted }
}

const send = (recorder: Recorder, stream: string, type: string, data: Json, options = {}) =>
  recorder.record(async () => ({ targets: [{ stream, message: { type, data } }] }), options)

const spend = (store: Store, n: number, most = max, recorder = recorderOn(store, [budgetMachine])) =>
  send(recorder, 'budget-2026-11-20', 'budget.spend', { for: `v${n}`, max: most }, asCommand(n))

test('a long stream is read without events that change no state, and decided on its newest version', async () => {
  const { store, seen } = watched(await openStore())
  const known = recorderOn(store, [subjectMachine])
  const tell = (recorder: Recorder, type: string, data: Json = {}) => send(recorder, 'subject-s', type, data)
  const schedule = (recorder: Recorder) => tell(recorder, 'subject.schedule', { everyMs: 3_600_000 })
  await tell(known, 'subject.enrol', { subject: 's' })
  for (let n = 0; n < 250; n++) await tell(known, 'subject.sync')
  await schedule(known)
  for (let n = 0; n < 250; n++) await tell(known, 'subject.sync')
  const readEnd = async () => (await store.readLast({ stream: 'subject-s' }))?.version ?? 0
  const end = await readEnd()
  expect(end).toBeGreaterThan(500)
  seen.events = 0
  expect((await schedule(recorderOn(store, [subjectMachine]))).events).toEqual([])
  expect(seen.events).toBeLessThan(200)
  await tell(recorderOn(store, [subjectMachine]), 'subject.sync')
  expect(await readEnd()).toBe(end + 1)
})

test('events that another process adds while a long stream is read are included', async () => {
  const store = await openStore()
  const long = 150
  const other = recorderOn(store, [budgetMachine])
  for (let n = 0; n < long; n++) await spend(store, n, long + 1, other)
  let isFirst = true
  const outrun = watched(store, async ({ exceptTypes }) => {
    if (!exceptTypes || !isFirst) return
    isFirst = false
    await spend(store, long, long + 1, other)
  })
  await expect(spend(outrun.store, long + 1, long + 1)).rejects.toMatchObject({ code: 'BUDGET_SPENT' })
})
