import type { Store } from '../../../src/store/store.ts'
import { appendOf } from '../append-of.ts'
import type { Harness } from './harness.ts'
import { type Place, toStream } from './place.ts'

/** Tests the followers of a store. */
export function followerConformance({ test, expect }: Harness, newPlace: () => Place): void {
  const given = async <T>(work: (store: Store) => Promise<T>) => {
    const store = await newPlace().open()
    return work(store).finally(() => store.close())
  }
  const take = async (store: Store, name = 'mail') => {
    const follower = await store.followers.take(name)
    if (!follower) throw new TypeError('The follower is taken')
    return follower
  }

  test('a follower starts at the beginning of the log and stays where it was moved to', () =>
    given(async store => {
      expect(await take(store)).toEqual({
        ...{ name: 'mail', types: null, position: 0, isParked: false, attempts: 0, dueAt: null, reason: '' },
        ...{ takenUntil: null, lastTakenAt: expect.any(String) },
      })
      expect(await store.followers.move(await take(store), 7)).toBe(true)
      expect(await take(store)).toMatchObject({ position: 7 })
      expect(await take(store, 'bill')).toMatchObject({ position: 0 })
      expect((await store.followers.list()).map(each => [each.name, each.position])).toEqual([
        ['bill', 0],
        ['mail', 7],
      ])
    }))

  test('a move from an outdated position changes nothing', () =>
    given(async store => {
      const [early, late] = [await take(store), await take(store)]
      expect(await store.followers.move(early, 5)).toBe(true)
      expect(await store.followers.move(late, 3)).toBe(false)
      await store.followers.fail(late, 2, null, 'RangeError')
      expect(await take(store)).toMatchObject({ position: 5, isParked: false, attempts: 0 })
    }))

  test('a follower that fails stays before the event, counts its attempts, and waits', () =>
    given(async store => {
      const dueAt = '2030-01-01T00:01:00.000Z'
      await store.followers.fail(await take(store), 4, dueAt, 'RangeError')
      expect(await take(store)).toMatchObject({
        position: 3,
        attempts: 1,
        dueAt,
        reason: 'RangeError',
        isParked: false,
      })
      await store.followers.fail(await take(store), 4, dueAt, 'RangeError')
      expect(await take(store)).toMatchObject({ position: 3, attempts: 2 })
      expect(await store.followers.move(await take(store), 4)).toBe(true)
      expect(await take(store)).toMatchObject({ position: 4, attempts: 0, dueAt: null, reason: '' })
    }))

  test('the next event of some types is the first one after a position', () =>
    given(async store => {
      await store.append(toStream('token-a', 'none', 3))
      const before = (await store.read({ stream: 'token-a' }))[0]?.position ?? 0
      expect(await store.followers.next(0, ['token.rejected'])).toBe(before)
      expect(await store.followers.next(before, ['token.rejected'])).toBe(before + 1)
      expect(await store.followers.next(before)).toBe(before + 1)
      expect(await store.followers.next(before + 2)).toBeUndefined()
      expect(await store.followers.next(0, ['token.renewed'])).toBeUndefined()
      expect(await store.followers.next(0, [])).toBeUndefined()
    }))

  test('with several types every matching event is found, and the others are skipped', () =>
    given(async store => {
      const types = ['token.requested', 'token.rejected', 'token.renewed', 'token.requested', 'token.renewed']
      await store.append(
        appendOf(
          'token-a',
          'none',
          types.map(type => ({ type })),
        ),
      )
      const begin = (await store.read({ stream: 'token-a' }))[0]?.position ?? 0
      const wanted = ['token.renewed', 'token.requested']
      const found: number[] = []
      for (let at = 0; ; ) {
        const next = await store.followers.next(at, wanted)
        if (next === undefined) break
        found.push(next - begin)
        at = next
      }
      expect(found).toEqual([0, 2, 3, 4])
      const read = await store.read({ types: wanted })
      expect(read.map(({ position }) => position - begin)).toEqual([0, 2, 3, 4])
      expect(await store.read({ types: [] })).toEqual([])
    }))

  for (const [how, position] of [
    ['again', 3],
    ['past', 4],
  ] as const)
    test(`a parked follower resumes (${how}) only once`, () =>
      given(async store => {
        await store.followers.fail(await take(store), 4, null, 'RangeError')
        const parked = await take(store)
        expect(parked).toMatchObject({ position: 3, isParked: true })
        expect(await store.followers.resume({ ...parked, position: 2 }, how)).toBe(false)
        expect(await store.followers.resume(parked, how)).toBe(true)
        expect(await store.followers.resume(parked, how)).toBe(false)
        expect(await take(store)).toMatchObject({ position, isParked: false, attempts: 0, reason: '' })
      }))
}
