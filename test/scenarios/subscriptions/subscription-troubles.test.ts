import { expect, test } from 'vitest'
import { createMetrics } from '../../../src/cli/metrics.ts'
import { type AverbaOptions, type LogLine, valueOf } from '../../../src/index.ts'
import { samples, type World, type WorldOptions } from '../../../src/simulation/index.ts'
import { dayMs, passTime } from '../../support/pass-time.ts'
import { applyPlan } from '../../support/portal.ts'
import { openWorld } from '../../support/world.ts'

const [one, two] = ['dimp-situacao-import', 'talp-altsit-lpco-anu'] as const
const subscriptions = [
  { evento: one, chaveSecreta: 'chave-um' },
  { evento: two, chaveSecreta: 'chave-dois' },
]

async function given(averba: Partial<AverbaOptions> = {}, options: WorldOptions = {}) {
  const lines: LogLine[] = []
  const world = await openWorld({
    ...options,
    averba: { schedules: true, subscriptions, logger: line => lines.push(line), ...averba },
  })
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
  return { world, lines, health, days }
}

async function apply({ averba }: World): Promise<void> {
  await applyPlan(averba)
}

async function fail(world: World, evento: string): Promise<void> {
  await world.faults.add({ kind: 'status', status: 500, service: 'receiver', times: 1 })
  const notice = { evento, destinatarioTipo: 'CNPJ', destinatarioId: samples.cnpj } as const
  expect(await world.portal.notify({ ...notice, body: {} })).toMatchObject([{ isDelivered: false }])
}

/** Changes the second subscription at the portal by hand. */
async function changeAtPortal(world: World, change: object): Promise<void> {
  const { id, evento, endpoint } = (await world.averba.subscriptions.list())[1] ?? {}
  const request = new Request(`https://portal.exemplo.br/portal/api/ext/webhook/${id}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', authorization: 'sessao-de-exemplo' },
    body: JSON.stringify({ id, evento, endpoint, chaveSecreta: 'chave-dois', ...change }),
  })
  expect((await world.portal.fetch(request)).status).toBe(200)
}

test('health reports a subscription that will be deleted, with its days left', async () => {
  const { world, health, days } = await given()
  await apply(world)
  await fail(world, one)
  expect(await days(14)).toEqual([])
  expect(await health()).toMatchObject({ ok: true })
  const message = 'the portal will soon delete a subscription, since no delivery succeeds'
  expect(await days(1)).toMatchObject([{ message, evento: one, daysLeft: 15 }])
  expect(await health()).toEqual({
    name: 'subscriptions',
    ok: false,
    detail: `${one}: the portal deletes it in 15 days unless a delivery succeeds: fix the receiver`,
    daysLeft: 15,
  })
  const metrics = createMetrics(world.averba, world.clock)
  const scraped = await metrics.scrape()
  expect(scraped).toContain('\naverba_subscription_days_left 15\n')
  expect(scraped).not.toContain('certificate="subscriptions"')
  expect((await days(14)).map(each => each.daysLeft)).toEqual([7, 3])
  expect(await health()).toMatchObject({ ok: false, daysLeft: 1 })
  expect(await days(5)).toMatchObject([{ message: 'the portal has deleted a declared subscription', evento: one }])
  expect(await health()).toEqual({
    name: 'subscriptions',
    ok: false,
    detail: `${one}: the portal has deleted it: fix the cause, then plan and apply, or stop declaring it`,
  })
  await apply(world)
  expect(await health()).toMatchObject({ ok: true })
})

test.each([
  ['event', { evento: 'dimp-diag-import' }],
  ['endpoint', { endpoint: 'https://outro.exemplo.br/' }],
  ['event and endpoint and secrets', { evento: 'a', endpoint: 'https://outro.exemplo.br/', chaveSecreta: 'b' }],
])('health reports another %s at the portal until a plan fixes it', async (what, change) => {
  const { world, health, days } = await given()
  await apply(world)
  await changeAtPortal(world, change)
  const message = 'a subscription at the portal differs from its declaration'
  expect(await days(3)).toMatchObject([{ message, evento: two, detail: `another ${what}` }])
  expect(await health()).toMatchObject({
    ok: false,
    detail: `${two}: the portal has another ${what} than declared: plan and apply`,
  })
  await apply(world)
  expect(await health()).toMatchObject({ ok: true })
  expect(await days(1)).toEqual([])
})

test('health reports a declared subscription that is missing after an apply', async () => {
  const faults = [{ kind: 'status', status: 422, method: 'POST', service: 'portal', times: 1 }] as const
  const { world, health, days } = await given({ schedules: false }, { faults })
  expect(await health()).toMatchObject({ ok: true })
  const applied = await world.averba.subscriptions.apply(await world.averba.subscriptions.plan())
  expect(applied.map(each => each.status)).toEqual(['declined', 'settled'])
  expect(await health()).toMatchObject({
    ok: false,
    detail: `${one}: it is declared but not at the portal as ours: plan and apply`,
  })
  expect(await days(2)).toMatchObject([{ message: 'a declared subscription is not at the portal', evento: one }])
  await apply(world)
  expect(await health()).toMatchObject({ ok: true })
})

test.each(['401', 'no connection'])(
  'a portal not read for over two days (%s) is logged once, until it is read again',
  async how => {
    let isDown = false
    const { world, health, days } = await given(
      {},
      {
        async intercept(request, forward) {
          if (!isDown || !request.url.includes('/portal/')) return forward(request)
          if (how === '401') return Response.json({ code: 'PUCX-ER0201' }, { status: 401 })
          throw new TypeError('connection')
        },
      },
    )
    await apply(world)
    await days(1)
    isDown = true
    expect(await days(2)).toEqual([])
    expect(await health()).toMatchObject({ ok: true })
    const message = 'the portal was not read for over two days: the state of the subscriptions is unknown'
    expect(await days(20)).toMatchObject([
      { message, detail: 'subscriptions' },
      { message, detail: 'failure records' },
    ])
    expect(await health()).toMatchObject({
      ok: false,
      detail: expect.stringContaining("the portal's failure records were not read for 22 days"),
    })
    isDown = false
    expect(await days(1)).toEqual([])
    expect(await health()).toMatchObject({ ok: true })
  },
)

test('a portal that could never be read is logged after two days', async () => {
  const { health, days, world } = await given(
    {},
    {
      async intercept(request, forward) {
        return request.url.includes('/portal/') ? new Response('', { status: 401 }) : forward(request)
      },
    },
  )
  await world.averba.settle()
  expect(await days(1)).toEqual([])
  expect(await days(3)).toHaveLength(2)
  expect(await health()).toMatchObject({ ok: false })
})

test.each([
  ['declined', () => Response.json({ code: 'PLAT-ER0500' }, { status: 422 })],
  ['in no known form', () => new Response('{"a":')],
])('a day whose failure records are %s is told of, although all others are read', async (_, answer) => {
  let isHidden = true
  const { world, health, days } = await given(
    {},
    {
      intercept: async (request, forward) =>
        isHidden && request.url.includes('data=20112026') ? answer() : forward(request),
    },
  )
  await apply(world)
  expect(await days(3)).toEqual([])
  const message = 'the failure records of a day cannot be read: what failed then is not recovered'
  expect(await days(3)).toEqual([{ level: 'error', message, detail: '2026-11-20' }])
  expect(await health()).toMatchObject({ ok: false, detail: expect.stringContaining('2026-11-20 cannot be read') })
  isHidden = false
  await days(3)
  expect(await health()).toEqual({ name: 'subscriptions', ok: true, detail: 'no problem is known' })
})

test('days that are asked for at once, as after an adoption, are not called unread before they are late', async () => {
  const { world, days } = await given(
    {},
    {
      intercept: async (request, forward) =>
        request.url.includes('data=') ? Response.json({}, { status: 503 }) : forward(request),
    },
  )
  const headers = { 'content-type': 'application/json', authorization: 'sessao-de-exemplo' }
  const body = JSON.stringify({ evento: one, endpoint: 'https://receptor.exemplo.br/averba', chaveSecreta: 'chave-um' })
  const url = 'https://portal.exemplo.br/portal/api/ext/webhook'
  expect((await world.portal.fetch(new Request(url, { method: 'POST', headers, body }))).status).toBe(200)
  await apply(world)
  expect((await world.averba.effects.list({ state: 'open' })).length).toBeGreaterThan(20)
  expect(await days(2)).toEqual([])
  expect(await days(1)).toMatchObject([{ detail: 'failure records' }])
})

test('a running process logs an alert within a minute', async () => {
  const { world, lines } = await given()
  await apply(world)
  const ended = new AbortController()
  const running = world.averba.run({ signal: ended.signal })
  await changeAtPortal(world, { endpoint: 'https://outro.exemplo.br/' })
  await world.averba.subscriptions.plan()
  await world.clock.advance(60_000)
  expect(lines.map(each => each.evento)).toEqual([two])
  ended.abort()
  await world.clock.advance(20_000)
  await running
})

test.each([
  ['have an id of another form', { id: 'a7' }, one],
  ['have no content', { conteudo: null }, one],
  ['have no event', { evento: undefined }, undefined],
])('failure records that %s are logged, until a later reading of the day is complete', async (_, other, evento) => {
  const portal = { isOdd: true }
  const { world, lines, health } = await given(
    {},
    {
      intercept: async (request, forward) => {
        const answer = await forward(request)
        if (!request.url.includes('/falhas') || !portal.isOdd) return answer
        const records: object[] = await answer.json()
        return Response.json(records.map(each => ({ ...each, ...other })))
      },
    },
  )
  await apply(world)
  await fail(world, one)
  const { averba } = world
  await averba.subscriptions.recover()
  await averba.subscriptions.recover()
  await averba.settle()
  const message = 'failure records cannot be read or have no content: their notifications are not recovered'
  expect(lines).toMatchObject([{ message, ...(evento && { evento }) }])
  const named = evento ?? 'an unknown event'
  expect(await health()).toMatchObject({
    ok: false,
    detail: expect.stringContaining(`${named}: failure records`),
  })
  portal.isOdd = false
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { recovered: 1, unreadable: 0 }])
  expect(await health()).toMatchObject({ ok: true })
})

test('unreadable failure records of foreign events are not reported', async () => {
  const odd = { id: 'a7', data: '20-11-2026 09:00:00', descricao: 'x', evento: 'outro-evento', conteudo: 'x' }
  const { world, lines, health } = await given(
    {},
    {
      intercept: async (request, forward) =>
        request.url.includes('/falhas') ? Response.json([odd]) : forward(request),
    },
  )
  await apply(world)
  expect((await world.averba.subscriptions.recover()).map(valueOf)).toMatchObject([{}, { unreadable: 1 }])
  await world.averba.settle()
  expect(lines).toEqual([])
  expect(await health()).toMatchObject({ ok: true })
})
