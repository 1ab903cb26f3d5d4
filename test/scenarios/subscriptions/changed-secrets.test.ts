import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type Averba, type AverbaOptions, type LogLine, valueOf } from '../../../src/index.ts'
import { samples, type World } from '../../../src/simulation/index.ts'
import { earlyReadingReason } from '../../support/hastened.ts'
import { minuteMs, passTime } from '../../support/pass-time.ts'
import { statusOf } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine, openWorld } from '../../support/world.ts'

const evento = 'dimp-situacao-import'
const publicUrl = 'https://receptor.exemplo.br/averba'
const first = `primeiro-${'x'.repeat(40)}`
const second = `segundo-${'y'.repeat(40)}`

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

const declaring = (ask: () => string) => ({ subscriptions: [{ evento, chaveSecreta: ask }] })

/** Options for each source of a secret. */
const places: [string, (ask: () => string) => Partial<AverbaOptions>][] = [
  ['the master', ask => ({ subscriptions: [{ evento }], receiver: { publicUrl, secretFrom: ask } })],
  ['a chaveSecreta', declaring],
  ['a chaveAutenticacao', ask => ({ subscriptions: [{ evento, chaveSecreta: 'um', chaveAutenticacao: ask }] })],
]

async function given(options: (ask: () => string) => Partial<AverbaOptions> = declaring) {
  const store = temporaryStore()
  const { source, ask } = givenSource()
  const world = await openWorld({ averba: { store, ...options(ask) } })
  await apply(world.averba)
  return { world, source, ask, store }
}

/** Another process of the store, which declares this secret. */
const openAnother = (store: string, { clock }: World, chaveSecreta?: string | (() => string)) =>
  openEngine({
    store,
    clock,
    subscriptions: [{ evento, ...(chaveSecreta && { chaveSecreta }) }],
    receiver: { publicUrl },
  })

async function apply(averba: Averba): Promise<string[]> {
  const plan = await averba.subscriptions.plan()
  for (const made of await averba.subscriptions.apply(plan)) valueOf(made)
  return plan.changes.map(each => each.action)
}

let count = 0
/** The portal sends new content with its secrets. */
async function isDelivered({ portal }: World): Promise<boolean> {
  count += 1
  const [delivered] = await portal.notify({
    evento,
    destinatarioTipo: 'CNPJ',
    destinatarioId: samples.cnpj,
    body: { count },
  })
  return delivered?.isDelivered ?? false
}

async function checkOf(averba: Averba) {
  return (await averba.health({ only: ['subscriptions'] })).checks[0]
}

test.each(places)(
  'after a change of %s no notification is lost, the former one expires an hour after apply',
  async (_, options) => {
    const { world, source } = await given(options)
    const { averba, clock } = world
    expect(await isDelivered(world)).toBe(true)
    expect(await checkOf(averba)).toMatchObject({ ok: true })
    source.value = second
    await clock.advance(2 * minuteMs)
    // The first notification starts a reading and does not wait for it.
    for (let deliveries = 0; deliveries < 3; deliveries++) expect(await isDelivered(world)).toBe(true)
    await clock.advance(2 * minuteMs)
    expect(await isDelivered(world)).toBe(true)
    expect(await checkOf(averba)).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^the secrets of dimp-situacao-import have changed.*apply/),
    })
    expect(await apply(averba)).toEqual(['change'])
    expect(await isDelivered(world)).toBe(true)
    await clock.advance(2_000)
    expect(await checkOf(averba)).toMatchObject({ ok: true })
    expect(await isDelivered(world)).toBe(true)
  },
)

test('a source read while the clock was ahead is read again after the clock is corrected', async () => {
  const { world, source } = await given()
  const { averba, clock } = world
  clock.jump(24 * 60 * minuteMs)
  expect(await statusOf(averba, 'outra')).toBe(401)
  clock.jump(-24 * 60 * minuteMs)
  source.value = second
  expect([await statusOf(averba, second), await statusOf(averba, first)]).toEqual([200, 200])
})

test('the former secret is refused an hour after the portal has the new one', async () => {
  const { world, source } = await given()
  const { averba, clock } = world
  source.value = second
  await apply(averba)
  expect([await statusOf(averba, first), await statusOf(averba, second)]).toEqual([200, 200])
  await clock.advance(60 * minuteMs + 2_000)
  expect([await statusOf(averba, first), await statusOf(averba, second)]).toEqual([401, 200])
})

test('a process started after the change accepts the former secret, which is stored nowhere', async () => {
  const { world, store } = await given()
  await world.averba.close()
  const later = await openAnother(store, world, second)
  expect(await statusOf(later, first)).toBe(200)
  expect(await statusOf(later, second)).toBe(200)
  expect(await statusOf(later, 'outra')).toBe(401)
  // An undeclared event may carry the secrets of any declared one.
  expect(await statusOf(later, first, 'evento-novo')).toBe(200)
  await later.close()
  const again = await openAnother(store, world, second)
  expect(await statusOf(again, first)).toBe(200)
  expect(await checkOf(again)).toMatchObject({ ok: false })
  await again.close()
  const bytes = readFileSync(store, 'latin1')
  for (const secret of [first, second]) expect(bytes.includes(secret)).toBe(false)
})

test('a secret that another process has sent to the portal is accepted at once', async () => {
  const { world, source, store } = await given()
  const { clock } = world
  const other = givenSource()
  const receiving = await openAnother(store, world, other.ask)
  expect(await statusOf(receiving, first)).toBe(200)
  await clock.advance(2_000)
  source.value = second
  await apply(world.averba)
  other.source.isDown = true
  expect([await statusOf(receiving, second), await statusOf(receiving, first)]).toEqual([200, 200])
  expect(other.source.asked).toBe(1)
})

test('an unknown secret set by hand at the portal has the source read again', async () => {
  const { world, source } = await given()
  await world.clock.advance(20_000)
  expect(await statusOf(world.averba, second)).toBe(401)
  await world.clock.advance(20_000)
  source.value = second
  expect(await statusOf(world.averba, second)).toBe(200)
  // The portal's list does not show it yet.
  expect(await apply(world.averba)).toEqual(['change'])
})

test('forged notifications do not flood the source of the secrets', async () => {
  const { world, source } = await given()
  const { averba, clock } = world
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
  const lines: string[] = []
  const { world, source } = await given(ask => ({
    subscriptions: [{ evento, chaveSecreta: ask }],
    logger: line => void lines.push(JSON.stringify(line)),
  }))
  source.isDown = true
  await world.clock.advance(2 * minuteMs)
  for (let deliveries = 0; deliveries < 3; deliveries++) expect(await isDelivered(world)).toBe(true)
  const told = lines.filter(line => line.includes('could not be read again'))
  expect(told).toHaveLength(1)
  expect(told.join()).not.toContain(first)
})

test('while a source fails, an unknown secret is answered 503, not 401', async () => {
  const lines: LogLine[] = []
  const { world, source } = await given(ask => ({
    subscriptions: [{ evento, chaveSecreta: ask }],
    logger: line => void lines.push(line),
  }))
  const { averba, clock } = world
  await clock.advance(20_000)
  // The second secret was set by hand at the portal, and the source is down.
  source.isDown = true
  for (let times = 0; times < 3; times++) expect(await statusOf(averba, second)).toBe(503)
  const message = 'a notification was not stored: answered 503'
  // One log line a minute has the count.
  expect(lines.filter(line => line.message === message)).toMatchObject([{ message, error: 'MISCONFIGURED' }])
  await expect.poll(() => earlyReadingReason(averba)).toBe('unstored')
  expect(await statusOf(averba, first)).toBe(200)
  source.isDown = false
  source.value = second
  await clock.advance(20_000)
  expect([await statusOf(averba, second), await statusOf(averba, 'outra')]).toEqual([200, 401])
})

test('a source that has not worked yet is read once a second at most', async () => {
  const { source, ask } = givenSource()
  source.isDown = true
  const { averba, clock } = await openWorld({ averba: { subscriptions: [{ evento, chaveSecreta: ask }] } })
  for (let times = 0; times < 10; times++) expect(await statusOf(averba, 'forjada')).toBe(503)
  expect(source.asked).toBe(1)
  source.isDown = false
  await clock.advance(1_000)
  expect([await statusOf(averba, first), await statusOf(averba, 'forjada')]).toEqual([200, 401])
})

test('after a secret was added, a notification without one is refused', async () => {
  const { world, store } = await given(() => ({ subscriptions: [{ evento }] }))
  expect(await statusOf(world.averba, '')).toBe(200)
  await world.averba.close()
  const later = await openAnother(store, world, first)
  expect([await statusOf(later, ''), await statusOf(later, first)]).toEqual([401, 200])
})

test('a process without the secret does not make others accept forged notifications', async () => {
  const { world, store } = await given(() => ({ subscriptions: [{ evento, chaveSecreta: first }] }))
  const { averba, clock } = world
  const lacking = await openAnother(store, world)
  expect(await statusOf(lacking, 'forjada')).toBe(200)
  for (const waitMs of [2_000, minuteMs, 2 * minuteMs]) {
    await clock.advance(waitMs)
    expect([await statusOf(averba, 'forjada'), await statusOf(averba, '')]).toEqual([401, 401])
    expect([await statusOf(averba, 'forjada', 'evento-novo'), await statusOf(averba, first)]).toEqual([401, 200])
  }
})

test('an erasure and its new keys keep the former secret and the pending apply', async () => {
  const { world, source, store } = await given()
  const { averba, clock } = world
  source.value = second
  expect(await averba.subscriptions.plan()).toMatchObject({ changes: [{ action: 'change' }] })
  const other = await openAnother(store, world, second)
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await averba.subjects.erase({ subject }, { requester: 'dpo-1', legalBasis: 'LGPD art. 18, VI' })
  // This process has not read the new keys yet.
  expect([await statusOf(other, first), await statusOf(other, 'outra')]).toEqual([200, 401])
  await passTime({ averba, clock }, 31 * 24 * 60 * minuteMs)
  const destroyed = await Array.fromAsync(averba.log.read({ types: ['subject.epochsDestroyed'] }), ({ data }) => data)
  expect(destroyed).toEqual([{ epochs: [1] }])
  for (const each of [averba, other]) {
    expect([await statusOf(each, first), await statusOf(each, 'outra')]).toEqual([200, 401])
    expect(await checkOf(each)).toMatchObject({ ok: false })
  }
})

/** A world whose source changes to the third secret while the second is sent to the portal. */
async function changedMeanwhile() {
  const third = `terceiro-${'z'.repeat(40)}`
  const { source, ask } = givenSource()
  let onChange = async () => {}
  const world = await openWorld({
    averba: { subscriptions: [{ evento, chaveSecreta: ask }] },
    intercept: async (request, forward) => {
      const answer = await forward(request)
      if (request.method === 'PUT') await onChange()
      return answer
    },
  })
  const { averba } = world
  await apply(averba)
  source.value = second
  await world.clock.advance(minuteMs)
  onChange = async () => {
    onChange = async () => {}
    source.value = third
    // A notification with another secret has the source read again.
    expect(await statusOf(averba, 'forjado')).toBe(401)
  }
  expect(await apply(averba)).toEqual(['change'])
  return world
}

test('a secret that changes during an apply needs another apply and loses no notification', async () => {
  const world = await changedMeanwhile()
  const { averba, clock } = world
  for (const waited of [0, 120 * minuteMs]) {
    await clock.advance(waited)
    expect(await isDelivered(world)).toBe(true)
    expect(await checkOf(averba)).toMatchObject({
      ok: false,
      detail: expect.stringContaining('have changed'),
    })
  }
  expect(await apply(averba)).toEqual(['change'])
  await clock.advance(2_000) // What is known is a second old at most.
  expect(await checkOf(averba)).toMatchObject({ ok: true })
  await clock.advance(120 * minuteMs)
  expect(await isDelivered(world)).toBe(true)
  expect(await statusOf(averba, second)).toBe(401)
})

test('a secret that is read only when the call is sent needs no other apply', async () => {
  const { world, source } = await given()
  const { averba, clock, faults } = world
  await faults.add({ kind: 'refuse', service: 'portal', method: 'PUT' })
  source.value = second
  const plan = await averba.subscriptions.plan()
  expect(await averba.subscriptions.apply(plan)).toMatchObject([{ status: 'deferred' }])
  source.value = `terceiro-${'z'.repeat(40)}`
  faults.clear()
  await passTime({ averba, clock }, 5 * minuteMs)
  await clock.advance(2_000)
  expect(await isDelivered(world)).toBe(true)
  expect(await checkOf(averba)).toMatchObject({ ok: true })
})

test('an event in another case needs the secrets of the declared one, beside an event without secrets', async () => {
  const { world } = await given(ask => ({ subscriptions: [{ evento, chaveSecreta: ask }, { evento: 'aberto' }] }))
  const { averba } = world
  const shouted = evento.toUpperCase()
  expect([await statusOf(averba, 'outra', shouted), await statusOf(averba, first, shouted)]).toEqual([401, 200])
  expect(await statusOf(averba, 'outra', 'aberto')).toBe(200)
})
