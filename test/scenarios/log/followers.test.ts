import { statSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import type { Averba, LogLine } from '../../../src/index.ts'
import { seededEntropy, VirtualClock } from '../../../src/simulation/index.ts'
import { checkOf } from '../../support/check-of.ts'
import { dayMs, minuteMs, passTime } from '../../support/pass-time.ts'
import { refuses } from '../../support/refuses.ts'
import { startRun } from '../../support/start-run.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine, openWorld } from '../../support/world.ts'

const actor = { kind: 'person', ref: 'operadora' } as const
const cpfs = ['25774435016', '11144477735', '52998224725', '39053344705', '15350946056']

/** An engine on a file, and a way to open more on it, all with one clock. */
async function given() {
  const clock = new VirtualClock()
  const store = temporaryStore()
  const logged: string[] = []
  const logger = ({ message, follower, attempt, error }: LogLine) =>
    void logged.push(`${message} ${follower} ${attempt} ${error}`)
  let seed = 0
  const open = (by = clock) => openEngine({ store, clock: by, entropy: seededEntropy(++seed), logger })
  return { averba: await open(), clock, logged, open, store }
}

/** Lets time pass until a follower that always fails is parked. */
const untilParked = (averba: Averba, clock: VirtualClock) => passTime({ averba, clock }, 10 * minuteMs, 10)

/** A handler that waits from its first call on, until `wake` is called; `reached` resolves with that call. */
function pausing(note: (position: number) => void = () => undefined) {
  const [reached, woken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const handler = async ({ position }: { position: number }) => {
    note(position)
    reached.resolve()
    await woken.promise
  }
  return { handler, reached: reached.promise, wake: woken.resolve }
}

/** Pauses a follower at its first event. */
async function pauseAt(averba: Averba, note?: (position: number) => void, options = {}) {
  const { handler, reached, wake } = pausing(note)
  averba.log.follow('crm', ['subject.enrolled'], handler, options)
  const settling = averba.settle()
  await reached
  return { wake, settling }
}

type Types = Parameters<Averba['log']['follow']>[1]

/** Follows enrolments, or other types, and returns their positions: negative ones for another process. */
function noting({ log }: Averba, seen: number[] = [], sign = 1, types: Types = ['subject.enrolled'], name = 'crm') {
  log.follow(name, types, async ({ position }) => void seen.push(sign * position))
  return seen
}

const enrolAll = async (averba: Averba, from = 0, until = cpfs.length) => {
  for (const cpf of cpfs.slice(from, until)) await averba.consents.enrol({ cpf })
}

test('a follower cannot add a type whose events it has passed; it can change to others or fewer', async () => {
  const { averba, store } = await given()
  await enrolAll(averba, 0, 3)
  noting(averba)
  await averba.settle()
  await averba.close()
  const others: number[] = []
  const next = async (types: Types) => {
    const averba = await openEngine({ store, clock: new VirtualClock(), entropy: seededEntropy(9) })
    const seen = noting(averba, [], 1, types)
    noting(averba, others, 1, ['subject.enrolled'], 'other')
    const settled = averba.settle().then(() => undefined)
    const code = await settled.catch(error => error.code)
    const found = await checkOf(averba, 'followers')
    const [crm] = await averba.log.followers()
    await averba.close()
    return { seen, code, detail: found?.detail, types: crm?.types }
  }
  expect(await next(['subject.enrolled', 'log.began'])).toEqual({
    seen: [],
    code: 'INVALID_INPUT',
    detail: expect.stringMatching(/^crm cannot continue: .*added types: log\.began: .*under a new name/),
    types: ['subject.enrolled'],
  })
  // The other follower has continued meanwhile.
  expect(others).toEqual([2, 3, 4])
  const fine = { seen: [], code: undefined, detail: 'no follower is parked' }
  // No event of the new type exists, so none was passed.
  const more = ['consent.revoked', 'subject.enrolled'] as const
  expect(await next(more)).toEqual({ ...fine, types: more })
  expect(await next(['consent.revoked'])).toEqual({ ...fine, types: ['consent.revoked'] })
  // Enrolments may have been recorded since, and were not seen.
  expect(await next(more)).toMatchObject({ code: 'INVALID_INPUT' })
})

test('a failing follower is retried with growing waits, then parked, and never skips its event', async () => {
  const { averba, clock, logged } = await given()
  await enrolAll(averba, 0, 2)
  const tried: [position: number, seconds: number][] = []
  const began = clock.now()
  let isBroken = true
  averba.log.follow('crm', ['subject.enrolled'], async event => {
    tried.push([event.position, (clock.now() - began) / 1_000])
    if (isBroken) throw new RangeError('25774435016')
  })
  const others = noting(averba, [], 1, ['subject.enrolled'], 'other')
  await averba.settle()
  await passTime({ averba, clock }, 1_000, 5 * 60)
  expect(tried).toEqual([0, 1, 3, 7, 15, 31, 63, 127].map(seconds => [2, seconds]))
  expect(others).toEqual([2, 3])
  expect(await averba.log.followers()).toMatchObject([
    { name: 'crm', position: 1, isParked: true, attempts: 8, reason: 'RangeError' },
    { name: 'other', position: 3 },
  ])
  expect(logged.filter(line => line.includes('follower'))).toEqual([
    'a follower failed crm 1 RangeError',
    'a follower failed crm 2 RangeError',
    'a follower failed crm 4 RangeError',
    'a follower failed too often and is parked crm 8 RangeError',
  ])
  isBroken = false
  await averba.log.retry('crm')
  await averba.settle()
  expect(tried.slice(8).map(([position]) => position)).toEqual([2, 3])
  await refuses('NOT_FOUND', averba.log.retry('crm'))
})

test('a paused process does not log a follower as parked that another process has', async () => {
  const { averba: first, clock, logged, open } = await given()
  await enrolAll(first, 0, 1)
  let attempts = 0
  const { handler, reached, wake } = pausing()
  first.log.follow('crm', ['subject.enrolled'], async event => {
    attempts += 1
    if (attempts === 8) await handler(event)
    throw new RangeError()
  })
  while (attempts < 7) {
    await first.settle()
    await clock.advance(10 * 60_000)
  }
  const settling = first.settle()
  await reached
  clock.jump(61_000)
  const second = await open()
  second.log.follow('crm', ['subject.enrolled'], async () => undefined)
  await second.settle()
  wake()
  await settling
  expect(logged.join()).not.toContain('is parked')
  expect(await second.log.followers()).toMatchObject([{ name: 'crm', position: 2, isParked: false }])
})

test('a wait that was set while the clock was ahead is over once the clock is corrected', async () => {
  const { averba, clock } = await given()
  await enrolAll(averba, 0, 1)
  let calls = 0
  averba.log.follow('crm', ['subject.enrolled'], async () => {
    calls += 1
    if (calls < 3) throw new TypeError('not now')
  })
  clock.jump(6 * 3_600_000)
  await averba.settle()
  // Within the tolerated difference of clocks, the wait still counts.
  clock.jump(-10 * 60_000)
  await averba.settle()
  expect(calls).toBe(1)
  clock.jump(-6 * 3_600_000)
  await averba.settle()
  expect(calls).toBe(2)
  await passTime({ averba, clock }, 4_000)
  expect(calls).toBe(3)
})

test('an operator has a parked follower retry or skip its event, whose position is returned and logged', async () => {
  const { averba, clock, lines } = await openWorld()
  await enrolAll(averba, 0, 3)
  const done: number[] = []
  averba.log.follow('crm', ['subject.enrolled'], async event => {
    if (event.position === 3) throw new Error('poison')
    done.push(event.position)
  })
  const park = async () => {
    await untilParked(averba, clock)
    lines.length = 0
  }
  await park()
  expect(await averba.log.retry('crm')).toBeUndefined()
  expect(lines).toMatchObject([{ message: 'a parked follower tries its event again', follower: 'crm', position: 3 }])
  await park()
  expect(await averba.log.skip('crm', { actor })).toBe(3)
  const message = 'a parked follower skips an event that it has not handled'
  const skipped = { message, follower: 'crm', position: 3 }
  expect(lines).toMatchObject([skipped])
  // Nothing changed, so nothing is logged.
  await expect(averba.log.skip('crm')).rejects.toMatchObject({
    code: 'NOT_FOUND',
    message: 'Cannot skip for "crm": no parked follower has this name',
    hint: 'See log.followers() and the check "followers" of health',
  })
  await refuses('NOT_FOUND', averba.log.skip('nobody'))
  expect(lines).toMatchObject([skipped])
  const requested = await Array.fromAsync(averba.log.read({ types: ['follower.skipRequested'] }))
  const data = { follower: 'crm', position: 3, reason: 'Error' }
  expect(requested).toMatchObject([{ stream: 'follower-main', data, actor }])
  expect(done).toEqual([2])
  await averba.settle()
  expect(done).toEqual([2, 4])
})

test('a follower that no process runs for a day is told of, and can be removed', async () => {
  const { averba: first, clock, open } = await given()
  const second = await open()
  const seen = noting(first)
  await enrolAll(first, 0, 1)
  await first.settle()
  await enrolAll(first, 1, 2)
  const followersCheck = () => checkOf(second, 'followers')
  const remove = () => second.log.unfollow('crm', { actor })
  await passTime({ averba: second, clock }, 23 * 60 * minuteMs)
  expect(await followersCheck()).toMatchObject({ ok: true })
  await refuses('NOT_FOUND', remove())
  await passTime({ averba: second, clock }, 2 * 60 * minuteMs)
  const detail = 'no process has run crm for a day: run it, or use log.unfollow("crm")'
  expect(await second.log.followers()).toMatchObject([{ name: 'crm', waitingSince: '2026-11-20T12:00:00.000Z' }])
  expect(await followersCheck()).toMatchObject({ ok: false, detail })
  // The process that follows it can still run it.
  await refuses('NOT_FOUND', first.log.unfollow('crm'))
  await remove()
  expect(await followersCheck()).toMatchObject({ ok: true })
  expect(await second.log.followers()).toEqual([])
  await refuses('NOT_FOUND', remove())
  const removed = await Array.fromAsync(second.log.read({ types: ['follower.removeRequested'] }))
  expect(removed).toMatchObject([{ actor, data: { follower: 'crm', position: 3 } }])
  // A name that comes back is new.
  await first.settle()
  expect(seen).toEqual([2, 2, 3])
})

test('a follower that its process tries in vain is not told of, nor removed, for a day after the last try', async () => {
  const { averba: first, clock, open } = await given()
  const second = await open()
  first.log.follow('crm', ['subject.enrolled'], async () => undefined)
  await enrolAll(first, 0, 1)
  await first.settle()
  await first.close()
  const third = await open()
  third.log.follow('crm', ['log.began', 'subject.enrolled'], async () => undefined)
  await enrolAll(third, 1, 2)
  await clock.advance(3 * dayMs)
  await refuses('INVALID_INPUT', third.settle())
  await refuses('NOT_FOUND', second.log.unfollow('crm'))
  expect(await checkOf(second, 'followers')).toMatchObject({ ok: true })
  await clock.advance(25 * 60 * minuteMs)
  expect(await checkOf(second, 'followers')).toMatchObject({ ok: false })
  await second.log.unfollow('crm')
})

test('a follower at work, even on an event that is days old, cannot be removed', async () => {
  const { averba: first, clock, open } = await given()
  const second = await open()
  await enrolAll(first, 0, 1)
  await clock.advance(3 * dayMs)
  const { wake, settling } = await pauseAt(first)
  await refuses('NOT_FOUND', second.log.unfollow('crm'))
  wake()
  await settling
})

test('run wakes at once for appends of its own process, and within a second for others', async () => {
  const { averba: first, clock, open } = await given()
  const second = await open()
  const seen = noting(first)
  const stop = startRun({ averba: first, clock })
  await enrolAll(first, 0, 1)
  await expect.poll(() => seen).toEqual([2])
  await enrolAll(second, 1, 2)
  expect(seen).toEqual([2])
  await clock.advance(1_000)
  await expect.poll(() => seen).toEqual([2, 3])
  await stop()
  // run has released the follower, so the other process need not wait for the lease to expire.
  noting(second, seen, -1)
  await enrolAll(second, 2, 3)
  await second.settle()
  expect(seen).toEqual([2, 3, -4])
})

test('follow is refused without types, a handler or any type, and under a name that is taken or a CPF', async () => {
  const { log } = (await given()).averba
  const handler = async () => undefined
  // The cast: no compiler has checked these.
  for (const wrong of [[handler], [['subject.enrolled']], [[], handler]])
    expect(() => log.follow('crm', ...(wrong as unknown as [Types, () => Promise<void>]))).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT', hint: expect.stringContaining('follow(') }),
    )
  // The name is still free.
  log.follow('crm', ['subject.enrolled'], handler)
  expect(() => log.follow('crm', ['token.renewed'], async () => undefined)).toThrow('another handler')
  expect(() => log.follow('25774435016', ['token.renewed'], handler)).toThrow()
})

test('a slow handler blocks no other follower', async () => {
  const { averba, clock } = await given()
  const seen: number[] = []
  const slow = pausing()
  averba.log.follow('slow', ['subject.enrolled'], slow.handler)
  averba.log.follow('quick', ['subject.enrolled'], async event => void seen.push(event.position))
  const stop = startRun({ averba, clock })
  await enrolAll(averba, 0, 1)
  await slow.reached
  await enrolAll(averba, 1, 2)
  await clock.advance(2_000)
  await expect.poll(() => seen).toEqual([2, 3])
  averba.log.follow('new', ['subject.enrolled'], async event => void seen.push(-event.position))
  await expect.poll(() => seen).toEqual([2, 3, -2, -3])
  const stopped = stop()
  slow.wake()
  await stopped
})

test('closing ends run, waits for a handler, whose event counts as handled, and keeps no process alive', async () => {
  const { averba: first, clock, logged, open } = await given()
  const second = await open()
  await enrolAll(first, 0, 2)
  const seen: number[] = []
  const { handler, reached, wake } = pausing(position => seen.push(position))
  first.log.follow('crm', ['subject.enrolled'], handler)
  const run = () => first.run({ signal: new AbortController().signal })
  const running = run()
  await reached
  logged.length = 0
  const closing = first.close()
  wake()
  await Promise.all([running, closing])
  expect(logged).toEqual([])
  await refuses('CLOSED', run())
  noting(second, seen, -1)
  await second.settle()
  expect(seen).toEqual([2, -3])
  await second.close()
  expect(clock.sleeping).toBe(0)
})

test('a handler that outlives its store ends without an unhandled rejection', async () => {
  const { averba, clock } = await given()
  await enrolAll(averba, 0, 1)
  const { wake, settling } = await pauseAt(averba, undefined, { timeoutMs: 3_600_000 })
  const closing = averba.close()
  await clock.advance(15_000)
  await closing
  // The lease would be renewed now. An unhandled rejection fails this test.
  await clock.advance(60_000)
  wake()
  await refuses('CLOSED', settling)
})

test('an engine that waits for events writes nothing', async () => {
  const { averba, clock, store } = await given()
  averba.log.follow('crm', ['subject.enrolled'], async () => undefined)
  const stop = startRun({ averba, clock })
  await clock.advance(2_000)
  const { size } = statSync(`${store}-wal`)
  await clock.advance(60_000)
  expect(statSync(`${store}-wal`).size).toBe(size)
  await stop()
})

test('waiting does not leak memory', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  let now = Date.parse('2026-11-20T12:00:00.000Z')
  let looks = 0
  const clock = {
    now: () => now,
    async sleep(ms: number, signal?: AbortSignal, what?: string) {
      if (signal?.aborted) return
      if (what !== 'run: a look at the log')
        return new Promise<void>(resolve => signal?.addEventListener('abort', () => resolve(), { once: true }))
      looks += 1
      now += ms
      await turn()
    },
  }
  const averba = await openEngine({ store: ':memory:', clock, entropy: seededEntropy(1) })
  for (const name of ['a', 'b', 'c']) averba.log.follow(name, ['subject.enrolled'], async () => undefined)
  const stop = new AbortController()
  const running = averba.run({ signal: stop.signal })
  const keptAfter = async (count: number) => {
    while (looks < count) await turn()
    for (let i = 0; i < 3; i++) {
      collect()
      await turn()
    }
    return process.memoryUsage().heapUsed
  }
  const before = await keptAfter(1_000)
  expect((await keptAfter(3_000)) - before).toBeLessThan(200_000)
  stop.abort()
  await running
})

test('events of other types cost a follower and a handler no write each, and it stays close to the end', async () => {
  /** The number of transactions for some enrolments, the end of the log, and how far behind the follower ever is. */
  const costOf = async (count: number, register: (averba: Averba) => void = () => undefined) => {
    const { averba } = await given()
    register(averba)
    await averba.settle()
    let [transactions, position, behind] = [0, 0, 0]
    averba.on('committed', () => void transactions++)
    for (let i = 0; i < count; i++) {
      await averba.consents.enrol({ cpf: '25774435016' }, { syncEveryMs: 86_400_000 + (i % 2) * 3_600_000 })
      await averba.settle()
      const [follower] = await averba.log.followers()
      position = await averba.log.end()
      behind = Math.max(behind, position - (follower?.position ?? 0))
    }
    const cost = { transactions, position, behind }
    await averba.close()
    return cost
  }
  const follow = (averba: Averba) => averba.log.follow('crm', ['certificate.expiring'], async () => undefined)
  const handle = (averba: Averba) => averba.notifications.handle('dimp-situacao-import', 'erp', async () => undefined)
  const without = await costOf(40)
  for (const register of [follow, handle]) {
    expect(await costOf(40, register)).toMatchObject({ transactions: without.transactions })
    const longer = await costOf(160, register)
    expect(longer.position).toBeGreaterThan(150)
    expect(longer.behind).toBeLessThanOrEqual(100)
  }
})

test('a process paused for longer than its lease cannot move a follower that another one has had', async () => {
  const { averba: paused, clock, open } = await given()
  const other = await open()
  await enrolAll(paused, 0, 3)
  const done: number[] = []
  const { handler, wake } = pausing()
  const work = async (event: { position: number }) => {
    if (event.position > 2) await handler(event)
    done.push(event.position)
  }
  paused.log.follow('crm', ['subject.enrolled'], work, { timeoutMs: dayMs })
  const settling = paused.settle()
  await clock.quiet()
  clock.jump(61_000)
  other.log.follow('crm', ['subject.enrolled'], () => Promise.reject(new TypeError('downstream')))
  const standing = async () => (await other.log.followers())[0]
  for (let waitMs = 1_001; !(await standing())?.isParked; waitMs *= 2) {
    await clock.finish(other.settle())
    await clock.advance(waitMs)
  }
  // Its handler continues, with its lease, and succeeds in the end.
  await clock.advance(90_000)
  wake()
  await clock.finish(settling)
  expect(done).toEqual([2, 3])
  // The event at which the other process parked it still waits for an operator.
  expect(await standing()).toMatchObject({ isParked: true, position: 2 })
  expect(await other.log.skip('crm')).toBe(3)
})

test('a run that ends does not release a follower that another run of the process is using', async () => {
  const { averba, clock } = await given()
  const calls: string[] = []
  averba.log.follow('slow', ['subject.enrolled'], async () => clock.sleep(10_000))
  averba.log.follow('bills', ['subject.enrolled'], async ({ position }) => {
    calls.push(`${position} begins`)
    await clock.sleep(4_000)
    calls.push(`${position} is done`)
  })
  await enrolAll(averba, 0, 3)
  const stopFirst = startRun({ averba, clock })
  await clock.advance(1_000)
  const first = stopFirst()
  const stopSecond = startRun({ averba, clock })
  await clock.advance(60_000)
  expect(calls).toEqual([2, 3, 4].flatMap(position => [`${position} begins`, `${position} is done`]))
  await clock.finish(Promise.all([first, stopSecond()]))
})
