import { type Clock, systemClock } from '../../../src/runtime/clock.ts'
import { treeRoot } from '../../../src/store/log/tree.ts'
import type { Store } from '../../../src/store/store.ts'
import { dayMs } from '../../../src/vocabulary/instant.ts'
import { appendOf, at } from '../append-of.ts'
import { append, counting, rowsOf } from './counting.ts'
import {
  alsoExpecting,
  digest,
  type Harness,
  type Place,
  positionsOf,
  receiptOf,
  requesting,
  toStream,
} from './place.ts'

/** Tests two stores on one database, as in two processes. */
export function processConformance({ test, expect }: Harness, newPlace: () => Place): void {
  const onBoth = (name: string, work: (one: Store, other: Store) => Promise<void>) =>
    test(name, async () => {
      const place = newPlace()
      const options = { views: [counting('counted')] }
      await work(await place.open(options), await place.open(options))
    })

  onBoth('positions have no gaps and versions and views are correct, whichever process appends', async (one, other) => {
    await Promise.all([append(one, 200), append(other, 200)])
    await one.append(toStream('token-a', 'none'))
    expect((await other.append(toStream('token-a', 'none'))).status).toBe('conflict')
    expect(positionsOf(await other.append(toStream('token-a', 1)))).toEqual([403])
    const events = await one.read({})
    expect(events.map(event => event.position)).toEqual(Array.from({ length: 403 }, (_, i) => i + 1))
    for (const store of [one, other]) {
      const rows = await rowsOf(store)
      expect(rows.map(row => row.n)).toEqual(Array(10).fill(40))
    }
    expect(await one.rebuild()).toMatchObject([{ differences: 0 }])
    expect(await other.database.read(treeRoot)).toBe(await one.database.read(treeRoot))
  })

  onBoth('a command sent to two processes is executed once', async (one, other) => {
    const sent = { ...toStream('token-a', 'any'), receipt: receiptOf('c1') }
    const both = await Promise.all([one.append(sent), other.append(sent)])
    expect(both.map(({ status }) => status).sort()).toEqual(['appended', 'known'])
    expect(await other.read({ stream: 'token-a' })).toHaveLength(1)
  })

  onBoth('what a process does not know is enforced: a missing stream, a digest, a receipt', async (one, other) => {
    const entry = { kind: 'token', digest, value: 'a' }
    const receipt = receiptOf('c1')
    const first = { ...toStream('token-a', 'none'), indexEntries: [entry], receipt }
    expect(await one.append(first)).toMatchObject({ status: 'appended' })
    const second = toStream('token-b', 'any')
    const expecting = alsoExpecting(second, 'token-a', 'none')
    expect(await other.append(expecting)).toMatchObject({ status: 'conflict' })
    const indexing = { ...second, indexEntries: [{ ...entry, value: 'b' }] }
    expect(await other.append(indexing)).toMatchObject({ status: 'conflict' })
    // Its conflict is no answer: the command was recorded before.
    expect(await other.append({ ...expecting, receipt })).toMatchObject({ status: 'known' })
    expect(await other.append(toStream('token-b', 'none'))).toMatchObject({ status: 'appended' })
  })

  onBoth('a follower belongs to one process until it is released', async (one, other) => {
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
  })

  onBoth('of two that take a lease at once one gets it, and only it can extend or release it', async (one, other) => {
    const [now, rounds] = [systemClock.now(), 20]
    for (let n = 1; n <= rounds; n++) {
      const id = `token-${n}/1/0`
      const requested = appendOf(`token-${n}`, 'none', [{ effects: requesting }])
      await one.append({ ...requested, at: new Date(now).toISOString() })
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
  })

  test('an attempt that lost its lease changes nothing of one with its number, after an operator began anew', async () => {
    let now = Date.parse(at)
    const [place, clock] = [newPlace(), { ...systemClock, now: () => now }]
    const [one, other] = [await place.open({ clock }), await place.open({ clock })]
    const [effect, reason] = ['token-a/1/0', '']
    await one.append(appendOf('token-a', 'none', [{ effects: requesting }]))
    await one.claimEffect(effect, now)
    now += 61_000
    await other.claimEffect(effect, now)
    await other.deferEffect({ id: effect, attempts: 2 }, now, reason)
    const release = { effect, to: 'pending', from: ['deferred'], attempts: 2, dueAt: at, reason } as const
    await other.append({ ...toStream('token-a', 'any'), moves: release })
    expect(await other.claimEffect(effect, now)).toMatchObject({ pending: { attempts: 1 }, wasStarted: false })
    const end = (store: Store, owner = store.owner) =>
      store.append({ ...toStream('token-a', 'any'), settles: { effect, attempts: 1, owner, as: 'settled', reason } })
    await one.deferEffect({ id: effect, attempts: 1 }, now, 'late')
    expect(await end(one)).toMatchObject({ status: 'conflict' })
    expect(await Promise.all([one, other].map(each => each.holds({ id: effect, attempts: 1 })))).toEqual([false, true])
    expect(await end(other)).toMatchObject({ status: 'appended' })
  })

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
    const [id, lost] = ['token-a/1/0', 'token-a/1/1']
    await one.append(appendOf('token-a', 'none', [{ effects: [...requesting, ...requesting] }]))
    for (const each of [id, lost]) await one.claimEffect(each, now)
    await one.followers.take('mail')
    await other.followers.take('news')
    const { promise: done, resolve: finish } = Promise.withResolvers<void>()
    const held = [{ effect: { id, attempts: 1 } }, { follower: 'mail' }, { follower: 'news' }]
    const working = held.map(each => one.leaseKeeper.keep(each, () => done))
    for (let renewals = 0; renewals < 4; renewals++) {
      now += 20_000
      for (const wake of sleeping.splice(0)) wake()
      await expect.poll(() => sleeping.length).toBe(2)
    }
    expect(await other.claimEffect(id, now)).toBeUndefined()
    expect(await other.claimEffect(lost, now)).toMatchObject({ wasStarted: true })
    expect(await other.followers.take('mail')).toBeUndefined()
    expect(await one.followers.take('news')).toMatchObject({ name: 'news' })
    finish()
    await Promise.all(working)
    sleeping = []
    now += 61_000
    expect(await other.followers.take('mail')).toMatchObject({ name: 'mail' })
  })

  /** Opens a process whose clock is ahead by some time, and another one whose clock is right. */
  const openAhead = async (aheadMs: number, now = systemClock.now) => {
    const place = newPlace()
    return [await place.open({ clock: { ...systemClock, now: () => now() + aheadMs } }), await place.open()] as const
  }
  const due = Date.parse(at)

  /** How many of a lease and a follower a process gets. */
  const takeBoth = async ({ secrets, followers }: Store) =>
    [await secrets.leases.take('login'), await followers.take('mail')].filter(taken => taken !== undefined).length

  test('a lease from a clock that was ahead is over once the clock is corrected', async () => {
    const [ahead, right] = await openAhead(dayMs)
    expect([await takeBoth(ahead), await takeBoth(right)]).toEqual([2, 2])
    const effects = requesting.map(each => ({ ...each, dueAt: new Date(due + dayMs).toISOString() }))
    await ahead.append(appendOf('token-a', 'none', [{ effects }]))
    expect(await right.dueEffects(due)).toEqual([])
    expect(await ahead.claimEffect('token-a/1/0', due + dayMs)).toMatchObject({ wasStarted: false })
    expect(await right.dueEffects(due)).toEqual(['token-a/1/0'])
    expect(await right.dueEffects(due, { types: ['portal.listFailures'] })).toEqual([])
    expect(await right.claimEffect('token-a/1/0', due)).toMatchObject({ wasStarted: true })
    expect(await right.dueEffects(due)).toEqual([])
    expect(await ahead.extendLease({ id: 'token-a/1/0', attempts: 1 })).toBeUndefined()
  })

  test('an effect timed by a clock that was ahead is due once it is corrected, unless it is on keys', async () => {
    const aheadNow = due + 40 * dayMs
    const [ahead, right] = await openAhead(40 * dayMs, () => due)
    const dueAt = new Date(aheadNow + 60_000).toISOString()
    const effects = [
      { type: 'portal.listSubscriptions', data: {} },
      { type: 'portal.listFailures', data: {}, dueAt },
      { type: 'keys.destroyEpochs', data: {}, dueAt },
    ]
    await ahead.append(appendOf('token-a', 'none', [{ effects }], { at: new Date(aheadNow).toISOString() }))
    const both = ['token-a/1/0', 'token-a/1/1']
    expect(await right.dueEffects(due)).toEqual(both)
    expect(await right.dueEffects(due, { types: ['portal.listFailures'], limit: 1 })).toEqual(['token-a/1/1'])
    expect(await ahead.claimEffect('token-a/1/0', aheadNow)).toMatchObject({ wasStarted: false })
    await ahead.deferEffect({ id: 'token-a/1/0', attempts: 1 }, aheadNow + 60_000, 'later')
    expect(await right.dueEffects(due)).toEqual(both)
    expect(await right.claimEffect('token-a/1/0', due)).toMatchObject({ wasStarted: false })
    expect(await right.claimEffect('token-a/1/2', due)).toBeUndefined()
    // A clock that is less than ten minutes ahead is accepted.
    expect(await right.dueEffects(aheadNow - 540_000)).not.toContain('token-a/1/1')
  })

  test('a process whose clock is minutes behind takes no lease from one that is ahead', async () => {
    const [ahead, right] = await openAhead(540_000)
    expect([await takeBoth(ahead), await takeBoth(right)]).toEqual([2, 0])
  })

  onBoth('a rebuild by one process is seen by the other, which continues to append', async (one, other) => {
    await append(other, 600)
    const rebuilding = one.rebuild()
    for (let i = 0; i < 10; i++) await append(other, 10)
    expect(await rebuilding).toMatchObject([{ rows: 10, differences: 0 }])
    await append(other, 10)
    expect(await one.rebuild()).toMatchObject([{ rows: 10, differences: 0 }])
    expect(await other.viewProgress()).toMatchObject([{ view: 'counted', isRunning: true, position: 711 }])
  })
}
