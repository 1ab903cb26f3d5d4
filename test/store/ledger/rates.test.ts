import { expect, test } from 'vitest'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { dayMs, toInstant } from '../../../src/vocabulary/instant.ts'
import { openStore } from '../../support/store.ts'
import { appendOf } from '../append-of.ts'

async function given() {
  const clock = new VirtualClock()
  return { clock, store: await openStore({ clock }) }
}

/** Takes turns for so many seconds, at most every `everyMs`, as a process with too much to do. Returns how many. */
async function use(perSecond: number, seconds: number, everyMs: number): Promise<number> {
  const { clock, store } = await given()
  const end = clock.now() + seconds * 1_000
  let used = 0
  for (;;) {
    const { turns, waitMs } = await store.rates.take('portal', 8, perSecond)
    expect(turns).toBeGreaterThan(0)
    clock.jump(waitMs + everyMs)
    if (clock.now() > end) return used
    used += turns
  }
}

test.each([0.01, 0.1, 0.3, 1 / 3, 0.6, 0.9, 0.99, 1, 3, 7, 49, 1_000, 1e6])(
  'of %d a second, a process gets as many as it may',
  async perSecond => {
    const [seconds, everyMs] = perSecond < 100 ? [Math.max(10, 10 / perSecond), 0] : [2, 1]
    const used = await use(perSecond, seconds, everyMs)
    const may = seconds * perSecond + Math.max(1, perSecond)
    expect(used).toBeLessThanOrEqual(may + 1)
    // A process that is told to wait for milliseconds cannot use all of very many.
    expect(used).toBeGreaterThanOrEqual(Math.min(may * 0.9, 2_000 * seconds) - 1)
  },
)

test('a clock that was ahead holds up no call once it is corrected', async () => {
  const { clock, store } = await given()
  const take = () => store.rates.take('portal', 5, 5)
  clock.jump(dayMs)
  expect(await take()).toEqual({ turns: 5, waitMs: 0 })
  clock.jump(-dayMs)
  expect(await take()).toEqual({ turns: 1, waitMs: 200 })
  clock.jump(1_000)
  expect(await take()).toEqual({ turns: 4, waitMs: 0 })
})

test('a pause set by a clock that was ahead neither holds up calls once it is corrected, nor hides a later one', async () => {
  const { clock, store } = await given()
  const effects = [{ type: 'portal.subscribe', data: {} }]
  await store.append(appendOf('portal-main', 'none', [{ effects }], { at: toInstant(clock.now()) }))
  clock.jump(dayMs)
  await store.rates.close('portal', 60_000)
  clock.jump(-dayMs)
  expect(await store.dueEffects(clock.now())).toHaveLength(1)
  await store.rates.close('portal', 60_000)
  expect(await store.dueEffects(clock.now())).toEqual([])
  await store.rates.close('portal', 1_000)
  clock.jump(60_000)
  expect(await store.dueEffects(clock.now())).toHaveLength(1)
})
