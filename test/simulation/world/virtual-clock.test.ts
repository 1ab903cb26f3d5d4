import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { yieldToEventLoop } from '../../../src/runtime/event-loop.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { toInstant } from '../../../src/vocabulary/instant.ts'

const second = 1_000

/** Wakes again and again, and writes down when. */
async function tick(
  clock: VirtualClock,
  everyMs: number,
  what: string,
  woken: string[],
  times = Number.MAX_VALUE,
) {
  for (let i = 0; i < times; i++) {
    await clock.sleep(everyMs, undefined, what)
    woken.push(`${what} ${toInstant(clock.now()).slice(17, 23)}`)
  }
}

test('everybody is woken at their own time, those of the same time in the order in which they went to sleep', async () => {
  const clock = new VirtualClock()
  const woken: string[] = []
  void tick(clock, 2 * second, 'slow', woken)
  void tick(clock, second, 'fast', woken)
  await clock.advance(4 * second)
  expect(woken).toEqual([
    'fast 01.000',
    'slow 02.000',
    'fast 02.000',
    'fast 03.000',
    'slow 04.000',
    'fast 04.000',
  ])
})

test('what follows from a waking has ended before the next one, however many turns of the event loop it takes', async () => {
  const clock = new VirtualClock()
  const seen: number[] = []
  const work = async (turns: number) => {
    await clock.sleep(second)
    const at = clock.now()
    for (let i = 0; i < turns; i++) {
      await yieldToEventLoop()
      for (let j = 0; j < 50; j++) await undefined
    }
    seen.push(turns, clock.now() - at)
  }
  const all = Promise.all([work(100), work(0), work(10)])
  await clock.advance(second)
  await all
  expect(seen).toEqual([100, 0, 0, 0, 10, 0])
})

test('work of the outside is waited for when the clock was told of it', async () => {
  const server = createServer((_, response) => response.end('aqui'))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const clock = new VirtualClock()
  const seen: string[] = []
  const ask = async () => {
    await clock.sleep(second)
    seen.push(await clock.hold(fetch(url).then(response => response.text())))
  }
  void ask()
  void clock.sleep(2 * second).then(() => seen.push('later'))
  await clock.advance(2 * second)
  expect(seen).toEqual(['aqui', 'later'])
  await expect(clock.hold(Promise.reject(new Error('no answer')))).rejects.toThrow('no answer')
  await clock.quiet()
  await new Promise(resolve => server.close(resolve))
})

test('what arrives does so one after the other, each when everything before has had its effect', async () => {
  const clock = new VirtualClock()
  const seen: string[] = []
  const arrive = async (name: string, turns: number) => {
    await clock.arrive()
    seen.push(`${name} begins`)
    for (let i = 0; i < turns; i++) await yieldToEventLoop()
    seen.push(`${name} ends`)
  }
  await Promise.all([arrive('a', 9), arrive('b', 0), clock.sleep(0).then(() => arrive('c', 3))])
  expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
})

test('the clock runs until something has happened, and stands where it did', async () => {
  const clock = new VirtualClock('2026-11-20T12:00:00.000Z')
  const woken: string[] = []
  void tick(clock, second, 'a look', woken)
  await clock.runUntil(async () => woken.length >= 3)
  expect(toInstant(clock.now())).toBe('2026-11-20T12:00:03.000Z')
  await clock.runUntil(() => true)
  expect(woken).toHaveLength(3)
})

test('what can no longer happen is an error, and not a wait', async () => {
  const clock = new VirtualClock('2026-11-20T12:00:00.000Z')
  void clock.sleep(second)
  await expect(clock.runUntil(() => false)).rejects.toMatchObject({
    code: 'NOTHING_DUE',
    message: 'Cannot run on from 2026-11-20T12:00:01.000Z: no timer is left and the predicate is still false',
  })
})

test('the clock runs to idle, through what the woken sleep for in turn', async () => {
  const clock = new VirtualClock()
  const woken: string[] = []
  void tick(clock, second, 'a try', woken, 20)
  const stop = new AbortController()
  void clock.sleep(99 * second, stop.signal).then(() => woken.push('told to stop'))
  void clock.sleep(5 * second).then(() => stop.abort())
  await clock.runToIdle()
  expect(woken).toHaveLength(21)
  expect(woken).toContain('told to stop')
  expect(clock.sleeping).toBe(0)
})

test('a timer without an end is named', async () => {
  const clock = new VirtualClock('2026-11-20T12:00:00.000Z')
  void tick(clock, second, 'a look', [])
  void tick(clock, 10 * second, 'a rare look', [])
  const endless = {
    code: 'ENDLESS',
    message: 'Cannot run to the end: at 2026-11-20T12:01:31.000Z "a look" was woken 91 of 100 times',
    hint: expect.stringContaining('averba.run'),
  }
  await expect(clock.runToIdle({ wakesMax: 100 })).rejects.toMatchObject(endless)
  await expect(clock.runUntil(() => false, { wakesMax: 100 })).rejects.toMatchObject({ code: 'ENDLESS' })
})

test('exactly as many wakings as are allowed are no error where nobody is left', async () => {
  const clock = new VirtualClock()
  const woken: string[] = []
  void tick(clock, second, 'a try', woken, 100)
  await clock.runToIdle({ wakesMax: 100 })
  expect(woken).toHaveLength(100)
})

test('a clock that jumps shows another time, and wakes nobody earlier or later for it', async () => {
  const clock = new VirtualClock('2026-11-20T12:00:00.000Z')
  const woken: string[] = []
  void tick(clock, 10 * second, 'a look', woken, 2)
  clock.jump(-3_600 * second)
  expect(toInstant(clock.now())).toBe('2026-11-20T11:00:00.000Z')
  await clock.advance(9 * second)
  expect(woken).toEqual([])
  clock.jump(7_200 * second)
  await clock.advance(second)
  expect(woken).toEqual(['a look 10.000'])
  expect(toInstant(clock.now())).toBe('2026-11-20T13:00:10.000Z')
})

test.each([
  ['advance', Number.NaN, 'Cannot advance by NaN ms'],
  ['advance', Number.POSITIVE_INFINITY, 'Cannot advance by Infinity ms'],
  ['advance', -5, 'Cannot advance by -5 ms'],
  ['advance', 1e300, 'Cannot advance by 1e+300 ms'],
  ['advance', '1000', 'Cannot advance by something that is not a number'],
  ['advance', undefined, 'Cannot advance by something that is not a number'],
  ['jump', Number.NaN, 'Cannot jump by NaN ms'],
  ['jump', Number.NEGATIVE_INFINITY, 'Cannot jump by -Infinity ms'],
  ['jump', '1000', 'Cannot jump by something that is not a number'],
] as const)('%s(%o) is refused, and the clock stands where it did', async (call, ms, message) => {
  const clock = new VirtualClock('2026-11-20T12:00:00.000Z')
  void tick(clock, second, 'a look', [])
  const moving = async () => clock[call](ms as number) // Not all are: that is the point.
  await expect(moving()).rejects.toMatchObject({ code: 'INVALID_INPUT', message })
  expect(toInstant(clock.now())).toBe('2026-11-20T12:00:00.000Z')
  await clock.advance(second)
  expect(toInstant(clock.now())).toBe('2026-11-20T12:00:01.000Z')
})

test('a clock starts at a time', () => {
  const start = (at: string) => () => new VirtualClock(at)
  expect(start('tomorrow')).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
})

test('of a process that has ended nobody is woken', async () => {
  const clock = new VirtualClock()
  const process = clock.forProcess()
  const woken: string[] = []
  void process.sleep(second).then(() => woken.push('of the process'))
  void clock.sleep(second).then(() => woken.push('another'))
  process.end()
  void process.sleep(0).then(() => woken.push('of the process'))
  await clock.advance(2 * second)
  expect(woken).toEqual(['another'])
  expect(process.now()).toBe(clock.now())
})

test('several may move a clock at once: it goes from one due time to the next all the same', async () => {
  const clock = new VirtualClock()
  const begin = clock.now()
  const seen: number[] = []
  const sleep = async (...all: number[]) => {
    for (const ms of all) {
      await clock.sleep(ms)
      seen.push(clock.now() - begin)
    }
  }
  await Promise.all([clock.finish(sleep(1_000, 1_000)), clock.finish(sleep(5_000)), clock.runToIdle()])
  expect(seen).toEqual([1_000, 2_000, 5_000])
  await Promise.all([clock.advance(500), clock.runUntil(() => clock.now() >= begin + 5_250), sleep(100, 150)])
  expect(seen.slice(3)).toEqual([5_100, 5_250])
  expect(clock.now() - begin).toBe(5_500)
})

/** Work that looks every second whether there is something to do, until it is told to stop. */
function looking(clock: VirtualClock) {
  const stop = new AbortController()
  const over = (async () => {
    while (!stop.signal.aborted) await clock.sleep(1_000, stop.signal)
  })()
  return { stop: () => stop.abort(), over }
}

test('who moves a clock without an end goes no further than somebody who moves it to one', async () => {
  const clock = new VirtualClock()
  const begin = clock.now()
  const { stop, over } = looking(clock)
  let isDone = false
  const advanced = clock.advance(60_500).then(() => {
    expect(clock.now() - begin).toBe(60_500)
    isDone = true
  })
  await Promise.all([advanced, clock.runUntil(() => isDone)])
  expect(clock.now() - begin).toBe(60_500)
  await clock.finish(clock.advance(10_000))
  expect(clock.now() - begin).toBe(70_500)
  stop()
  await over
})

test('who waits for a clock while it is asked whether it is over keeps nobody from moving it', async () => {
  const clock = new VirtualClock()
  const begin = clock.now()
  const asked: number[] = []
  const isOver = async () => {
    asked.push(clock.now() - begin)
    await clock.sleep(1_000)
    return asked.length === 3
  }
  await Promise.all([clock.advance(10_000), clock.runUntil(isOver)])
  expect(asked).toHaveLength(3)
  expect(clock.now() - begin).toBe(10_000)
})

test('a sleep for no number is refused, and one without an end is none that comes due', async () => {
  const clock = new VirtualClock()
  const begin = clock.now()
  expect(() => clock.sleep(Number.NaN)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
  void clock.sleep(Number.POSITIVE_INFINITY)
  await clock.advance(1_000)
  await clock.runToIdle()
  expect(clock.now() - begin).toBe(1_000)
})
