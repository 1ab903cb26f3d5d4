import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { yieldToEventLoop } from '../../../src/runtime/event-loop.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'

const second = 1_000

function givenClock() {
  const clock = new VirtualClock()
  const begin = clock.now()
  const passed = () => clock.now() - begin
  const woken: unknown[] = []
  /** Sleeps repeatedly, and records the times of waking. */
  const tick = async (everyMs: number, what: string, times = Number.MAX_VALUE) => {
    for (let i = 0; i < times; i++) {
      await clock.sleep(everyMs, undefined, what)
      woken.push(`${what} ${passed() / second}`)
    }
  }
  return { clock, passed, woken, tick }
}

test('the work of a woken sleeper ends before the next sleeper wakes', async () => {
  const { clock, passed, woken } = givenClock()
  const work = async (turns: number) => {
    await clock.sleep(second)
    for (let i = 0; i < turns; i++) {
      await yieldToEventLoop()
      for (let j = 0; j < 50; j++) await undefined
    }
    woken.push(turns, passed())
  }
  const all = Promise.all([work(100), work(0), work(10)])
  await clock.advance(second)
  await all
  expect(woken).toEqual([100, second, 0, second, 10, second])
})

test('the clock waits for outside work that was registered with hold', async () => {
  const server = createServer((_, response) => response.end('aqui'))
  const url = `http://127.0.0.1:${await listenUntilEnd(server)}`
  const { clock, woken } = givenClock()
  const ask = async () => {
    await clock.sleep(second)
    woken.push(await clock.hold(fetch(url).then(response => response.text())))
  }
  void ask()
  void clock.sleep(2 * second).then(() => woken.push('later'))
  await clock.advance(2 * second)
  expect(woken).toEqual(['aqui', 'later'])
  await expect(clock.hold(Promise.reject(new Error('no answer')))).rejects.toThrow('no answer')
  await clock.quiet()
})

test('arrivals come one at a time, each after all effects of the one before', async () => {
  const { clock, woken } = givenClock()
  const arrive = async (name: string, turns: number) => {
    await clock.arrive()
    woken.push(`${name} begins`)
    for (let i = 0; i < turns; i++) await yieldToEventLoop()
    woken.push(`${name} ends`)
  }
  await Promise.all([arrive('a', 9), arrive('b', 0), clock.sleep(0).then(() => arrive('c', 3))])
  expect(woken).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
})

test('runUntil stops when the predicate becomes true, and throws when no timer is left before', async () => {
  const { clock, passed, woken, tick } = givenClock()
  void tick(second, 'a look', 5)
  await clock.runUntil(async () => woken.length >= 3)
  expect(passed()).toBe(3 * second)
  await clock.runUntil(() => true)
  expect(woken).toHaveLength(3)
  const message = 'Cannot run on from 2026-11-20T12:00:05.000Z: no timer is left and the predicate is still false'
  await expect(clock.runUntil(() => false)).rejects.toMatchObject({ code: 'NOTHING_DUE', message })
})

test('an endless timer is named, and exactly wakesMax wake-ups are no error when no sleeper is left', async () => {
  const { clock, woken, tick } = givenClock()
  void tick(second, 'a try', 100)
  await clock.runToIdle({ wakesMax: 100 })
  expect(woken).toHaveLength(100)
  void tick(second, 'a look')
  void tick(10 * second, 'a rare look')
  const endless = {
    code: 'ENDLESS',
    message: 'Cannot run to the end: at 2026-11-20T12:03:11.000Z "a look" was woken 91 of 100 times',
    hint: expect.stringContaining('averba.run'),
  }
  await expect(clock.runToIdle({ wakesMax: 100 })).rejects.toMatchObject(endless)
  await expect(clock.runUntil(() => false, { wakesMax: 100 })).rejects.toMatchObject({ code: 'ENDLESS' })
})

test('jump changes the time but not the remaining time of sleepers', async () => {
  const { clock, passed, woken, tick } = givenClock()
  void tick(10 * second, 'a look', 2)
  clock.jump(-3_600 * second)
  expect(passed()).toBe(-3_600 * second)
  await clock.advance(9 * second)
  expect(woken).toEqual([])
  clock.jump(7_200 * second)
  await clock.advance(second)
  expect(woken).toEqual(['a look 3610'])
  expect(passed()).toBe(3_610 * second)
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
  const { clock, passed, tick } = givenClock()
  void tick(second, 'a look')
  const moving = async () => clock[call](ms as number) // Deliberately not always a number.
  await expect(moving()).rejects.toMatchObject({ code: 'INVALID_INPUT', message })
  expect(passed()).toBe(0)
  await clock.advance(second)
  expect(passed()).toBe(second)
})

test('several movers at once do not skip a due time', async () => {
  const { clock, passed, woken } = givenClock()
  const sleep = async (...all: number[]) => {
    for (const ms of all) {
      await clock.sleep(ms)
      woken.push(passed())
    }
  }
  await Promise.all([clock.finish(sleep(1_000, 1_000)), clock.finish(sleep(5_000)), clock.runToIdle()])
  expect(woken).toEqual([1_000, 2_000, 5_000])
  await Promise.all([clock.advance(500), clock.runUntil(() => passed() >= 5_250), sleep(100, 150)])
  expect(woken.slice(3)).toEqual([5_100, 5_250])
  expect(passed()).toBe(5_500)
})

test('a predicate that waits for the clock does not block other movers', async () => {
  const { clock, passed } = givenClock()
  let asked = 0
  const isOver = async () => {
    asked += 1
    await clock.sleep(1_000)
    return asked === 3
  }
  await Promise.all([clock.advance(10_000), clock.runUntil(isOver)])
  expect(asked).toBe(3)
  expect(passed()).toBe(10_000)
})

test('a start that is no time and a sleep of NaN are rejected, and an infinite sleep never comes due', async () => {
  const { clock, passed } = givenClock()
  for (const wrong of [() => new VirtualClock('tomorrow'), () => clock.sleep(Number.NaN)])
    expect(wrong).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
  void clock.sleep(Number.POSITIVE_INFINITY)
  await Promise.all([clock.sleep(0.5), clock.advance(999.5)])
  await clock.runToIdle()
  expect(passed()).toBe(1_000)
})
