import { expect, test } from 'vitest'
import type { HandlerCall } from '../../../src/index.ts'
import { seededEntropy, VirtualClock } from '../../../src/simulation/index.ts'
import { notify } from '../../support/notify.ts'
import { inboxOf } from '../../support/portal.ts'
import { startRun } from '../../support/start-run.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine } from '../../support/world.ts'

const evento = 'e'
const cpf = '25774435016'
const idle = async () => undefined
const never = () => new Promise<never>(() => undefined)

async function given() {
  const clock = new VirtualClock()
  const receiver = { publicUrl: 'https://receptor.exemplo.br', sources: 'any' as const }
  const averba = await openEngine({ store: ':memory:', clock, entropy: seededEntropy(1), receiver })
  startRun({ averba, clock })
  return {
    clock,
    averba,
    notify: async (n: number, about = evento) =>
      expect((await notify(averba, { n }, { 'event-type': about })).status).toBe(200),
  }
}

test('a handler that hangs fails after a minute, and the next notification is handled', async () => {
  const { averba, clock, notify } = await given()
  const calls: number[] = []
  const aborted: number[] = []
  averba.notifications.handle(evento, 'crm', async (notification, { signal }) => {
    const { n } = notification.body as { n: number }
    calls.push(n)
    if (n !== 1) return
    signal.addEventListener('abort', () => aborted.push(clock.now()))
    await never()
  })
  const reasons: unknown[] = []
  const hang = (_: unknown, { signal }: HandlerCall) => {
    signal.addEventListener('abort', () => reasons.push(signal.reason.message))
    return never()
  }
  averba.notifications.handle('outro', 'erp', hang, { timeoutMs: 10_000 })
  averba.log.follow('mail', ['notification.received'], hang, { timeoutMs: 2_000 })
  for (const n of [1, 2]) await notify(n)
  await notify(3, 'outro')
  await expect.poll(() => calls).toEqual([1])
  await clock.advance(4_000)
  clock.jump(-3_600_000)
  const setBackTo = clock.now()
  await clock.advance(55_999)
  expect(calls).toEqual([1])
  await clock.advance(1)
  await expect.poll(() => calls).toEqual([1, 2])
  expect(aborted).toEqual([setBackTo + 56_000])
  expect(new Set(reasons)).toEqual(new Set(['It took longer than 2000 ms', 'It took longer than 10000 ms']))
  const states = async () =>
    (await inboxOf(averba, { evento })).map(({ state, handlers }) => [state, handlers[0]?.reason])
  await expect.poll(states).toEqual([
    ['failing', 'It took longer than 60000 ms'],
    ['handled', ''],
  ])
  // It is retried like any other failure.
  await clock.advance(1_000)
  await expect.poll(() => calls).toEqual([1, 2, 1])
})

test.each([0, 1.5, 86_400_001, Number.NaN])('a timeoutMs of %s is refused', async timeoutMs => {
  const { averba } = await given()
  const follow = () => averba.log.follow('crm', ['subject.enrolled'], idle, { timeoutMs })
  const handle = () => averba.notifications.handle(evento, 'crm', idle, { timeoutMs })
  for (const call of [follow, handle]) expect(call).toThrow('timeoutMs is out of range')
})

const named = (name: PropertyDescriptor) => Object.defineProperty(new Error('x'), 'name', name)
const throwing = () => {
  throw new Error(cpf)
}

test.each<[string, unknown, string]>([
  ['a name', named({ value: 'RangeError' }), 'RangeError'],
  ['a CPF as its name', named({ value: cpf }), 'Error'],
  ['a name that holds a CPF', named({ value: `Of${cpf}` }), 'Error'],
  ['a number as its name', named({ value: 42 }), 'Error'],
  ['a symbol as its name', named({ value: Symbol('x') }), 'Error'],
  ['a name that cannot be read', named({ get: throwing }), 'Error'],
  ['issues that are not of zod', Object.assign(new Error('x'), { issues: [{ code: 'Maria' }, null] }), 'Error'],
  ['an inside that cannot be looked at', new Proxy({}, { getPrototypeOf: throwing, has: throwing }), 'Error'],
])('a handler that throws something with %s fails like any other', async (_, thrown, reason) => {
  const { averba, clock, notify } = await given()
  let calls = 0
  const fail = async () => {
    calls += 1
    throw thrown
  }
  const parse = () => {
    throw thrown
  }
  averba.notifications.handle(evento, 'crm', fail)
  averba.notifications.handle(evento, 'bill', idle, { schema: { parse } })
  averba.log.follow('mail', ['notification.received'], fail)
  await notify(1)
  const byName = async () => (await inboxOf(averba))[0]?.handlers.toSorted((a, b) => (a.handler < b.handler ? 1 : -1))
  await expect.poll(byName).toMatchObject([
    { handler: 'crm', attempts: 1, reason },
    { handler: 'bill', attempts: 1, reason: 'the body does not fit its schema' },
  ])
  const mail = async () => (await averba.log.followers()).find(each => each.name === 'mail')
  await expect.poll(mail).toMatchObject({ attempts: 1, reason })
  expect(calls).toBe(2)
  await clock.advance(999)
  expect(calls).toBe(2)
})

test('settle is refused within a handler, but not after it or in a listener', async () => {
  const { averba, clock, notify } = await given()
  const codes: string[] = []
  const settle = (where: string) =>
    averba.settle().then(
      () => codes.push(`${where} settled`),
      error => codes.push(`${where} ${error.code}`),
    )
  const left = Promise.withResolvers<void>()
  averba.on('subject.enrolled', () => void settle('listener'))
  averba.notifications.handle(evento, 'crm', async () => {
    await settle('handler')
    void left.promise.then(() => settle('left behind'))
  })
  averba.log.follow('mail', ['notification.received'], async () => {
    await settle('follower')
    await averba.consents.enrol({ cpf })
  })
  await notify(1)
  await expect.poll(() => inboxOf(averba)).toMatchObject([{ state: 'handled' }])
  left.resolve()
  await expect
    .poll(() => codes.toSorted())
    .toEqual(['follower REFUSED', 'handler REFUSED', 'left behind settled', 'listener settled'])
  // No handler timed out.
  expect(clock.now()).toBe(Date.parse('2026-11-20T12:00:00.000Z'))
})

test('a handler may close the log: close does not wait for it, and it counts as handled', async () => {
  const [store, clock] = [temporaryStore(), new VirtualClock()]
  let calls = 0
  const openClosing = async (seed: number) => {
    const averba = await openEngine({ store, clock, entropy: seededEntropy(seed) })
    averba.log.follow('crm', ['subject.enrolled'], async () => {
      calls += 1
      await averba.close()
    })
    return averba
  }
  const averba = await openClosing(1)
  await averba.consents.enrol({ cpf })
  await averba.run({ signal: new AbortController().signal })
  await averba.close()
  expect(clock.sleeping).toBe(0)
  await (await openClosing(2)).settle()
  expect(calls).toBe(1)
})
