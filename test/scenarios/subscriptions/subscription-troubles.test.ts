import { expect, test } from 'vitest'
import { createMetrics } from '../../../src/cli/metrics.ts'
import { type AverbaOptions, valueOf } from '../../../src/index.ts'
import { dayMs, minuteMs, passTime } from '../../support/pass-time.ts'
import { actionsOf, applyPlan, callPortal } from '../../support/portal.ts'
import { startRun } from '../../support/start-run.ts'
import { openWorld } from '../../support/world.ts'
import { lose } from './story.ts'

const [one, two] = ['dimp-situacao-import', 'talp-altsit-lpco-anu'] as const
const subscriptions = [
  { evento: one, chaveSecreta: 'chave-um' },
  { evento: two, chaveSecreta: 'chave-dois' },
]
const sound = { name: 'subscriptions', ok: true, detail: 'no problem is known' }

/** What the portal answers to a request; nothing to have it answer as it does. */
type Answer = (request: Request) => Response | undefined

async function given(answer: Answer = () => undefined, more: Partial<AverbaOptions> = {}) {
  const world = await openWorld({
    averba: { schedules: true, subscriptions, ...more },
    intercept: async (request, forward) => answer(request) ?? forward(request),
  })
  const { lines } = world
  const health = async () => {
    const { ready, checks } = await world.averba.health({ only: ['subscriptions'] })
    // Other work is not affected.
    expect(ready).toBe(true)
    return checks[0]
  }
  /** Runs a process for some days and returns its log lines. */
  const days = async (count: number) => {
    const from = lines.length
    await passTime(world, dayMs, count)
    return lines.slice(from)
  }
  const apply = () => applyPlan(world.averba)
  /** Changes the second subscription at the portal by hand. */
  const changeAtPortal = async (change: object) => {
    const [, { id, evento, endpoint } = expect.fail('There is none')] = await world.averba.subscriptions.list()
    await callPortal(world, 'PUT', { id, evento, endpoint, chaveSecreta: 'chave-dois', ...change }, `/${id}`)
  }
  return { world, averba: world.averba, lines, health, days, apply, changeAtPortal }
}

test('health reports a subscription that will be deleted, with its days left', async () => {
  const { world, averba, health, days, apply } = await given()
  await apply()
  await lose(world, {})
  expect(await days(14)).toEqual([])
  expect(await health()).toEqual(sound)
  const message = 'the portal will soon delete a subscription, since no delivery succeeds'
  expect(await days(1)).toMatchObject([{ message, evento: one, daysLeft: 15 }])
  expect(await health()).toEqual({
    ...{ name: 'subscriptions', ok: false, daysLeft: 15 },
    detail: `${one}: the portal deletes it in 15 days unless a delivery succeeds: fix the receiver`,
  })
  const scraped = await createMetrics(averba, world.clock).scrape()
  expect(scraped).toContain('\naverba_subscription_days_left 15\n')
  expect(scraped).not.toContain('certificate="subscriptions"')
  expect((await days(14)).map(each => each.daysLeft)).toEqual([7, 3])
  expect(await health()).toMatchObject({ ok: false, daysLeft: 1 })
  expect(await days(5)).toMatchObject([{ message: 'the portal has deleted a declared subscription', evento: one }])
  expect(await health()).toEqual({
    ...{ name: 'subscriptions', ok: false },
    detail: `${one}: the portal has deleted it: fix the cause, then plan and apply, or stop declaring it`,
  })
  await apply()
  expect(await health()).toEqual(sound)
})

test.each([
  ['event', { evento: 'dimp-diag-import' }],
  ['endpoint', { endpoint: 'https://outro.exemplo.br/' }],
  ['event and endpoint and secrets', { evento: 'a', endpoint: 'https://outro.exemplo.br/', chaveSecreta: 'b' }],
])('health reports another %s at the portal until a plan fixes it', async (what, change) => {
  const { health, days, apply, changeAtPortal } = await given()
  await apply()
  await changeAtPortal(change)
  const message = 'a subscription at the portal differs from its declaration'
  expect(await days(3)).toMatchObject([{ message, evento: two, detail: `another ${what}` }])
  const detail = `${two}: the portal has another ${what} than declared: plan and apply`
  expect(await health()).toMatchObject({ ok: false, detail })
  await apply()
  expect(await health()).toEqual(sound)
  expect(await days(1)).toEqual([])
})

test('a declined event does not stop the others, and health reports that it is missing', async () => {
  const { world, averba, health, days, apply } = await given(undefined, { schedules: false })
  await world.faults.add({ kind: 'status', status: 422, method: 'POST', service: 'portal', times: 1 })
  expect(await health()).toMatchObject({ ok: true })
  const applied = await averba.subscriptions.apply(await averba.subscriptions.plan())
  expect(applied).toMatchObject([
    { change: { evento: one }, status: 'declined' },
    { change: { evento: two }, status: 'settled' },
  ])
  expect(await actionsOf(averba)).toEqual(['create', 'leave'])
  const detail = `${one}: it is declared but not at the portal as ours: plan and apply`
  expect(await health()).toMatchObject({ ok: false, detail })
  expect(await days(2)).toMatchObject([{ message: 'a declared subscription is not at the portal', evento: one }])
  await apply()
  expect(await health()).toEqual(sound)
})

test('a portal not read for over two days is logged once, until it is read again', async () => {
  let isDown = false
  const { health, days, apply } = await given(({ url }) => {
    if (isDown && url.includes('/portal/')) throw new TypeError('connection')
    return undefined
  })
  await apply()
  await days(1)
  isDown = true
  expect(await days(2)).toEqual([])
  expect(await health()).toEqual(sound)
  const message = 'the portal was not read for over two days: the state of the subscriptions is unknown'
  expect(await days(20)).toMatchObject([
    { message, detail: 'subscriptions' },
    { message, detail: 'failure records' },
  ])
  const detail = expect.stringContaining("the portal's failure records were not read for 22 days")
  expect(await health()).toMatchObject({ ok: false, detail })
  isDown = false
  expect(await days(1)).toEqual([])
  expect(await health()).toEqual(sound)
})

test('a portal that could never be read is logged after two days', async () => {
  const { averba, health, days } = await given(({ url }) =>
    url.includes('/portal/') ? new Response('', { status: 401 }) : undefined,
  )
  await averba.settle()
  expect(await days(1)).toEqual([])
  expect(await days(3)).toHaveLength(2)
  expect(await health()).toMatchObject({ ok: false })
})

test.each([
  ['declined', () => Response.json({ code: 'PLAT-ER0500' }, { status: 422 })],
  ['in no known form', () => new Response('{"a":')],
])('a day whose failure records are %s is told of, although all others are read', async (_, answer) => {
  let isHidden = true
  const { health, days, apply } = await given(({ url }) =>
    isHidden && url.includes('data=20112026') ? answer() : undefined,
  )
  await apply()
  expect(await days(3)).toEqual([])
  const message = 'the failure records of a day cannot be read: what failed then is not recovered'
  expect(await days(3)).toEqual([{ level: 'error', message, detail: '2026-11-20' }])
  expect(await health()).toMatchObject({ ok: false, detail: expect.stringContaining('2026-11-20 cannot be read') })
  isHidden = false
  await days(3)
  expect(await health()).toEqual(sound)
})

test('days that are asked for at once, as after an adoption, are not called unread before they are late', async () => {
  const { world, averba, days, apply } = await given(({ url }) =>
    url.includes('data=') ? Response.json({}, { status: 503 }) : undefined,
  )
  await callPortal(world, 'POST', { ...subscriptions[0], endpoint: 'https://receptor.exemplo.br/averba' })
  await apply()
  expect((await averba.effects.list({ state: 'open' })).length).toBeGreaterThan(20)
  expect(await days(2)).toEqual([])
  expect(await days(1)).toMatchObject([{ detail: 'failure records' }])
})

test('a running process logs an alert within a minute', async () => {
  const { world, averba, lines, apply, changeAtPortal } = await given()
  await apply()
  startRun(world)
  await changeAtPortal({ endpoint: 'https://outro.exemplo.br/' })
  await averba.subscriptions.plan()
  await world.clock.advance(minuteMs)
  expect(lines.map(each => each.evento)).toEqual([two])
})

test.each([
  ['have an id of another form', { id: 'a7' }, one],
  ['have no content', { conteudo: null }, one],
  ['have no event', { evento: undefined }, undefined],
])('failure records that %s are logged, until a later reading of the day is complete', async (_, odd, evento) => {
  const record = { id: 7, data: '20-11-2026 09:00:00', descricao: 'x', evento: one, conteudo: 'x' }
  let shown: object = { ...record, ...odd }
  const { averba, lines, health, apply } = await given(({ url }) =>
    url.includes('data=20112026') ? Response.json([shown]) : undefined,
  )
  await apply()
  await averba.subscriptions.recover()
  await averba.subscriptions.recover()
  await averba.settle()
  const message = 'failure records cannot be read or have no content: their notifications are not recovered'
  expect(lines).toMatchObject([{ message, ...(evento && { evento }) }])
  const detail = expect.stringContaining(`${evento ?? 'an unknown event'}: failure records`)
  expect(await health()).toMatchObject({ ok: false, detail })
  shown = record
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { recovered: 1, unreadable: 0 }])
  expect(await health()).toEqual(sound)
})

test('unreadable failure records of foreign events are not reported', async () => {
  const odd = { id: 'a7', data: '20-11-2026 09:00:00', descricao: 'x', evento: 'outro-evento', conteudo: 'x' }
  const { averba, lines, health, apply } = await given(({ url }) =>
    url.includes('/falhas') ? Response.json([odd]) : undefined,
  )
  await apply()
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { unreadable: 1 }])
  await averba.settle()
  expect(lines).toEqual([])
  expect(await health()).toEqual(sound)
})
