import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { yieldToEventLoop } from '../../../src/runtime/event-loop.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { toInstant } from '../../../src/vocabulary/instant.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'

const second = 1_000

/** Sleeps repeatedly and records the times of waking. */
async function tick(clock: VirtualClock, everyMs: number, what: string, woken: string[], times = Number.MAX_VALUE) {
  for (let i = 0; i < times; i++) {
    await clock.sleep(everyMs, undefined, what)
    woken.push(`${what} ${toInstant(clock.now()).slice(17, 23)}`)
  }
}

test('sleepers wake at their own time, and at the same time in order of sleeping', async () => {
  const clock = new VirtualClock()
  const woken: string[] = []
  void tick(clock, 2 * second, 'slow', woken)
  void tick(clock, second, 'fast', woken)
  await clock.advance(4 * second)
  expect(woken).toEqual(['fast 01.000', 'slow 02.000', 'fast 02.000', 'fast 03.000', 'slow 04.000', 'fast 04.000'])
})

test('the work of a woken sleeper ends before the next sleeper wakes', async () => {
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

test('the clock waits for outside work that was registered with hold', async () => {
  const server = createServer((_, response) => response.end('aqui'))
  const url = `http://127.0.0.1:${await listenUntilEnd(server)}`
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
})

test('arrivals come one at a time, each after all effects of the one before', async () => {
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

test('runUntil stops at the time when the predicate becomes true', async () => {
  const clock = new VirtualClock('2026-11-20T12:00:00.000Z')
  const woken: string[] = []
  void tick(clock, second, 'a look', woken)
  await clock.runUntil(async () => woken.length >= 3)
  expect(toInstant(clock.now())).toBe('2026-11-20T12:00:03.000Z')
  await clock.runUntil(() => true)
  expect(woken).toHaveLength(3)
})

test('runUntil throws when no timer is left and the predicate is still false', async () => {
  const clock = new VirtualClock('2026-11-20T12:00:00.000Z')
  void clock.sleep(second)
  await expect(clock.runUntil(() => false)).rejects.toMatchObject({
    code: 'NOTHING_DUE',
    message: 'Cannot run on from 2026-11-20T12:00:01.000Z: no timer is left and the predicate is still false',
  })
})

test('runToIdle continues through repeated sleeps', async () => {
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

test('an endless timer is named', async () => {
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

test('exactly wakesMax wake-ups are no error when no sleeper is left', async () => {
  const clock = new VirtualClock()
  const woken: string[] = []
  void tick(clock, second, 'a try', woken, 100)
  await clock.runToIdle({ wakesMax: 100 })
  expect(woken).toHaveLength(100)
})

test('jump changes the time but not the remaining time of sleepers', async () => {
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
] as const)('%s(%o) is rejected and does not move the clock', async (call, ms, message) => {
  const clock = new VirtualClock('2026-11-20T12:00:00.000Z')
  void tick(clock, second, 'a look', [])
  const moving = async () => clock[call](ms as number) // Deliberately not always a number.
  await expect(moving()).rejects.toMatchObject({ code: 'INVALID_INPUT', message })
  expect(toInstant(clock.now())).toBe('2026-11-20T12:00:00.000Z')
  await clock.advance(second)
  expect(toInstant(clock.now())).toBe('2026-11-20T12:00:01.000Z')
})

test('the start of a clock must be a time', () => {
  const start = (at: string) => () => new VirtualClock(at)
  expect(start('tomorrow')).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
})

test('no sleeper of an ended process is woken', async () => {
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

test('several movers at once do not skip a due time', async () => {
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

/** Work that sleeps a second at a time until it is stopped. */
function startPolling(clock: VirtualClock) {
  const stop = new AbortController()
  const ended = (async () => {
    while (!stop.signal.aborted) await clock.sleep(1_000, stop.signal)
  })()
  return { stop: () => stop.abort(), ended }
}

test('a mover without an end does not pass the end of another mover', async () => {
  const clock = new VirtualClock()
  const begin = clock.now()
  const { stop, ended } = startPolling(clock)
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
  await ended
})

test('a predicate that waits for the clock does not block other movers', async () => {
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

test('a sleep of NaN is rejected, and an infinite sleep never comes due', async () => {
  const clock = new VirtualClock()
  const begin = clock.now()
  expect(() => clock.sleep(Number.NaN)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
  void clock.sleep(Number.POSITIVE_INFINITY)
  await clock.advance(1_000)
  await clock.runToIdle()
  expect(clock.now() - begin).toBe(1_000)
})
