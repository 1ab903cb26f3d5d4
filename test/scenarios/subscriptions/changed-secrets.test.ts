import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Averba, AverbaOptions } from '../../../src/index.ts'
import { samples, type World, type WorldOptions } from '../../../src/simulation/index.ts'
import { eventsOf } from '../../support/events-of.ts'
import { dayMs, hourMs, minuteMs, passTime } from '../../support/pass-time.ts'
import { actionsOf, applyPlan, deliver, openBeside, statusOf } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'
import { evento } from './story.ts'

const publicUrl = 'https://receptor.exemplo.br/averba'
const first = `primeiro-${'x'.repeat(40)}`
const second = `segundo-${'y'.repeat(40)}`
const third = `terceiro-${'z'.repeat(40)}`

/** The value of the source, and how often it was read. */
function givenSource() {
  const source = { value: first, asked: 0, isDown: false }
  const ask = () => {
    source.asked += 1
    if (source.isDown) throw new Error(source.value)
    return source.value
  }
  return { source, ask }
}

type Declare = (ask: () => string) => Partial<AverbaOptions>
const declaring: Declare = ask => ({ subscriptions: [{ evento, chaveSecreta: ask }] })

/** A world whose portal has the secret of a source. */
async function given(declare = declaring, { averba: more, ...options }: WorldOptions = {}) {
  const { source, ask } = givenSource()
  const world = await openWorld({ ...options, averba: { ...declare(ask), ...more } })
  const { averba, clock, lines } = world
  await applyPlan(averba)
  return { world, averba, clock, source, lines }
}

/** The same on a file, and a way to open other processes on it that declare another secret. */
async function givenShared(declare = declaring) {
  const store = temporaryStore()
  const all = await given(declare, { averba: { store } })
  const openAnother = (chaveSecreta?: string | (() => string)) =>
    openBeside(all.world, { store, subscriptions: [{ evento, ...(chaveSecreta && { chaveSecreta }) }] })
  return { ...all, store, openAnother }
}

/** Makes what is declared, and returns what that changed. */
async function apply(averba: Averba): Promise<string[]> {
  const actions = await actionsOf(averba)
  await applyPlan(averba)
  return actions
}

let contents = 0
/** The portal sends new content with its secrets, which is accepted. */
async function deliverNew(world: World, times = 1): Promise<void> {
  for (let time = 0; time < times; time++)
    expect(await deliver(world, ++contents)).toMatchObject([{ isDelivered: true }])
}

/** The answers to notifications with some secrets. */
async function statusesOf(averba: Averba, ...secrets: string[]): Promise<number[]> {
  const statuses: number[] = []
  for (const secret of secrets) statuses.push(await statusOf(averba, secret))
  return statuses
}

const checkOf = async (averba: Averba) => (await averba.health({ only: ['subscriptions'] })).checks[0]

test.each<[string, Declare]>([
  ['the master', ask => ({ subscriptions: [{ evento }], receiver: { publicUrl, secretFrom: ask } })],
  ['a chaveSecreta', declaring],
  ['a chaveAutenticacao', ask => ({ subscriptions: [{ evento, chaveSecreta: 'um', chaveAutenticacao: ask }] })],
])('after a change of %s no notification is lost, the former one expires an hour after apply', async (_, declare) => {
  const { world, averba, clock, source } = await given(declare)
  await deliverNew(world)
  expect(await checkOf(averba)).toMatchObject({ ok: true })
  source.value = second
  await clock.advance(2 * minuteMs)
  // The first notification starts a reading and does not wait for it.
  await deliverNew(world, 3)
  await clock.advance(2 * minuteMs)
  await deliverNew(world)
  const detail = expect.stringMatching(/^the secrets of dimp-situacao-import have changed.*apply/)
  expect(await checkOf(averba)).toMatchObject({ ok: false, detail })
  expect(await apply(averba)).toEqual(['change'])
  await deliverNew(world)
  await clock.advance(2_000)
  expect(await checkOf(averba)).toMatchObject({ ok: true })
  await deliverNew(world)
})

test('a source read while the clock was ahead is read again after the clock is corrected', async () => {
  const { averba, clock, source } = await given()
  clock.jump(dayMs)
  expect(await statusOf(averba, 'outra')).toBe(401)
  clock.jump(-dayMs)
  source.value = second
  expect(await statusesOf(averba, second, first)).toEqual([200, 200])
})

test('a process started after the change accepts the former secret, which is stored nowhere', async () => {
  const { averba, store, openAnother } = await givenShared()
  await averba.close()
  const later = await openAnother(second)
  expect(await statusesOf(later, first, second, 'outra')).toEqual([200, 200, 401])
  // An undeclared event may carry the secrets of any declared one.
  expect(await statusOf(later, first, 'evento-novo')).toBe(200)
  await later.close()
  const again = await openAnother(second)
  expect(await statusOf(again, first)).toBe(200)
  expect(await checkOf(again)).toMatchObject({ ok: false })
  await again.close()
  const bytes = readFileSync(store, 'latin1')
  for (const secret of [first, second]) expect(bytes.includes(secret)).toBe(false)
})

test('a secret that another process has sent to the portal is accepted at once', async () => {
  const { averba, clock, source, openAnother } = await givenShared()
  const other = givenSource()
  const receiving = await openAnother(other.ask)
  expect(await statusOf(receiving, first)).toBe(200)
  await clock.advance(2_000)
  source.value = second
  await apply(averba)
  other.source.isDown = true
  expect(await statusesOf(receiving, second, first)).toEqual([200, 200])
  expect(other.source.asked).toBe(1)
})

test('forged notifications do not flood the source of the secrets', async () => {
  const { averba, clock, source } = await given()
  const before = source.asked
  for (let seconds = 0; seconds < 60; seconds++) {
    await clock.advance(1_000)
    const forged = Array.from({ length: 20 }, (_, n) => statusOf(averba, `forjada-${n}`))
    expect(new Set(await Promise.all(forged))).toEqual(new Set([401]))
  }
  expect(source.asked - before).toBeGreaterThan(0)
  expect(source.asked - before).toBeLessThanOrEqual(7)
})

test('a source that fails on a later reading loses no notification and is logged', async () => {
  const { world, clock, source, lines } = await given()
  source.isDown = true
  await clock.advance(2 * minuteMs)
  await deliverNew(world, 3)
  const told = lines.map(line => JSON.stringify(line)).filter(line => line.includes('could not be read again'))
  expect(told).toHaveLength(1)
  expect(told.join()).not.toContain(first)
})

test('while a source fails, an unknown secret is answered 503, not 401', async () => {
  const { averba, clock, source, lines } = await given()
  await clock.advance(20_000)
  // The second secret was set by hand at the portal, and the source is down.
  source.isDown = true
  expect(await statusesOf(averba, second, second, second)).toEqual([503, 503, 503])
  const message = 'a notification was not stored: answered 503'
  // One log line a minute has the count.
  expect(lines.filter(line => line.message === message)).toMatchObject([{ message, error: 'MISCONFIGURED' }])
  const hastened = async () => (await eventsOf({ averba }, 'portal.recoveryHastened'))[0]?.data.reason
  await expect.poll(hastened).toBe('unstored')
  expect(await statusOf(averba, first)).toBe(200)
  source.isDown = false
  source.value = second
  await clock.advance(20_000)
  expect(await statusesOf(averba, second, 'outra')).toEqual([200, 401])
})

test('a source that has not worked yet is read once a second at most', async () => {
  const { source, ask } = givenSource()
  source.isDown = true
  const { averba, clock } = await openWorld({ averba: declaring(ask) })
  for (let times = 0; times < 10; times++)
    for (const about of [evento, `evento-${times}`]) expect(await statusOf(averba, 'forjada', about)).toBe(503)
  expect(source.asked).toBe(1)
  source.isDown = false
  await clock.advance(1_000)
  expect(await statusesOf(averba, first, 'forjada')).toEqual([200, 401])
})

test('after a secret was added, a notification without one is refused', async () => {
  const { averba, openAnother } = await givenShared(() => ({ subscriptions: [{ evento }] }))
  expect(await statusOf(averba, '')).toBe(200)
  await averba.close()
  expect(await statusesOf(await openAnother(first), '', first)).toEqual([401, 200])
})

test('a process without the secret does not make others accept forged notifications', async () => {
  const { averba, clock, openAnother } = await givenShared(() => ({ subscriptions: [{ evento, chaveSecreta: first }] }))
  expect(await statusOf(await openAnother(), 'forjada')).toBe(200)
  for (const waitMs of [2_000, minuteMs, 2 * minuteMs]) {
    await clock.advance(waitMs)
    expect(await statusesOf(averba, 'forjada', '', first)).toEqual([401, 401, 200])
    expect(await statusOf(averba, 'forjada', 'evento-novo')).toBe(401)
  }
})

test('a list of a process that declares nothing ends no former secret, and does not say whose the portal has', async () => {
  const { world, averba, clock, source, store } = await givenShared()
  source.value = second
  await clock.advance(2 * minuteMs)
  await deliverNew(world)
  expect(await statusesOf(averba, first, second)).toEqual([200, 200])
  const other = await openBeside(world, { store, subscriptions: [] })
  await other.subscriptions.plan()
  expect(await averba.subscriptions.list()).toMatchObject([{ areSecretsOurs: true }])
  await clock.advance(2 * hourMs)
  expect(await statusesOf(averba, first, second)).toEqual([200, 200])
  expect(await checkOf(averba)).toMatchObject({ ok: false, detail: expect.stringMatching(/plan and apply/) })
})

test('an erasure and its new keys keep the former secret and the pending apply', async () => {
  const { averba, clock, source, openAnother } = await givenShared()
  source.value = second
  expect(await actionsOf(averba)).toEqual(['change'])
  const other = await openAnother(second)
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await averba.subjects.erase({ subject }, { requester: 'dpo-1', legalBasis: 'LGPD art. 18, VI' })
  // This process has not read the new keys yet.
  expect(await statusesOf(other, first, 'outra')).toEqual([200, 401])
  await passTime({ averba, clock }, 31 * dayMs)
  const destroyed = await eventsOf({ averba }, 'subject.epochsDestroyed')
  expect(destroyed.map(({ data }) => data)).toEqual([{ epochs: [1] }])
  for (const each of [averba, other]) {
    expect(await statusesOf(each, first, 'outra')).toEqual([200, 401])
    expect(await checkOf(each)).toMatchObject({ ok: false })
  }
})

test('a secret that changes during an apply needs another apply and loses no notification', async () => {
  let onChange = async () => {}
  const { world, averba, clock, source } = await given(declaring, {
    intercept: async (request, forward) => {
      const answer = await forward(request)
      if (request.method === 'PUT') await onChange()
      return answer
    },
  })
  source.value = second
  await clock.advance(minuteMs)
  onChange = async () => {
    onChange = async () => {}
    source.value = third
    // A notification with another secret has the source read again.
    expect(await statusOf(averba, 'forjado')).toBe(401)
  }
  expect(await apply(averba)).toEqual(['change'])
  for (const waited of [0, 2 * hourMs]) {
    await clock.advance(waited)
    await deliverNew(world)
    expect(await checkOf(averba)).toMatchObject({ ok: false, detail: expect.stringContaining('have changed') })
  }
  expect(await apply(averba)).toEqual(['change'])
  await clock.advance(2_000) // What is known is a second old at most.
  expect(await checkOf(averba)).toMatchObject({ ok: true })
  await clock.advance(2 * hourMs)
  await deliverNew(world)
  expect(await statusOf(averba, second)).toBe(401)
})

test('a secret that is read only when the call is sent needs no other apply', async () => {
  const { world, averba, clock, source } = await given()
  await world.faults.add({ kind: 'refuse', service: 'portal', method: 'PUT' })
  source.value = second
  const plan = await averba.subscriptions.plan()
  expect(await averba.subscriptions.apply(plan)).toMatchObject([{ status: 'deferred' }])
  source.value = third
  world.faults.clear()
  await passTime({ averba, clock }, 5 * minuteMs)
  await clock.advance(2_000)
  await deliverNew(world)
  expect(await checkOf(averba)).toMatchObject({ ok: true })
})

test('an event in another case needs the secrets of the declared one, beside an event without secrets', async () => {
  const { averba } = await given(ask => ({ subscriptions: [{ evento, chaveSecreta: ask }, { evento: 'aberto' }] }))
  const shouted = evento.toUpperCase()
  expect([await statusOf(averba, 'outra', shouted), await statusOf(averba, first, shouted)]).toEqual([401, 200])
  expect(await statusOf(averba, 'outra', 'aberto')).toBe(200)
})
