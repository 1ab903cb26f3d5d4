import type { Store } from '../../../src/store/store.ts'
import type { Harness } from './harness.ts'
import { at, machine, type Place, toStream } from './place.ts'

const owing = {
  stream: 'token-a',
  event: { type: 'token.requested', data: {}, effects: [{ type: 'tokenService.requestToken', data: {} }] },
  causedBy: 'token.request',
  machine,
}

/** What every store promises of calls that are owed. */
export function effectConformance({ test, expect }: Harness, newPlace: () => Place): void {
  const given = async <T>(work: (store: Store) => Promise<T>) => {
    const store = await newPlace().open()
    return work(store).finally(() => store.close())
  }

  test('an effect is owed with its event, taken once, and ends once', () =>
    given(async store => {
      await store.append({ ...toStream('token-a', 'none'), events: [owing] })
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
      const settles = { effect: 'token-a/1/0', as: 'settled' as const, reason: '' }
      expect((await store.append({ ...toStream('token-a', 1), settles })).status).toBe('appended')
      expect(await store.effect('token-a/1/0')).toMatchObject({ state: 'settled', settledAt: 3 })
      expect((await store.append({ ...toStream('token-a', 2), settles })).status).toBe('conflict')
    }))

  test('calls that are due come in the order of their times', () =>
    given(async store => {
      const now = Date.parse(at)
      const dueAfter = (ms: number) => ({
        type: 'tokenService.requestToken',
        data: {},
        dueAt: new Date(now + ms).toISOString(),
      })
      const event = { ...owing.event, effects: [dueAfter(3_000), dueAfter(1_000), dueAfter(2_000)] }
      await store.append({ ...toStream('token-a', 'none'), events: [{ ...owing, event }] })
      expect(await store.dueEffects(now + 2_000)).toEqual(['token-a/1/1', 'token-a/1/2'])
      expect(await store.dueEffects(now + 3_000, { limit: 2 })).toEqual(['token-a/1/1', 'token-a/1/2'])
    }))

  for (const [how, first, isAtOnce] of [
    ['ended before it is cancelled', 'settled', false],
    ['ended and is cancelled in one commit', 'settled', true],
    ['is cancelled and ends in one commit', 'cancelled', true],
  ] as const)
    test(`a call that ${how} stays as it ended first`, () =>
      given(async store => {
        await store.append({ ...toStream('token-a', 'none'), events: [owing] })
        const effect = 'token-a/1/0'
        const settles = { effect, as: 'settled' as const, reason: '' }
        const erased = { type: 'subject.erased', data: {}, cancels: [effect] }
        const settle = () => store.append({ ...toStream('token-b', 'any'), settles })
        const cancel = () =>
          store.append({
            ...toStream('subject-a', 'none'),
            events: [{ stream: 'subject-a', event: erased, causedBy: 'subject.erase', machine }],
          })
        const [one, other] = first === 'settled' ? [settle, cancel] : [cancel, settle]
        const winning = one()
        if (!isAtOnce) await winning
        expect(await other()).toMatchObject({ status: 'conflict' })
        expect(await winning).toMatchObject({ status: 'appended' })
        expect(await store.effect(effect)).toMatchObject({ state: first })
      }))

  test('an attempt that never reported back is taken again once its lease has run out, and says so', () =>
    given(async store => {
      await store.append({
        ...toStream('token-a', 'none'),
        events: [owing],
      })
      const now = Date.parse(at)
      await store.claimEffect('token-a/1/0', now)
      expect(await store.claimEffect('token-a/1/0', now + 59_000)).toBeUndefined()
      expect(await store.claimEffect('token-a/1/0', now + 61_000)).toMatchObject({ wasStarted: true })
    }))

  test('an attempt that lost its lease puts nothing off, and ends nothing that another one ended', () =>
    given(async store => {
      await store.append({ ...toStream('token-a', 'none'), events: [owing] })
      await store.deferEffect('token-a/1/0', Date.parse(at) + 1, 'it never had it')
      expect(await store.effect('token-a/1/0')).toMatchObject({ state: 'owed', reason: '' })
      await store.claimEffect('token-a/1/0', Date.parse(at))
      const settles = { effect: 'token-a/1/0', as: 'settled' as const, reason: '' }
      await store.append({ ...toStream('token-a', 1), settles })
      await store.deferEffect('token-a/1/0', Date.parse(at) + 1, 'too late')
      expect(await store.effect('token-a/1/0')).toMatchObject({ state: 'settled', reason: '' })
    }))
}
