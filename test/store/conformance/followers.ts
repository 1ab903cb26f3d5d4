import type { Store } from '../../../src/store/store.ts'
import { appendOf } from '../append-of.ts'
import { type Harness, type Place, toStream } from './place.ts'

export function followerConformance({ test, expect }: Harness, newPlace: () => Place): void {
  const onStore = (name: string, work: (store: Store) => Promise<void>) =>
    test(name, async () => work(await newPlace().open()))
  const take = async ({ followers }: Store, name = 'mail') => {
    const follower = await followers.take(name)
    if (!follower) throw new TypeError('The follower is taken')
    return follower
  }

  onStore('a follower starts at the beginning of the log and stays where it was moved to', async store => {
    expect(await take(store)).toEqual({
      ...{ name: 'mail', types: null, position: 0, isParked: false, attempts: 0, dueAt: null, reason: '' },
      ...{ takenUntil: null, lastTakenAt: expect.any(String) },
    })
    expect(await store.followers.move(await take(store), 7)).toBe(true)
    expect(await take(store)).toMatchObject({ position: 7 })
    expect(await take(store, 'bill')).toMatchObject({ position: 0 })
    expect(await store.followers.list()).toMatchObject([
      { name: 'bill', position: 0 },
      { name: 'mail', position: 7 },
    ])
  })

  onStore('a move from an outdated position changes nothing', async store => {
    const [early, late] = [await take(store), await take(store)]
    expect(await store.followers.move(early, 5)).toBe(true)
    expect(await store.followers.move(late, 3)).toBe(false)
    await store.followers.fail(late, 2, null, 'RangeError')
    expect(await take(store)).toMatchObject({ position: 5, isParked: false, attempts: 0 })
  })

  onStore('a follower that fails stays before the event, counts its attempts, and waits', async store => {
    const dueAt = '2030-01-01T00:01:00.000Z'
    const waiting = { position: 3, dueAt, reason: 'RangeError', isParked: false }
    for (const attempts of [1, 2]) {
      await store.followers.fail(await take(store), 4, dueAt, 'RangeError')
      expect(await take(store)).toMatchObject({ ...waiting, attempts })
    }
    expect(await store.followers.move(await take(store), 4)).toBe(true)
    expect(await take(store)).toMatchObject({ position: 4, attempts: 0, dueAt: null, reason: '' })
  })

  onStore('the next event of some types is the first one after a position', async store => {
    await store.append(toStream('token-a', 'none', 3))
    const before = (await store.read({ stream: 'token-a' }))[0]?.position ?? 0
    expect(await store.followers.next(0, ['token.rejected'])).toBe(before)
    expect(await store.followers.next(before, ['token.rejected'])).toBe(before + 1)
    expect(await store.followers.next(before)).toBe(before + 1)
    expect(await store.followers.next(before + 2)).toBeUndefined()
    expect(await store.followers.next(0, ['token.renewed'])).toBeUndefined()
    expect(await store.followers.next(0, [])).toBeUndefined()
  })

  onStore('with several types every matching event is found, and the others are skipped', async store => {
    const types = ['requested', 'rejected', 'renewed', 'requested', 'renewed'].map(each => `token.${each}`)
    const events = types.map(type => ({ type }))
    await store.append(appendOf('token-a', 'none', events))
    const begin = (await store.read({ stream: 'token-a' }))[0]?.position ?? 0
    const wanted = ['token.renewed', 'token.requested']
    const found: number[] = []
    for (let at: number | undefined = 0; at !== undefined; ) {
      at = await store.followers.next(at, wanted)
      if (at !== undefined) found.push(at - begin)
    }
    expect(found).toEqual([0, 2, 3, 4])
    const read = await store.read({ types: wanted })
    expect(read.map(({ position }) => position - begin)).toEqual([0, 2, 3, 4])
    expect(await store.read({ types: [] })).toEqual([])
  })

  for (const [how, position] of [
    ['again', 3],
    ['past', 4],
  ] as const)
    onStore(`a parked follower resumes (${how}) only once`, async store => {
      await store.followers.fail(await take(store), 4, null, 'RangeError')
      const parked = await take(store)
      expect(parked).toMatchObject({ position: 3, isParked: true })
      expect(await store.followers.resume({ ...parked, position: 2 }, how)).toBe(false)
      expect(await store.followers.resume(parked, how)).toBe(true)
      expect(await store.followers.resume(parked, how)).toBe(false)
      expect(await take(store)).toMatchObject({ position, isParked: false, attempts: 0, reason: '' })
    })
}
