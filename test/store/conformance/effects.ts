import { systemClock } from '../../../src/runtime/clock.ts'
import type { Store } from '../../../src/store/store.ts'
import type { Append } from '../../../src/store/writing/append.ts'
import { type EffectState, type PendingEffect, unsentStates } from '../../../src/vocabulary/message.ts'
import { appendOf, at } from '../append-of.ts'
import { type Harness, type Place, requesting, toStream } from './place.ts'

const effect = 'token-a/1/0'
const requested = appendOf('token-a', 'none', [{ effects: requesting }])
const due = Date.parse(at)

/** An append that ends the effect of `requested`. */
const ending = (by: Store, as: 'settled' | 'unknown', attempts: number, stream = 'token-a', version?: number) => ({
  ...toStream(stream, version ?? 'any'),
  settles: { effect, attempts, ...(attempts > 0 && { owner: by.owner }), as, reason: '' },
})

export function effectConformance({ test, expect }: Harness, newPlace: () => Place): void {
  let now = due
  const onStore = (name: string, work: (store: Store) => Promise<void>) =>
    test(name, async () => work(await newPlace().open({ clock: { ...systemClock, now: () => now } })))
  const statusOf = async (store: Store, append: Append) => (await store.append(append)).status

  onStore('an effect is pending with its event, is claimed once, and ends once', async store => {
    await store.append(requested)
    expect(await store.dueEffects(due - 1)).toEqual([])
    expect(await store.dueEffects(due)).toEqual([effect])
    expect(await store.dueEffects(due, { types: [] })).toEqual([])
    expect(await store.effects({ states: [] })).toEqual([])
    expect(await store.claimEffect(effect, due)).toMatchObject({ wasStarted: false, pending: { attempts: 1 } })
    expect(await store.claimEffect(effect, due)).toBeUndefined()
    expect(await store.dueEffects(due)).toEqual([])
    expect(await statusOf(store, ending(store, 'settled', 1, 'token-a', 1))).toBe('appended')
    expect(await store.effect(effect)).toMatchObject({ state: 'settled', settledAt: 3 })
    expect(await statusOf(store, ending(store, 'settled', 1, 'token-a', 2))).toBe('conflict')
  })

  onStore('due effects are listed in the order of their times', async store => {
    const effects = [3_000, 1_000, 2_000].flatMap(ms =>
      requesting.map(each => ({ ...each, dueAt: new Date(due + ms).toISOString() })),
    )
    await store.append(appendOf('token-a', 'none', [{ effects }]))
    expect(await store.dueEffects(due + 2_000)).toEqual(['token-a/1/1', 'token-a/1/2'])
    expect(await store.dueEffects(due + 3_000, { limit: 2 })).toEqual(['token-a/1/1', 'token-a/1/2'])
  })

  onStore('effects that have ended are listed the newest first, by pages, and others the oldest first', async store => {
    const streams = ['token-a', 'token-b']
    for (const stream of streams)
      await store.append(appendOf(stream, 'none', [{ effects: Array(3).fill(requesting).flat() }]))
    const ids = streams.flatMap(stream => [0, 1, 2].map(n => `${stream}/1/${n}`))
    const listAll = async (states: readonly EffectState[]) => {
      const found: PendingEffect[] = []
      for (;;) {
        const after = found.at(-1)
        const page = await store.effects({ states, limit: 2, ...(after && { after }) })
        if (page.length === 0) return found.map(each => each.id)
        found.push(...page)
      }
    }
    expect(await listAll(['pending'])).toEqual(ids)
    await store.append(appendOf('subject-a', 'none', [{ cancels: ids }]))
    expect(await listAll(['cancelled'])).toEqual(ids.toReversed())
    expect(await listAll(['cancelled', 'pending'])).toEqual(ids)
  })

  for (const [how, first, isAtOnce] of [
    ['is settled before it is cancelled', 'settled', false],
    ['is settled and then cancelled in one commit', 'settled', true],
    ['is cancelled and then settled in one commit', 'cancelled', true],
  ] as const)
    onStore(`an effect that ${how} keeps its first state`, async store => {
      await store.append(requested)
      const both = [ending(store, 'settled', 0, 'token-b'), appendOf('subject-a', 'none', [{ cancels: [effect] }])]
      const [one, other] = first === 'settled' ? both : both.toReversed()
      if (!one || !other) throw new TypeError('There are two')
      const winning = statusOf(store, one)
      if (!isAtOnce) await winning
      expect(await statusOf(store, other)).toBe('conflict')
      expect(await winning).toBe('appended')
      expect(await store.effect(effect)).toMatchObject({ state: first })
    })

  onStore('what may only cancel an unsent effect conflicts once it was tried or is in doubt', async store => {
    const withdraw = (stream: string, id = effect) =>
      statusOf(store, appendOf(stream, 'none', [{ cancels: [id] }], { cancelsFrom: unsentStates }))
    await store.append(requested)
    await store.claimEffect(effect, due)
    expect(await withdraw('subject-a')).toBe('conflict')
    await store.append(ending(store, 'unknown', 1, 'token-b'))
    expect(await withdraw('subject-a')).toBe('conflict')
    // It has no time, so no look for due calls comes across it.
    expect(await store.effect(effect)).toMatchObject({ state: 'unknown' })
    expect(await store.effect(effect)).not.toHaveProperty('dueAt')
    await store.append(appendOf('token-c', 'none', [{ effects: requesting }]))
    expect(await withdraw('subject-b', 'token-c/1/0')).toBe('appended')
    expect(await store.effect('token-c/1/0')).toMatchObject({ state: 'cancelled' })
  })

  onStore('an attempt that never reported back is claimed again after its lease, with wasStarted', async store => {
    await store.append(requested)
    now = due
    await store.claimEffect(effect, now)
    now += 59_000
    expect(await store.claimEffect(effect, now)).toBeUndefined()
    now += 2_000
    expect(await store.claimEffect(effect, now)).toMatchObject({ wasStarted: true })
    // The earlier attempt ends nothing while the later one is under way, but may find out what became of it.
    expect(await statusOf(store, ending(store, 'settled', 1))).toBe('conflict')
    expect(await store.effect(effect)).toMatchObject({ state: 'started' })
    expect(await statusOf(store, ending(store, 'unknown', 2))).toBe('appended')
    expect(await statusOf(store, ending(store, 'settled', 1))).toBe('appended')
  })

  onStore('an attempt cannot defer an effect that it did not begin, or that has ended', async store => {
    await store.append(requested)
    await store.deferEffect({ id: effect, attempts: 1 }, due + 1, 'not begun')
    expect(await store.effect(effect)).toMatchObject({ state: 'pending', reason: '' })
    await store.claimEffect(effect, due)
    await store.append(ending(store, 'settled', 1))
    await store.deferEffect({ id: effect, attempts: 1 }, due + 1, 'too late')
    expect(await store.effect(effect)).toMatchObject({ state: 'settled', reason: '' })
  })
}
