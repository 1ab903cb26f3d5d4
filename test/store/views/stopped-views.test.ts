import { expect, test } from 'vitest'
import { VirtualClock } from '../../../src/simulation/index.ts'
import type { View } from '../../../src/vocabulary/view.ts'
import { append, appendDuring, type Breaks, checkpointOf, counting, rowsOf, sumOf } from '../../support/counting.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { tamper } from '../../support/use-database.ts'

const { signal } = new AbortController()

/** Opens a store on a clock that the test moves, and records what happens to its views. */
async function given(views: readonly View[], path = temporaryStore()) {
  const clock = new VirtualClock()
  const reported: string[] = []
  const store = await openStore({
    ...{ path, views, clock },
    onViewStopped: view => reported.push(`${view} stopped`),
    onViewBack: view => reported.push(`${view} is back`),
  })
  const fragile = () => checkpointOf(store, 'fragile')
  return { clock, reported, store, path, fragile, retry: () => store.retryStoppedViews(signal) }
}

/** The same with a view that fails at an event, until the test mends it. */
async function givenFragile(breaks: Breaks, ...others: View[]) {
  return { breaks, ...(await given([counting('fragile', breaks), ...others])) }
}

test.each(['throw', 'badCell'] as const)(
  'a stopped view (%s) that is fixed comes back while the process runs and others append',
  async how => {
    const { breaks, store, reported, fragile, retry } = await givenFragile({ at: 30, with: how }, counting('steady'))
    await append(store, 20)
    await append(store, 2_500)
    expect(await fragile()).toMatchObject({ isRunning: false, position: 21 })
    delete breaks.at
    const { appended } = await appendDuring(retry(), store)
    // It did not block appends: some were made between its pages.
    expect(appended).toBeGreaterThan(10)
    await append(store, 10)
    expect(reported).toEqual(['fragile stopped', 'fragile is back'])
    expect(await fragile()).toMatchObject({ isRunning: true, reason: '' })
    expect(await rowsOf(store, 'fragile')).toEqual(await rowsOf(store, 'steady'))
    expect(await store.rebuild()).toMatchObject([{ differences: 0 }, { differences: 0 }])
  },
)

test('a view that keeps failing stays stopped, is reported each time, and is retried less and less often', async () => {
  const { store, clock, reported, fragile, retry } = await givenFragile({ at: 15, with: 'throw' })
  for (let i = 0; i < 2; i++) await append(store, 10)
  const seconds: number[] = []
  for (let second = 0; second <= 1_200; second++) {
    const before = reported.length
    await retry()
    if (reported.length > before) seconds.push(second)
    await clock.advance(1_000)
  }
  expect(seconds).toEqual([0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 811, 1_111])
  expect(new Set(reported)).toEqual(new Set(['fragile stopped']))
  const reason = 'RangeError at position 15'
  expect(await fragile()).toMatchObject({ isRunning: false, position: 11, reason })
  expect(await sumOf(store, 'fragile')).toBe(10)
})

test.each([
  ['throw', 'RangeError'],
  ['badCell', 'ERR_SQLITE_ERROR'],
] as const)('a fixed view that fails later (%s) reports it, and stops right before its page', async (how, error) => {
  const { breaks, store, fragile, retry } = await givenFragile({ at: 15, with: 'throw' })
  await append(store, 10)
  await append(store, 1_000)
  Object.assign(breaks, { at: 700, with: how })
  await retry()
  const reason = `${error} at position 700`
  expect(await fragile()).toMatchObject({ isRunning: false, position: 511, reason })
  expect(await sumOf(store, 'fragile')).toBe(510)
})

test('two processes that restart the same view fold no event twice, and only one reports it', async () => {
  const one = await givenFragile({ at: 15, with: 'throw' })
  const other = await given([counting('fragile', one.breaks)], one.path)
  await append(one.store, 3_000)
  delete one.breaks.at
  const { appended } = await appendDuring(Promise.all([one.retry(), other.retry()]), one.store, other.store)
  for (const { store } of [other, one]) await append(store, 5)
  expect(await sumOf(one.store, 'fragile')).toBe(3_000 + appended + 10)
  expect([...one.reported, ...other.reported].filter(line => line === 'fragile is back')).toHaveLength(1)
  expect(await one.store.rebuild()).toMatchObject([{ differences: 0 }])
})

test('a view that keeps stopping is restarted only after growing waits', async () => {
  const { breaks, store, clock, fragile, reported, retry } = await givenFragile({ with: 'throw' })
  /** Stops the view every second, and returns the seconds in which it came back. */
  const stopping = async (until: number) => {
    const seconds: number[] = []
    for (let second = 0; second < until; second++) {
      breaks.at = ((await fragile())?.position ?? 0) + 1
      await append(store, 1)
      delete breaks.at
      const before = reported.length
      await retry()
      if (reported.slice(before).includes('fragile is back')) seconds.push(second)
      await retry()
      await clock.advance(1_000)
    }
    return seconds
  }
  expect(await stopping(40)).toEqual([0, 1, 3, 7, 15, 31])
  await clock.advance(60_000)
  await retry()
  await clock.advance(64_000)
  // It has run for longer than it would have waited.
  await retry()
  expect(await stopping(10)).toEqual([0, 1, 3, 7])
})

test('restarting a view stops between two pages on a signal, and continues from there', async () => {
  const { breaks, store, clock, fragile, retry } = await givenFragile({ at: 2, with: 'throw' })
  await append(store, 2_000)
  delete breaks.at
  const stop = new AbortController()
  setImmediate(() => stop.abort())
  await store.retryStoppedViews(stop.signal)
  const { position = 0, isRunning } = (await fragile()) ?? {}
  expect([isRunning, position > 1, position < 2_001]).toEqual([false, true, true])
  await clock.advance(1_000)
  await retry()
  expect(await fragile()).toMatchObject({ isRunning: true, position: 2_001 })
  expect(await sumOf(store, 'fragile')).toBe(2_000)
})

const setHeader = (path: string, position: number, header: string) =>
  tamper(path, `update event set header = ${header} where position = ${position}`)

test.each([
  ['with half a header', 'substr(header, 1, length(header) / 2)'],
  ['with an empty header', "''"],
  ['with an array as header', "'[]'"],
  ['with an object of something else as header', "'{}'"],
])('an event %s stops views that fold it again, with its position, and the log still opens', async (_, header) => {
  const { store, path } = await givenFragile({}, counting('steady'))
  await append(store, 50)
  await store.close()
  setHeader(path, 20, header)
  // The new version, and a process that goes back to the old one.
  for (const version of [2, 3]) {
    const upgraded = { ...counting('fragile'), version }
    const { store: newer, fragile, reported, retry } = await given([upgraded, counting('steady')], path)
    expect(reported).toEqual(['fragile stopped'])
    expect(await fragile()).toMatchObject({ isRunning: false, reason: 'DamagedEvent at position 20' })
    await append(newer, 5)
    expect(await checkpointOf(newer, 'steady')).toMatchObject({ isRunning: true })
    const message = expect.stringMatching(/^Cannot read the event at position 20: /)
    await expect(newer.rebuild({ views: ['fragile'] })).rejects.toMatchObject({ code: 'CORRUPT', message })
    await retry()
    await newer.close()
  }
})

test('a view stopped before an unreadable event reports that, and the log still opens', async () => {
  const { store, path } = await givenFragile({ at: 40, with: 'throw' })
  await append(store, 30)
  await append(store, 50)
  await store.close()
  setHeader(path, 45, "''")
  const { fragile } = await given([counting('fragile')], path)
  const reason = 'DamagedEvent at position 45'
  expect(await fragile()).toMatchObject({ isRunning: false, position: 31, reason })
})
