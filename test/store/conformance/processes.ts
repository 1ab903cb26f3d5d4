import { type Clock, systemClock } from '../../../src/runtime/clock.ts'
import { treeRoot } from '../../../src/store/log/tree.ts'
import type { Store } from '../../../src/store/store.ts'
import { openViews } from '../../../src/store/views/views-handle.ts'
import { appendOf, at } from '../append-of.ts'
import { append, counting } from './counting.ts'
import type { Harness } from './harness.ts'
import { digest, type Place, positionsOf, toStream } from './place.ts'

const day = 86_400_000

/** Tests two stores on one database, as in two processes. */
export function processConformance({ test, expect }: Harness, newPlace: () => Place): void {
  const given = async <T>(work: (one: Store, other: Store) => Promise<T>) => {
    const place = newPlace()
    const options = { views: [counting('counted')] }
    const [one, other] = [await place.open(options), await place.open(options)]
    return work(one, other).finally(() => Promise.all([one.close(), other.close()]))
  }

  test('positions have no gaps and versions and views are correct, whichever process appends', () =>
    given(async (one, other) => {
      await Promise.all([append(one, 200), append(other, 200)])
      await one.append(toStream('token-a', 'none'))
      expect((await other.append(toStream('token-a', 'none'))).status).toBe('conflict')
      expect(positionsOf(await other.append(toStream('token-a', 1)))).toEqual([403])
      const events = await one.read({})
      expect(events.map(event => event.position)).toEqual(Array.from({ length: 403 }, (_, i) => i + 1))
      for (const store of [one, other]) {
        const rows = await openViews<{ counted: { stream: string; n: number } }>(store.database)
          .selectFrom('counted')
          .selectAll()
          .execute()
        expect(rows.map(row => row.n)).toEqual(Array.from({ length: 10 }, () => 40))
      }
      expect(await one.rebuild()).toMatchObject([{ differences: 0 }])
      expect(await other.database.read(treeRoot)).toBe(await one.database.read(treeRoot))
    }))

  test('a command sent to two processes is executed once', () =>
    given(async (one, other) => {
      const receipt = { commandId: 'c1', digest, code: 'accepted' as const, detail: '' }
      const both = await Promise.all(
        [one, other].map(store => store.append({ ...toStream('token-a', 'any'), receipt })),
      )
      expect(both.map(({ status }) => status).sort()).toEqual(['appended', 'known'])
      expect(await other.read({ stream: 'token-a' })).toHaveLength(1)
    }))

  test('what a process does not know is enforced: a stream that it only expects to be missing, a digest, a receipt', () =>
    given(async (one, other) => {
      const entry = { kind: 'token', digest, value: 'a' }
      const receipt = { commandId: 'c1', digest, code: 'accepted' as const, detail: '' }
      const first = { ...toStream('token-a', 'none'), indexEntries: [entry], receipt }
      expect(await one.append(first)).toMatchObject({ status: 'appended' })
      const expecting = (more: object) => other.append({ ...toStream('token-b', 'any'), ...more })
      const streams = [
        { stream: 'token-b', expect: 'any' as const },
        { stream: 'token-a', expect: 'none' as const },
      ]
      expect(await expecting({ streams })).toMatchObject({ status: 'conflict' })
      expect(await expecting({ indexEntries: [{ ...entry, value: 'b' }] })).toMatchObject({ status: 'conflict' })
      // Its conflict is no answer: the command was recorded before.
      expect(await expecting({ streams, receipt })).toMatchObject({ status: 'known' })
      expect(await other.append(toStream('token-b', 'none'))).toMatchObject({ status: 'appended' })
    }))

  test('a follower belongs to one process until it is released', () =>
    given(async (one, other) => {
      const follower = await one.followers.take('mail')
      expect(await other.followers.take('mail')).toBeUndefined()
      if (!follower) throw new TypeError('The follower is taken')
      expect(await other.followers.move(follower, 1)).toBe(false)
      expect(await other.followers.holds(follower)).toBe(false)
      expect(await other.followers.fail(follower, 1, null, 'RangeError')).toBe(false)
      expect(await one.followers.holds(follower)).toBe(true)
      await other.followers.release('mail')
      expect(await other.followers.take('mail')).toBeUndefined()
      expect(await one.followers.move(follower, 1)).toBe(true)
      await one.followers.release('mail')
      expect(await other.followers.take('mail')).toMatchObject({ position: 1 })
    }))

  test('of two processes that take a lease at once one gets it, and only it can extend or release it', () =>
    given(async (one, other) => {
      const [now, rounds] = [systemClock.now(), 20]
      const effects = [{ type: 'tokenService.requestToken', data: {} }]
      for (let n = 1; n <= rounds; n++) {
        const stream = `token-${n}`
        await one.append(appendOf(stream, 'none', [{ effects }], { at: new Date(now).toISOString() }))
        const id = `${stream}/1/0`
        // Creates the row without a lease.
        await one.followers.take(`follower-${n}`)
        await one.followers.release(`follower-${n}`)
        const taken = await Promise.all(
          [one, other].map(async store => ({
            store,
            follower: await store.followers.take(`follower-${n}`),
            lease: await store.secrets.leases.take(`lease-${n}`),
            effect: await store.claimEffect(id, now),
          })),
        )
        for (const what of ['follower', 'lease', 'effect'] as const)
          expect(taken.filter(each => Boolean(each[what]))).toHaveLength(1)
        const stranger = taken.find(each => !each.lease)?.store
        await stranger?.secrets.leases.release(`lease-${n}`)
        expect(await stranger?.secrets.leases.take(`lease-${n}`)).toBeUndefined()
        const without = taken.find(each => each.effect === undefined)?.store
        expect(await without?.extendLease({ id, attempts: 1 })).toBeUndefined()
      }
    }))

  test('work in progress keeps its lease, which no other process extends', async () => {
    let now = Date.parse(at)
    let sleeping: (() => void)[] = []
    const clock: Clock = {
      now: () => now,
      sleep: (_, signal) =>
        new Promise(resolve => {
          sleeping.push(resolve)
          signal?.addEventListener('abort', () => resolve())
        }),
    }
    const place = newPlace()
    const [one, other] = [await place.open({ clock }), await place.open({ clock })]
    const [effect, lost] = ['token-a/1/0', 'token-a/1/1'].map(id => ({ id, attempts: 1 }))
    if (!effect || !lost) throw new TypeError('There are two')
    const effects = [{ type: 'tokenService.requestToken', data: {} }]
    await one.append(appendOf('token-a', 'none', [{ effects: [...effects, ...effects] }]))
    for (const { id } of [effect, lost]) await one.claimEffect(id, now)
    await one.followers.take('mail')
    await other.followers.take('news')
    const { promise: done, resolve: finish } = Promise.withResolvers<void>()
    const held = [{ effect }, { follower: 'mail' }, { follower: 'news' }]
    const working = held.map(each => one.leaseKeeper.keep(each, () => done))
    for (const _ of ['twenty seconds later', 'and again', 'and again', 'and again']) {
      now += 20_000
      for (const wake of sleeping.splice(0)) wake()
      await expect.poll(() => sleeping.length).toBe(2)
    }
    expect(await other.claimEffect(effect.id, now)).toBeUndefined()
    expect(await other.claimEffect(lost.id, now)).toMatchObject({ wasStarted: true })
    expect(await other.followers.take('mail')).toBeUndefined()
    expect(await one.followers.take('news')).toMatchObject({ name: 'news' })
    finish()
    await Promise.all(working)
    sleeping = []
    now += 61_000
    expect(await other.followers.take('mail')).toMatchObject({ name: 'mail' })
    await Promise.all([one.close(), other.close()])
  })

  /** Works with a process whose clock is ahead by some time, and another one whose clock is right. */
  const givenAhead = async (
    aheadMs: number,
    work: (ahead: Store, right: Store) => Promise<void>,
    now = systemClock.now,
  ) => {
    const place = newPlace()
    const clock = { ...systemClock, now: () => now() + aheadMs }
    const [ahead, right] = [await place.open({ clock }), await place.open()]
    await work(ahead, right).finally(() => Promise.all([ahead.close(), right.close()]))
  }

  test('a lease from a clock that was ahead is over once the clock is corrected', () =>
    givenAhead(day, async (ahead, right) => {
      expect(await ahead.secrets.leases.take('login')).toBeDefined()
      expect(await ahead.followers.take('mail')).toMatchObject({ position: 0 })
      expect(await right.secrets.leases.take('login')).toBeDefined()
      expect(await right.followers.take('mail')).toMatchObject({ position: 0 })

      const now = Date.parse(at)
      const dueAt = new Date(now + day).toISOString()
      const effects = [{ type: 'tokenService.requestToken', data: {}, dueAt }]
      await ahead.append(appendOf('token-a', 'none', [{ effects }]))
      expect(await right.dueEffects(now)).toEqual([])
      expect(await ahead.claimEffect('token-a/1/0', Date.parse(dueAt))).toMatchObject({ wasStarted: false })
      expect(await right.dueEffects(now)).toEqual(['token-a/1/0'])
      expect(await right.dueEffects(now, { types: ['portal.listFailures'] })).toEqual([])
      expect(await right.claimEffect('token-a/1/0', now)).toMatchObject({ wasStarted: true })
      expect(await right.dueEffects(now)).toEqual([])
      expect(await ahead.extendLease({ id: 'token-a/1/0', attempts: 1 })).toBeUndefined()
    }))

  test('an effect timed by a clock that was ahead is due once it is corrected, unless it is on keys', () => {
    const now = Date.parse(at)
    const aheadNow = now + 40 * day
    return givenAhead(
      40 * day,
      async (ahead, right) => {
        const dueAt = new Date(aheadNow + 60_000).toISOString()
        const effects = [
          { type: 'portal.listSubscriptions', data: {} },
          { type: 'portal.listFailures', data: {}, dueAt },
          { type: 'keys.destroyEpochs', data: {}, dueAt },
        ]
        await ahead.append(appendOf('token-a', 'none', [{ effects }], { at: new Date(aheadNow).toISOString() }))
        const both = ['token-a/1/0', 'token-a/1/1']
        expect(await right.dueEffects(now)).toEqual(both)
        expect(await right.dueEffects(now, { types: ['portal.listFailures'], limit: 1 })).toEqual(['token-a/1/1'])
        expect(await ahead.claimEffect('token-a/1/0', aheadNow)).toMatchObject({ wasStarted: false })
        await ahead.deferEffect({ id: 'token-a/1/0', attempts: 1 }, aheadNow + 60_000, 'later')
        expect(await right.dueEffects(now)).toEqual(both)
        expect(await right.claimEffect('token-a/1/0', now)).toMatchObject({ wasStarted: false })
        expect(await right.claimEffect('token-a/1/2', now)).toBeUndefined()
        // A clock that is less than ten minutes ahead is accepted.
        expect(await right.dueEffects(aheadNow - 540_000)).not.toContain('token-a/1/1')
      },
      () => now,
    )
  })

  test('a process whose clock is minutes behind takes no lease from one that is ahead', () =>
    givenAhead(540_000, async (ahead, right) => {
      expect(await ahead.secrets.leases.take('login')).toBeDefined()
      expect(await ahead.followers.take('mail')).toMatchObject({ position: 0 })
      expect(await right.secrets.leases.take('login')).toBeUndefined()
      expect(await right.followers.take('mail')).toBeUndefined()
    }))

  test('a rebuild by one process is seen by the other, which continues to append', () =>
    given(async (one, other) => {
      await append(other, 600)
      const rebuilding = one.rebuild()
      for (let i = 0; i < 10; i++) await append(other, 10)
      expect(await rebuilding).toMatchObject([{ rows: 10, differences: 0 }])
      await append(other, 10)
      expect(await one.rebuild()).toMatchObject([{ rows: 10, differences: 0 }])
      expect(await other.viewProgress()).toMatchObject([{ view: 'counted', isRunning: true, position: 711 }])
    }))
}
