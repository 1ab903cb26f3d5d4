import type { Store } from '../store/store.ts'
import { openViews } from '../store/views-handle.ts'
import { append, counting } from './counting.ts'
import type { Harness } from './harness.ts'
import { digest, type Place, positionsOf, toStream } from './place.ts'

/** What stores promise that several processes have at once: two on one database. */
export function processConformance({ test, expect }: Harness, newPlace: () => Place): void {
  const given = async <T>(work: (one: Store, other: Store) => Promise<T>) => {
    const place = newPlace()
    const options = { views: [counting('counted')] }
    const [one, other] = [await place.open(options), await place.open(options)]
    return work(one, other).finally(() => Promise.all([one.close(), other.close()]))
  }

  test('positions are dense, versions exact and every view right, whoever appends', () =>
    given(async (one, other) => {
      await Promise.all([append(one, 200), append(other, 200)])
      await one.append(toStream('token-a', 'none'))
      expect((await other.append(toStream('token-a', 'none'))).status).toBe('conflict')
      expect(positionsOf(await other.append(toStream('token-a', 1)))).toEqual([403])
      const events = await one.read({})
      expect(events.map(event => event.position)).toEqual(Array.from({ length: 403 }, (_, i) => i + 1))
      for (const store of [one, other]) {
        const rows = await openViews<{ counted: { stream: string; n: number } }>(store.reader)
          .selectFrom('counted')
          .selectAll()
          .execute()
        expect(rows.map(row => row.n)).toEqual(Array.from({ length: 10 }, () => 40))
      }
      expect(await one.rebuild()).toMatchObject([{ differences: 0 }])
      expect(await other.root()).toBe(await one.root())
    }))

  test('a command is done once, whoever is asked', () =>
    given(async (one, other) => {
      const receipt = { commandId: 'c1', digest, code: 'accepted' as const, detail: '' }
      const both = await Promise.all(
        [one, other].map(store => store.append({ ...toStream('token-a', 'any'), receipt })),
      )
      expect(both.map(({ status }) => status).sort()).toEqual(['appended', 'known'])
      expect(await other.read({ stream: 'token-a' })).toHaveLength(1)
    }))

  test('a follower is one store’s at a time, until it lets it go', () =>
    given(async (one, other) => {
      const follower = await one.followers.take('mail')
      expect(await other.followers.take('mail')).toBeUndefined()
      if (!follower) throw new TypeError('Nobody had it')
      expect(await other.followers.move(follower, 1)).toBe(false)
      await other.followers.release('mail')
      expect(await other.followers.take('mail')).toBeUndefined()
      expect(await one.followers.move(follower, 1)).toBe(true)
      await one.followers.release('mail')
      expect(await other.followers.take('mail')).toMatchObject({ position: 1 })
    }))

  test('a rebuild by one store is seen by the other, which goes on', () =>
    given(async (one, other) => {
      await append(other, 600)
      const rebuilding = one.rebuild()
      for (let i = 0; i < 10; i++) await append(other, 10)
      expect(await rebuilding).toMatchObject([{ rows: 10, differences: 0 }])
      await append(other, 10)
      expect(await one.rebuild()).toMatchObject([{ rows: 10, differences: 0 }])
      expect(await other.checkpoints()).toMatchObject([{ view: 'counted', isRunning: true, position: 711 }])
    }))
}
