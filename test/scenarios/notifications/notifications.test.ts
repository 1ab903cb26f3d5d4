import { expect, test } from 'vitest'
import type { AverbaOptions, Notification } from '../../../src/index.ts'
import type { World } from '../../../src/simulation/index.ts'
import { createNotification, subscriptions } from '../../crash/notification-of.ts'
import { minuteMs } from '../../support/pass-time.ts'
import { inboxOf } from '../../support/portal.ts'
import { openWorld } from '../../support/world.ts'

const evento = 'dimp-situacao-import'
const from = { remoteAddress: '189.9.1.2' }
const stranger = { remoteAddress: '203.0.113.7' }

const given = (averba: Partial<AverbaOptions> = {}) => openWorld({ averba: { subscriptions, ...averba } })

function notification(more: Record<string, string> = {}, body: BodyInit = '{"numero":"26BR1"}'): Request {
  const { url, method, headers } = createNotification('')
  return new Request(url, { method, headers: { ...Object.fromEntries(headers), ...more }, body })
}

const answerTo = async ({ averba }: World, headers?: Record<string, string>, body?: BodyInit) =>
  (await averba.receiver.fetch(notification(headers, body), from)).status

const inbox = ({ averba }: World) => inboxOf(averba)

test('a notification is in the log before it is acknowledged, and one that cannot be stored is not', async () => {
  const world = await given()
  expect(await answerTo(world)).toBe(200)
  const recipient = { tipo: 'CNPJ', id: '12ABC34501DE35' }
  const body = { numero: '26BR1' }
  expect(await inbox(world)).toMatchObject([{ evento, body, copies: 1, state: 'received', recipient }])
  await world.averba.close()
  expect(await answerTo(world)).toBe(503)
})

test.each([
  ['another address', notification(), stranger, 403],
  ['a wrong secret', notification({ secret: 'chave-dois' }), from, 401],
  ['a wrong authorization', notification({ authorization: 'Basic xx' }), from, 401],
  ['no secret', notification({ secret: '' }), from, 401],
  ['no event', notification({ 'event-type': '' }), from, 400],
  ['an event of 41 characters', notification({ 'event-type': 'e'.repeat(41) }), from, 400],
  ['a body over the bound', notification({}, 'x'.repeat(1_048_577)), from, 413],
  ['another method', new Request('https://receptor.exemplo.br/averba'), from, 405],
  ['a forged X-Forwarded-For', notification({ 'x-forwarded-for': '189.9.1.2' }), stranger, 403],
])('%s is refused, and nothing is stored', async (_, request, address, status) => {
  const world = await given()
  const refused = await world.averba.receiver.fetch(request, address)
  expect([refused.status, refused.headers.get('allow')]).toEqual([status, status === 405 ? 'POST' : null])
  expect(await inbox(world)).toEqual([])
})

test('an event of 40 letters is named, whatever the letters', async () => {
  const world = await given()
  // A header carries bytes: those of UTF-8, four for each of these letters.
  const named = (letters: number) =>
    answerTo(world, { 'event-type': Buffer.from('𝒜'.repeat(letters)).toString('latin1') })
  expect([await named(40), await named(41)]).toEqual([200, 400])
  expect((await inbox(world)).map(each => each.evento)).toEqual(['𝒜'.repeat(40)])
})

test('a missing remote address and a consumed body are reported to the host', async () => {
  const { averba, lines } = await given()
  const { fetch } = averba.receiver
  await expect(fetch(notification())).rejects.toMatchObject({ code: 'REMOTE_ADDRESS_MISSING' })
  const consumed = notification()
  await consumed.text()
  await expect(fetch(consumed, from)).rejects.toMatchObject({ code: 'BODY_CONSUMED' })
  const detail = 'Cannot read the notification: its body was consumed before: Put the receiver before any body parser'
  const message = 'a notification reached the receiver incomplete'
  expect(lines).toContainEqual({ level: 'error', message, error: 'BODY_CONSUMED', detail, evento })
})

test('the same content within ten minutes is a copy, later it is a new notification', async () => {
  const world = await given()
  const copies = async () => (await inbox(world)).map(each => each.copies)
  await Promise.all([answerTo(world), answerTo(world), answerTo(world)])
  expect(await copies()).toEqual([3])
  await answerTo(world, { 'destinatario-id': '00000000000191' })
  expect(await copies()).toEqual([3, 1])
  await world.clock.advance(9 * minuteMs)
  await answerTo(world)
  expect(await copies()).toEqual([4, 1])
  await world.clock.advance(2 * minuteMs)
  await answerTo(world)
  expect(await copies()).toEqual([4, 1, 1])
})

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

test.each<[string, string, unknown]>([
  ['an object', '{"numero":"26BR1"}', { numero: '26BR1' }],
  ['an array', '[{"numeroCarga":"1"},[1,null]]', [{ numeroCarga: '1' }, [1, null]]],
  ['a quoted text', '"concluído"', 'concluído'],
  ['a number', '4.5', 4.5],
  ['null', 'null', null],
  ['a hundred arrays deep', nested(100), JSON.parse(nested(100))],
  ['deeper', nested(102), nested(102)],
  ['far deeper', nested(400_000), nested(400_000)],
  ['broken JSON', '{"numero":', '{"numero":'],
  ['text', 'não é JSON', 'não é JSON'],
  ['JSON after a byte order mark', '\uFEFF{"numero":1}', { numero: 1 }],
  ['nothing', '', ''],
])('a body that is %s is kept byte for byte', async (_, text, body) => {
  const world = await given()
  const { averba } = world
  const textsOf = ({ body, raw }: Pick<Notification, 'body' | 'raw'>) => [
    ...[JSON.stringify(body), Buffer.from(raw).toString()],
  ]
  const handed: unknown[] = []
  averba.notifications.handle(evento, 'all', async each => void handed.push(textsOf(each)))
  expect(await answerTo(world, {}, text)).toBe(200)
  await averba.settle()
  const listed = (await inbox(world)).map(each => [textsOf(each), each.state])
  expect([handed, listed]).toEqual([[[JSON.stringify(body), text]], [[[JSON.stringify(body), text], 'handled']]])
})

test('many concurrent copies are all acknowledged and are one notification', async () => {
  const world = await given()
  const statuses = await Promise.all(Array.from({ length: 300 }, () => answerTo(world)))
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(await inbox(world)).toMatchObject([{ copies: 300 }])
})

test('an event name with a CPF in any form is not stored in clear', async () => {
  const world = await given()
  const person = { 'destinatario-tipo': 'cpf', 'destinatario-id': '257.744.350-16' }
  const inUtf8 = Buffer.from('529.982.247–25').toString('latin1')
  for (const name of ['52998224725', 'pessoa 529982247-25', inUtf8])
    expect(await answerTo(world, { ...person, 'event-type': name })).toBe(200)
  const events = await Array.fromAsync(world.averba.log.read())
  expect(JSON.stringify(events)).not.toMatch(/529982247|529\.982|25774435016|257\.744/)
  const subject = await world.averba.consents.enrol({ cpf: '25774435016' })
  const subjects = await world.averba.views.selectFrom('subjects').selectAll().execute()
  expect(subjects).toMatchObject([{ subject, origin: 'notification' }])
  const unnamed = { evento: 'sem-nome', recipient: { tipo: 'CPF', id: '257.744.350-16' } }
  expect(await inbox(world)).toMatchObject([unnamed, unnamed, unnamed])
})

test('repeated refusals log one line a minute, with a count', async () => {
  const world = await given()
  const { lines } = world
  const knock = (headers = {}) => world.averba.receiver.fetch(notification(headers), stranger)
  for (let i = 0; i < 500; i++) {
    expect((await knock({ 'event-type': `x${i}` })).status).toBe(403)
    await world.clock.advance(100)
  }
  expect((await knock()).status).toBe(403)
  const refused = expect.stringContaining('a notification was refused')
  expect(lines).toMatchObject([
    { message: refused, status: 403, detail: '0 forwarded hops, trustedProxies 0' },
    { message: refused, status: 403, detail: '0 forwarded hops, trustedProxies 0', evento },
  ])
  // Anyone may send any event name.
  expect(lines[0]).not.toHaveProperty('evento')
  await world.clock.advance(minuteMs)
  await knock({ 'event-type': 'y' })
  expect(lines[2]).toMatchObject({ message: refused, times: 500 })
  expect(lines).toHaveLength(3)
})

const bodyNamed = (end: string) => `${'orgao-'.repeat(20)}${end}`

test.each([
  ['a CNPJ', 'CNPJ', ['12ABC34501DE35', '12abc34501de35', '12 ABC 345 01DE 35', '12.abc.345/01de-35'], [4]],
  ['a CPF', 'CPF', ['25774435016', '257.744.350-16', '257 744 350 16'], [3]],
  ['a public body', 'ORGAO', [bodyNamed('um'), bodyNamed('dois')], [1, 1]],
])('%s with any punctuation is one recipient, and a whole name another', async (_, tipo, ids, copies) => {
  const world = await given()
  for (const id of ids) await answerTo(world, { 'destinatario-tipo': tipo, 'destinatario-id': id })
  expect((await inbox(world)).map(each => each.copies)).toEqual(copies)
})

test.each(['utf8', 'latin1'] as const)('an event with an accent is decoded as %s', async encoding => {
  const accented = 'situação-duimp'
  const world = await openWorld({ averba: { subscriptions: [{ evento: accented, chaveSecreta: 'um' }] } })
  const seen: unknown[] = []
  world.averba.notifications.handle(accented, 'crm', async ({ body }) => void seen.push(body))
  const headers = { 'event-type': Buffer.from(accented, encoding).toString('latin1'), secret: 'um' }
  expect(await answerTo(world, headers)).toBe(200)
  await world.averba.settle()
  expect(seen).toHaveLength(1)
})
