import { systemClock } from '../../../src/runtime/clock.ts'
import type { Store } from '../../../src/store/store.ts'
import { type EffectState, type PendingEffect, unsentStates } from '../../../src/vocabulary/message.ts'
import { appendOf, at } from '../append-of.ts'
import type { Harness } from './harness.ts'
import { type Place, toStream } from './place.ts'

const requesting = appendOf('token-a', 'none', [{ effects: [{ type: 'tokenService.requestToken', data: {} }] }])

/** Tests the pending effects of a store. */
export function effectConformance({ test, expect }: Harness, newPlace: () => Place): void {
  let now = Date.parse(at)
  const clock = { ...systemClock, now: () => now }
  const given = async <T>(work: (store: Store) => Promise<T>) => {
    const store = await newPlace().open({ clock })
    return work(store).finally(() => store.close())
  }

  test('an effect is pending with its event, is claimed once, and ends once', () =>
    given(async store => {
      await store.append(requesting)
      const now = Date.parse(at)
      expect(await store.dueEffects(now - 1)).toEqual([])
      expect(await store.dueEffects(now)).toEqual(['token-a/1/0'])
      expect(await store.dueEffects(now, { types: [] })).toEqual([])
      expect(await store.effects({ states: [] })).toEqual([])
      expect(await store.claimEffect('token-a/1/0', now)).toMatchObject({
        wasStarted: false,
        pending: { attempts: 1 },
      })
      expect(await store.claimEffect('token-a/1/0', now)).toBeUndefined()
      expect(await store.dueEffects(now)).toEqual([])
      const settles = { effect: 'token-a/1/0', attempts: 1, as: 'settled' as const, reason: '' }
      expect((await store.append({ ...toStream('token-a', 1), settles })).status).toBe('appended')
      expect(await store.effect('token-a/1/0')).toMatchObject({ state: 'settled', settledAt: 3 })
      expect((await store.append({ ...toStream('token-a', 2), settles })).status).toBe('conflict')
    }))

  test('due effects are listed in the order of their times', () =>
    given(async store => {
      const now = Date.parse(at)
      const dueAfter = (ms: number) => ({
        type: 'tokenService.requestToken',
        data: {},
        dueAt: new Date(now + ms).toISOString(),
      })
      const effects = [dueAfter(3_000), dueAfter(1_000), dueAfter(2_000)]
      await store.append(appendOf('token-a', 'none', [{ effects }]))
      expect(await store.dueEffects(now + 2_000)).toEqual(['token-a/1/1', 'token-a/1/2'])
      expect(await store.dueEffects(now + 3_000, { limit: 2 })).toEqual(['token-a/1/1', 'token-a/1/2'])
    }))

  test('effects that have ended are listed the newest first, page by page, and others the oldest first', () =>
    given(async store => {
      const effects = Array.from({ length: 3 }, () => ({ type: 'tokenService.requestToken', data: {} }))
      await store.append(appendOf('token-a', 'none', [{ effects }]))
      await store.append(appendOf('token-b', 'none', [{ effects }]))
      const ids = ['token-a', 'token-b'].flatMap(stream => [0, 1, 2].map(n => `${stream}/1/${n}`))
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
    }))

  for (const [how, first, isAtOnce] of [
    ['is settled before it is cancelled', 'settled', false],
    ['is settled and then cancelled in one commit', 'settled', true],
    ['is cancelled and then settled in one commit', 'cancelled', true],
  ] as const)
    test(`an effect that ${how} keeps its first state`, () =>
      given(async store => {
        await store.append(requesting)
        const effect = 'token-a/1/0'
        const settles = { effect, attempts: 0, as: 'settled' as const, reason: '' }
        const settle = () => store.append({ ...toStream('token-b', 'any'), settles })
        const cancel = () => store.append(appendOf('subject-a', 'none', [{ cancels: [effect] }]))
        const [one, other] = first === 'settled' ? [settle, cancel] : [cancel, settle]
        const winning = one()
        if (!isAtOnce) await winning
        expect(await other()).toMatchObject({ status: 'conflict' })
        expect(await winning).toMatchObject({ status: 'appended' })
        expect(await store.effect(effect)).toMatchObject({ state: first })
      }))

  test('what may only cancel an unsent effect conflicts once an attempt has begun or its outcome is in doubt', () =>
    given(async store => {
      await store.append(requesting)
      const effect = 'token-a/1/0'
      const withdraw = () =>
        store.append({ ...appendOf('subject-a', 'none', [{ cancels: [effect] }]), cancelsFrom: unsentStates })
      await store.claimEffect(effect, Date.parse(at))
      expect(await withdraw()).toMatchObject({ status: 'conflict' })
      const settles = { effect, attempts: 1, as: 'unknown' as const, reason: '' }
      await store.append({ ...toStream('token-b', 'any'), settles })
      expect(await withdraw()).toMatchObject({ status: 'conflict' })
      // It has no time, so no look for due calls comes across it.
      expect(await store.effect(effect)).toMatchObject({ state: 'unknown' })
      expect(await store.effect(effect)).not.toHaveProperty('dueAt')
      const other = appendOf('token-c', 'none', [{ effects: [{ type: 'tokenService.requestToken', data: {} }] }])
      await store.append(other)
      const cancels = { ...appendOf('subject-b', 'none', [{ cancels: ['token-c/1/0'] }]), cancelsFrom: unsentStates }
      expect(await store.append(cancels)).toMatchObject({ status: 'appended' })
      expect(await store.effect('token-c/1/0')).toMatchObject({ state: 'cancelled' })
    }))

  test('an attempt that never reported back is claimed again after its lease, with wasStarted', () =>
    given(async store => {
      await store.append(requesting)
      now = Date.parse(at)
      await store.claimEffect('token-a/1/0', now)
      now += 59_000
      expect(await store.claimEffect('token-a/1/0', now)).toBeUndefined()
      now += 2_000
      expect(await store.claimEffect('token-a/1/0', now)).toMatchObject({ wasStarted: true })
      const end = (attempts: number, as: 'settled' | 'unknown') =>
        store.append({ ...toStream('token-a', 'any'), settles: { effect: 'token-a/1/0', attempts, as, reason: '' } })
      // The earlier attempt ends nothing while the later one is under way, but may find out what became of it.
      expect(await end(1, 'settled')).toMatchObject({ status: 'conflict' })
      expect(await store.effect('token-a/1/0')).toMatchObject({ state: 'started' })
      expect(await end(2, 'unknown')).toMatchObject({ status: 'appended' })
      expect(await end(1, 'settled')).toMatchObject({ status: 'appended' })
    }))

  test('an attempt cannot defer an effect that it did not begin, or that has ended', () =>
    given(async store => {
      await store.append(requesting)
      await store.deferEffect({ id: 'token-a/1/0', attempts: 1 }, Date.parse(at) + 1, 'not begun')
      expect(await store.effect('token-a/1/0')).toMatchObject({ state: 'pending', reason: '' })
      await store.claimEffect('token-a/1/0', Date.parse(at))
      const settles = { effect: 'token-a/1/0', attempts: 1, as: 'settled' as const, reason: '' }
      await store.append({ ...toStream('token-a', 1), settles })
      await store.deferEffect({ id: 'token-a/1/0', attempts: 1 }, Date.parse(at) + 1, 'too late')
      expect(await store.effect('token-a/1/0')).toMatchObject({ state: 'settled', reason: '' })
    }))
}
