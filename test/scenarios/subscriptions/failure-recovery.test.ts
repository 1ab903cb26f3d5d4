import { describe, expect, test } from 'vitest'
import { diagnoseStore, valueOf, verifyLog } from '../../../src/index.ts'
import { seededEntropy, type World } from '../../../src/simulation/index.ts'
import { dayMs } from '../../support/pass-time.ts'
import { bodiesOf, callPortal, deliver, inboxOf, openBeside } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine } from '../../support/world.ts'
import { evento, lose, openSubscribed, subscriptions, tell } from './story.ts'

const other = 'talp-altsit-lpco-anu'
const basis = { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' }

/** Recovers the failures of yesterday and today, and returns what became of those of today. */
const recoverToday = async ({ averba }: World) => valueOf((await averba.subscriptions.recover())[1] ?? expect.fail())

/** The receiver stores a notification to the sample person, but its answer is lost. */
async function answerLateTo({ faults, portal, samples }: World, body: object): Promise<void> {
  await faults.add({ kind: 'lose', service: 'receiver', times: 1 })
  const about = { evento, destinatarioTipo: 'CPF', destinatarioId: samples.cpf } as const
  expect(await portal.notify({ ...about, body })).toMatchObject([{ isDelivered: false }])
}

test('the content of a failure is not kept beside its notification, and is erased with the person', async () => {
  const store = temporaryStore()
  const world = await openSubscribed({ store })
  const { averba } = world
  const { cpf } = world.samples
  const body = { cpf, nome: 'Maria de Exemplo' }
  await answerLateTo(world, body)
  const contents = async () => (await averba.subscriptions.failures()).map(each => each.conteudo)
  // Read without recovery.
  expect(await contents()).toEqual([JSON.stringify(body)])
  const sealed = async () => {
    const rows = await averba.views.selectFrom('failures').selectAll().execute()
    const asking = { actor: { kind: 'person', ref: 'atendente-7' }, purpose: 'conferência' } as const
    return Promise.all(rows.map(async row => (await averba.subjects.reveal(row, asking)).content))
  }
  expect(await sealed()).toEqual([JSON.stringify(body)])
  expect(await recoverToday(world)).toMatchObject({ stored: 1, recovered: 0 })
  expect(await sealed()).toEqual([null])
  // Another one is linked when it is read.
  await answerLateTo(world, { ...body, n: 2 })
  expect(await recoverToday(world)).toMatchObject({ stored: 1, recovered: 0 })
  expect(await sealed()).toEqual([null, null])
  expect(await contents()).toEqual([JSON.stringify(body), JSON.stringify({ ...body, n: 2 })])
  await averba.subjects.erase({ cpf }, basis)
  expect(await contents()).toEqual(['', ''])
  expect(await recoverToday(world)).toMatchObject({ read: 2, recovered: 0, stored: 0 })
  const erased = { origin: 'delivered', body: null }
  expect(await inboxOf(averba)).toMatchObject([erased, erased])
  expect(await contents()).toEqual(['', ''])
  for (const { differences } of await averba.rebuild()) expect(differences).toBe(0)
  await world.close()
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
  expect((await verifyLog({ store })).faults).toEqual([])
})

test('the content of foreign and unrecovered failures is destroyed by retention', async () => {
  const store = temporaryStore()
  const world = await openSubscribed({ store })
  const { averba, clock } = world
  await lose(world, { numero: '26BR1' })
  await callPortal(world, 'POST', { evento: other, endpoint: 'https://outro.exemplo.br/', chaveSecreta: 'deles' })
  expect(await deliver(world, { numero: '26BR2' }, other)).toMatchObject([{ isDelivered: false }])
  const contents = async () => {
    const failures = await averba.subscriptions.failures({ day: '2026-11-20' })
    return failures.map(each => each.conteudo).sort()
  }
  expect(await contents()).toEqual(['{"numero":"26BR1"}', '{"numero":"26BR2"}'])
  const rows = await averba.views.selectFrom('failures').select('subscription').execute()
  expect(rows.map(row => row.subscription === null).sort()).toEqual([false, true])
  await clock.advance(dayMs + 1_000)
  // This reading recovers nothing.
  const retention = { 'notification.body': { days: 1 } }
  const keeping = await openEngine({ store, clock, entropy: seededEntropy(9), retention, schedules: true })
  await keeping.settle()
  await keeping.close()
  expect(await contents()).toEqual(['', ''])
})

test.each([
  ['as JSON, is recovered as text', { numero: '26BR1' }, { recovered: 1, unreadable: 0 }, ['{"numero":"26BR1"}']],
  ['as null, is counted as unreadable', null, { recovered: 0, unreadable: 1 }, []],
])('a failure whose content is listed %s', async (_, conteudo, counts, texts) => {
  const record = { id: 7, data: '20-11-2026 08:00:00', descricao: 'HTTP 500', evento, conteudo }
  const world = await openSubscribed({
    intercept: async (request, forward) =>
      request.url.endsWith('/falhas?data=20112026') ? Response.json([record]) : forward(request),
  })
  expect(await recoverToday(world)).toMatchObject({ read: 1, stored: 0, ...counts })
  const { averba } = world
  expect((await inboxOf(averba)).map(each => Buffer.from(each.raw).toString())).toEqual(texts)
  const [failure] = await averba.subscriptions.failures({ day: '2026-11-20' })
  expect(failure?.conteudo).toBe(texts[0] ?? '')
})

test('a failure of content for several recipients is recovered: it may be for another one', async () => {
  const world = await openSubscribed()
  const { averba, faults, portal } = world
  const body = { aviso: 'indisponibilidade programada' }
  const to = (destinatarioId: string) => portal.notify({ evento, destinatarioTipo: 'CNPJ', destinatarioId, body })
  await to('00000000000191')
  await to('12ABC34501DE35')
  await faults.add({ kind: 'status', status: 500, service: 'receiver', times: 2 })
  await to('11222333000181')
  await to('11444777000161')
  // Without a recipient, one notification is enough for two.
  expect(await recoverToday(world)).toMatchObject({ recovered: 1, stored: 1 })
  expect((await inboxOf(averba)).map(each => each.origin).sort()).toEqual(['delivered', 'delivered', 'recovered'])
})

test('two processes recovering concurrently recover each record once', async () => {
  const store = temporaryStore()
  const world = await openSubscribed({ store })
  for (let i = 0; i < 20; i++) await lose(world, { i })
  const other = await openBeside(world, { store, subscriptions })
  await Promise.all([world.averba, other].map(each => each.subscriptions.recover()))
  const bodies = (await bodiesOf(other)).map(each => JSON.stringify(each))
  expect(bodies).toHaveLength(20)
  expect(new Set(bodies).size).toBe(20)
})

test('failures of foreign events are kept, but not in the inbox', async () => {
  const world = await openSubscribed()
  const { averba } = world
  await callPortal(world, 'POST', { evento: 'alheio', endpoint: 'https://receptor.exemplo.br/outro' })
  await lose(world, {}, 'alheio')
  await averba.subscriptions.recover()
  expect(await averba.subscriptions.failures()).toMatchObject([{ evento: 'alheio', recovery: null }])
  expect(await inboxOf(averba)).toEqual([])
})

test('a recovered notification has the time of its failure and no recipient, in handlers too', async () => {
  const world = await openSubscribed()
  const { averba, clock } = world
  const handled: unknown[] = []
  averba.notifications.handle(evento, 'keep', async notification => {
    const { origin, at, recipient } = notification
    handled.push([origin, at, recipient?.id, origin === 'recovered' ? notification.failedAt : undefined])
    // @ts-expect-error: by its type a recovered one has none
    if (notification.origin === 'recovered') expect(notification.recipient?.id).toBeUndefined()
  })
  await lose(world, { numero: '26BR1' })
  await clock.advance(3 * dayMs)
  await deliver(world, { numero: '26BR2' })
  await averba.subscriptions.failures({ day: '2026-11-20', recover: true })
  await averba.settle()
  const [at, failedAt] = ['2026-11-23T12:00:00.000Z', '2026-11-20T12:00:00.000Z']
  expect(handled).toEqual([
    ['delivered', at, world.samples.cnpj, undefined],
    ['recovered', at, undefined, failedAt],
  ])
  const found = await inboxOf(averba)
  expect(found).toMatchObject([{ state: 'handled' }, { evento, origin: 'recovered', at, failedAt, copies: 1 }])
  expect(found[1]).not.toHaveProperty('recipient')
  const [failure] = await averba.subscriptions.failures({ day: '2026-11-20' })
  expect(failure).toMatchObject({ recovery: 'recovered', notification: found[1]?.id })
})

describe('what was lost is recovered', () => {
  tell({
    once: 'lose a, recover 1+0, recover 0+0, read all, inbox a+, known on 2026-11-20 recovered',
    'if it equals one before another content, later':
      'deliver a, 6 min, deliver b, 6 min, lose a, recover 1+0, inbox a b a+',
    'if it equals one before another content, soon':
      'deliver a, 2 min, deliver b, 2 min, lose a, recover 1+0, inbox a b a+',
    'although it equals another loss before it': 'lose a, 1 min, lose b, 1 min, lose a, 1 min, recover 3+0',
    'twice after a stored one': 'deliver a, 2 min, lose b, 2 min, lose a, recover 2+0, recover, inbox a b+ a+',
    'although the same arrived after another content': 'lose a, 1 min, lose b, 1 min, deliver a, recover 2+0',
    'around midnight, although it equals a stored one, and the new day is read first':
      'midnight -180 s, deliver a, 2 min, lose b, 2 min, lose a, read all, recover, inbox a a+ b+',
    'although the same was recovered a day late': 'lose a, 1 d, recover, 1 min, lose a, recover 1+0, inbox a+ a+',
    'after it was read without recovery': 'lose a, read, inbox, read all, inbox a+',
    'on every day of a downtime':
      'lose a, 1 d, lose b, 1 d, lose c, 1 d, soon downtime 2026-11-20, 1 × 10 s, inbox a+ b+ c+',
    'within seconds, and many in one reading; the next one too, at the limited rate': `
      50 × (lose; soon unstored), settle, asked 0, 1 × 10 s, asked 1, recovered 50, lose, soon late, 1 × 60 s, asked 1,
      1 × 9 min, asked 2, recovered 51`,
    'at the end of a day, by the next day': 'lose a, 1 d, recover, inbox a+',
    'after the portal did not answer, by the next run': 'lose a, portal 503, recover, portal up, 1 × 1 h, inbox a+',
    'soon, although the clock was hours ahead for a moment':
      'clock +8 h, soon unstored, clock -8 h, 1 × 1 min, lose a, soon unstored, 1 × 10 s, inbox a+',
  })
  tell(
    {
      'although the same content was delivered at another time or of another event':
        'deliver a, lose a of talp, lose b, 1 h, lose a, recover, inbox a a+talp b+ a+',
    },
    { averba: { subscriptions: [...subscriptions, { evento: 'talp' }] } },
  )
  // The contract defines no order.
  tell(
    { 'twice, listed newest first': 'deliver a, 2 min, lose b, 2 min, lose a, recover 2+0, recover, inbox a b+ a+' },
    {
      async intercept(request, forward) {
        const answer = await forward(request)
        if (request.method !== 'GET' || !request.url.includes('/falhas')) return answer
        const records: unknown[] = await answer.json()
        return Response.json(records.toReversed(), answer)
      },
    },
  )
  const afterSkew = (h: number) =>
    `schedules: 48 × 1 h, clock +${h} h, 1 × 1 h, clock -${h} h, 2 × 1 h, lose a, 72 × 1 h, inbox a+`
  tell({
    'when the clock was 20 hours ahead for an hour': afterSkew(20),
    'when the clock was 24 hours ahead for an hour': afterSkew(24),
    'when the clock was 30 hours ahead for an hour': afterSkew(30),
    'when the clock was 47 hours ahead for an hour': afterSkew(47),
  })
})

describe('retention keeps a body until the failures of its day are read:', () => {
  // To an hour before the look at the rules, a day after the last one.
  const keeping = (down: string) =>
    `handle, settle, 23 × 1 h, late a, settle, ${down}, inbox a, portal up, 72 × 1 h, handled a, inbox destroyed`
  tell(
    {
      'the next morning': keeping('2 × 1 h'),
      'when the portal shows its failures again': keeping('portal 500, 98 × 1 h'),
      'when the portal shows what it declined before': keeping('portal 403, 98 × 1 h'),
    },
    { averba: { schedules: true, retention: { 'notification.body': 'until-settled' } } },
  )
})

tell({
  // The portal's clock does not change.
  'the daily readings continue after a clock that was months ahead is corrected': `
    schedules: portal clock -100 d, clock +100 d, settle, clock -100 d, portal up, lose a, 2 × (1 d; 1 × 1 d), inbox a+`,
})

describe('what was stored is not recovered', () => {
  tell({
    'a notification that was stored but answered late is not recovered again': 'late a, inbox a, recover 0+1, inbox a',
    'just before midnight, if it failed just after': 'midnight -10 s, deliver a, 14 s, lose a, recover 0+1',
    'nor twice, if two records have its content and about its time': 'lose a, 1 s, lose a, recover 1+1, inbox a+',
    'as often as it was delivered': 'late a, late a, recover 0+2, 1 min, lose a, recover 1+0, inbox a a+',
  })
})
