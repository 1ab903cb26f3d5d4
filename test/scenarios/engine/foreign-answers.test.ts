import { createServer } from 'node:http'
import { expect, test, vi } from 'vitest'
import { examine, type LogLine } from '../../../src/index.ts'
import { samples } from '../../../src/simulation/index.ts'
import { createAuthority } from '../../../src/simulation/served/authority.ts'
import { answering } from '../../support/answers.ts'
import { checkOf } from '../../support/check-of.ts'
import { isChange } from '../../support/consent-requests.ts'
import { eventsOf } from '../../support/events-of.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { isToken, isValidation, validate } from '../../support/open-validating.ts'
import { dayMs, hourMs, minuteMs, passTime } from '../../support/pass-time.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { consentServiceWith, openEngine, openWorld } from '../../support/world.ts'

const pageOf = (text: string, status = 404) => new Response(`<html><h1>${text}</h1></html>`, { status })
const gatewayOf = (service: 'consentService' | 'validationService', method: 'PUT' | 'POST', status = 404) =>
  ({ kind: 'gateway', service, method, status }) as const

test.each([
  ...[400, 495].map(status => [status, 'CERTIFICATE_REFUSED'] as const),
  ...[401, 403, 404, 413].map(status => [status, 'SERVICE_MISDIRECTED'] as const),
  [407, 'PROXY_REFUSED'] as const,
])('a gateway that answers a revocation %i ends nothing: it is told once and sent again', async (status, code) => {
  const { world, which, lines } = await givenConsent('ATIVO')
  const { averba, faults } = world
  await faults.add(gatewayOf('consentService', 'PUT', status))
  const outcome = await averba.consents.revoke(which, { commandId: 'r' })
  expect(outcome).toMatchObject({ status: 'deferred', reason: expect.stringMatching(`^${code}: .* ${status}`) })
  for (let n = 0; n < 3; n++) {
    await passTime(world, 10 * minuteMs)
    await averba.consents.sync({ subject: which.subject })
  }
  expect(lines.filter(({ error }) => error === code)).toHaveLength(1)
  expect(await checkOf(averba, 'effects')).toMatchObject({ ok: false, detail: expect.stringContaining(code) })
  expect((await averba.health()).ready).toBe(true)
  const found = await averba.effects.get(outcome.effect)
  expect(found).toMatchObject({ attempts: 4, unread: { httpStatus: status, text: expect.stringContaining('<html>') } })
  await faults.clear()
  await passTime(world, 15 * minuteMs)
  expect(await averba.consents.revoke(which, { commandId: 'r' })).toMatchObject({ status: 'settled' })
  expect((await checkOf(averba, 'effects'))?.ok).toBe(true)
})

test('a validation that a gateway answers is unknown, never sent again, and its answer is kept', async () => {
  const { averba, faults, requests, clock } = await openWorld({ faults: [gatewayOf('validationService', 'POST')] })
  const outcome = await validate(averba, 'v1')
  expect(outcome).toMatchObject({ status: 'unknown', next: 'person' })
  await faults.clear()
  await passTime({ averba, clock }, dayMs, 3)
  expect(requests.filter(({ service }) => service === 'validationService')).toHaveLength(1)
  const kept = { reason: expect.stringMatching(/^SERVICE_MISDIRECTED: /), unread: { httpStatus: 404, form: 'html' } }
  expect(await averba.effects.get(outcome.effect)).toMatchObject(kept)
  expect((await averba.validations.get('v1'))?.unreadable).toContain('404 from a gateway')
  // Who answered it has gone: it waits for a person.
  const detail = "0 parked, 1 with an unknown outcome: see effects.list({ state: 'unknown' })"
  expect(await checkOf(averba, 'effects')).toMatchObject({ ok: true, detail })
})

test.each([
  ['with no other token to be had', 'same', 1],
  ['with two tokens', 'revoke', 2],
] as const)('a validation that somebody else answers 401, %s, is in doubt, and not sent again', async (...given) => {
  const [, reissue, times] = given
  const answer = vi.fn(() => pageOf('login', 401))
  const world = await openWorld({ intercept: answering(isValidation, answer), policies: { tokenService: { reissue } } })
  expect(await validate(world.averba, 'v1')).toMatchObject({ status: 'unknown', next: 'person' })
  await passTime(world, hourMs, 26)
  expect(answer).toHaveBeenCalledTimes(times)
  const reason = expect.stringMatching(/^SERVICE_MISDIRECTED: .* 401/)
  expect(await world.averba.effects.list({ state: 'unknown' })).toMatchObject([{ attempts: 1, reason }])
})

test('of readings that somebody else answers, the first answer in a row is kept, without the CPF', async () => {
  let page = 0
  const store = temporaryStore()
  const isReading = ({ url }: Request) => url.includes('/consentimentos/')
  let answer = ({ url }: Request) => pageOf(`${++page}: nada em ${url}, protocolo 12345678`)
  const { averba, clock } = await openWorld({ store, intercept: answering(isReading, request => answer(request)) })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const { effect } = await averba.consents.sync({ subject })
  await passTime({ averba, clock }, minuteMs, 30)
  const kept = await eventsOf({ averba }, 'effect.deferred')
  expect(kept).toHaveLength(1)
  const found = await averba.effects.get(effect)
  expect(found?.attempts).toBeGreaterThan(3)
  expect(found).toMatchObject({ state: 'deferred', unread: { at: kept[0]?.at, httpStatus: 404, form: 'html' } })
  expect(found?.unread?.text).toMatch(/^<html><h1>1: nada em \S+\/\*\*\*, protocolo \*\*\*<\/h1><\/html>$/)
  const ofAnswers = async () => (await examine({ store })).checks.find(({ name }) => name === 'answers')
  const isShown = async (id: string, what: string) => {
    const words = `^the last answer that was not understood, of \\S+ \\(averba effects show ${id} --data\\): HTTP 404, `
    expect(await ofAnswers()).toMatchObject({ ok: false, detail: expect.stringMatching(`${words}${what}$`) })
  }
  await isShown(effect, String.raw`html: \d+ characters`)
  await averba.subjects.erase({ subject }, { requester: 'r', legalBasis: 'LGPD art. 18, VI' })
  expect(Object.keys((await averba.effects.get(effect))?.unread ?? {})).toEqual(['at', 'form', 'httpStatus'])
  expect(await ofAnswers()).toMatchObject({ ok: true })
  // Of JSON the names of members are shown, but no value, and no name that may be a text.
  answer = () => Response.json({ titular: { nome: 'Ana', 'Ana Lima': 1, 52998224725: 'x' }, n: 2 }, { status: 404 })
  const again = await averba.consents.sync({ subject: await averba.consents.enrol({ cpf: samples.cpf }) })
  await isShown(again.effect, 'json: 63 characters, with the members "titular, nome, n"')
})

test('a host declares what an answer of its service means', async () => {
  const answers = [{ status: 404, contains: 'inexistente', means: 'declined' }] as const
  const intercept = answering(isChange, () => pageOf('registro inexistente'))
  const options = { averba: { consentService: consentServiceWith({ answers }) } }
  const { world, which } = await givenConsent('ATIVO', intercept, options)
  expect(await world.averba.consents.revoke(which)).toMatchObject({ status: 'declined', problem: { status: 404 } })
})

test('a proxy of the options is used, and one that refuses is named in the outcome', async () => {
  const proxy = createServer().on('connect', (_, socket) => void socket.end('HTTP/1.1 407 No\r\n\r\n'))
  const address = `http://ana:senha@127.0.0.1:${await listenUntilEnd(proxy)}`
  const lines: LogLine[] = []
  const certificate = await (await createAuthority(Date.now())).issueClient('gestora')
  const consentService = consentServiceWith({ baseUrl: 'https://servico.exemplo.br', proxy: address, certificate })
  const averba = await openEngine({ store: ':memory:', logger: line => void lines.push(line), consentService })
  const outcome = await averba.consents.sync({ subject: await averba.consents.enrol({ cpf: samples.cpf }) })
  expect(outcome).toMatchObject({ status: 'deferred', reason: 'PROXY_REFUSED: the outbound proxy answered 407' })
  expect(JSON.stringify(lines)).toContain('PROXY_REFUSED')
  expect(JSON.stringify(lines)).not.toContain('senha')
})

test('nothing of a token, or of a list of the portal, is kept that cannot be read', async () => {
  const { averba } = await openWorld({
    intercept: async (request, forward) => {
      if (isToken(request)) return Response.json({ data: { access_token: 'LIVE-TOKEN' } })
      if (request.url.includes('/webhook')) return Response.json({ itens: [{ chaveSecreta: 'SECRETO' }] })
      if (request.url.includes('/consentimentos/'))
        return new Response('{"senha":"a\\"SENHA","erro":"x","access_token":"LIVE-TOKEN', { status: 404 })
      return forward(request)
    },
    averba: { subscriptions: [{ evento: 'e' }] },
  })
  await averba.consents.sync({ subject: await averba.consents.enrol({ cpf: samples.cpf }) })
  await validate(averba, 'v1')
  await averba.subscriptions.plan().catch(() => undefined)
  const calls = await averba.effects.list({ state: 'deferred' })
  const unread = await Promise.all(calls.map(async ({ id, type }) => [type, (await averba.effects.get(id))?.unread]))
  expect(Object.fromEntries(unread)).toMatchObject({
    'tokenService.requestToken': { httpStatus: 200, form: 'json' },
    'portal.listSubscriptions': { httpStatus: 200, form: 'json' },
    'consentService.listConsents': { text: '{"senha":"***","erro":"x","access_token":"***"' },
  })
  expect(JSON.stringify(unread)).not.toMatch(/LIVE-TOKEN|SECRETO|SENHA/)
})

test('the retention of answers that were not understood destroys them', async () => {
  const { world, which } = await givenConsent('ATIVO', undefined, {
    averba: { retention: { 'call.answer': { days: 1 } }, schedules: true },
  })
  await world.faults.add(gatewayOf('consentService', 'PUT'))
  const { effect } = await world.averba.consents.revoke(which)
  const unread = async () => (await world.averba.effects.get(effect))?.unread
  expect((await unread())?.text).toContain('404')
  await passTime(world, dayMs, 3)
  expect(await unread()).not.toHaveProperty('text')
})
