import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { type AverbaOptions, openAverba, Secret } from '../../src/index.ts'
import { partKinds } from '../../src/vocabulary/part-kinds.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { openEngine, openWorld } from '../support/world.ts'

const certificate = { cert: 'c', key: 'k' }
const baseUrl = 'https://a.exemplo.br'
const authenticate = async () => ({})
const tokenService = { url: 'https://a.exemplo.br/token', consumerKey: 'a', consumerSecret: 'b' }
const validationService = { baseUrl, service: 'demo' }
const lateCertificate = { baseUrl, certificate: async () => certificate }

test.each([
  ['the store', { store: '' }],
  ['a certificate', { consentService: { baseUrl, certificate: undefined } }],
  ['an address of the consent service', { consentService: { certificate } }],
  ['an address of the gateway', { tokenService: { consumerKey: 'a', consumerSecret: 'b' } }],
  ['an address of the portal', { portal: { authenticate } }],
  ['an address of the receiver', { receiver: {} }],
  ['an authentication', { portal: { baseUrl } }],
  ['addresses that a login returns to', { consentService: { ...lateCertificate, redirectUrls: 'x' } }],
  ['TLS', { consentService: { baseUrl: 'http://a.exemplo.br', certificate } }],
  ['the address alone', { consentService: { baseUrl: 'https://a.exemplo.br/consentimento', certificate } }],
  ['the slashes', { consentService: { baseUrl: 'https:a.exemplo.br', certificate } }],
  ['an address', { tokenService: { url: 'gateway', consumerKey: 'a', consumerSecret: 'b' } }],
  ['a consumer key', { tokenService: { ...tokenService, consumerKey: undefined } }],
  ['a consumer key that is empty', { tokenService: { ...tokenService, consumerKey: new Secret('') } }],
  ['a consumer secret', { tokenService: { ...tokenService, consumerSecret: '' } }],
  ['a service', { validationService: { baseUrl, bearer: 't' } }],
  ['the name of a service', { validationService: { ...validationService, service: '', bearer: 't' } }],
  ['a bearer token that is empty', { validationService: { ...validationService, bearer: '' } }],
  ['a token', { validationService }],
  ['a name that is misspelt', { subscriptions: [{ evento: 'e', endpoint: baseUrl, chavesecreta: 'x' }] }],
  ['a group that is misspelt', { consentservice: {} }],
  ['a password in an address', { portal: { baseUrl: 'https://u:p@a.exemplo.br', authenticate } }],
  ['a query in an address that paths are added to', { portal: { baseUrl: `${baseUrl}/?x=`, authenticate } }],
  ['a malformed certificate', { consentService: { baseUrl, certificate } }],
  ['a count of proxies', { receiver: { publicUrl: baseUrl, trustedProxies: -1 } }],
  ['a kind of records that has no parts', { recordKeys: ['token'] }],
  ['kinds of records that are no list', { recordKeys: 'validation' }],
  ['a range', { receiver: { publicUrl: baseUrl, sources: ['161.148.0.0/33'] } }],
  ['a list of ranges', { receiver: { publicUrl: baseUrl, sources: 7 } }],
  ['a list of subscriptions', { subscriptions: {} }],
  ['a group', { tokenService: 'https://a.exemplo.br/token' }],
  ['true or false', { schedules: 'no' }],
  ['a function', { logger: {} }],
  ['an object with functions', { clock: { now: () => 0 } }],
  ['a port', { run: { port: 65_536 } }],
  ['a certificate of the receiver', { receiver: { publicUrl: baseUrl }, run: { receiver: {} } }],
  ['a service to trace', { tracing: { traceparentTo: ['everybody'] } }],
  ['days that are not below 0', { retention: { 'notification.body': { days: -1 } } }],
  ['whole days', { retention: { 'notification.body': { days: 1.5 } } }],
  ['days', { retention: { 'notification.body': 'sometimes' } }],
  ['days that backups are kept', { backupRetentionDays: -1 }],
])('opening the log reports what is missing in the options: %s', async (_, change) => {
  const opening = openAverba({ store: ':memory:', ...change } as AverbaOptions)
  await expect(opening).rejects.toMatchObject({ name: 'AverbaError', code: 'MISCONFIGURED' })
})

const misspelt = { status: 404, contain: 'x', means: 'declined' }
const ofAnswers = /^Known options: status, means, contains$/
const means = 'Cannot use portal.answers[0].means: it is not declined, deferred or unknown'
const ofParts = new RegExp(`: ${Object.keys(partKinds).join(', ')}$`)

test.each([
  [{ store: undefined, stor: 'a.sqlite' }, 'Unknown option "stor"', /^Known options: store, /],
  [{ portal: { authenticated: 1 } }, 'Unknown option "authenticated" of portal', /: baseUrl, authenticate, ca, /],
  [{ subscriptions: [{ 'segredo 1': 1 }] }, 'Unknown option of subscriptions', /^Known options: evento, /],
  [{ retention: { all: 1 } }, 'Unknown option "all" of retention', ofParts],
  [{ consentService: { answers: [misspelt] } }, 'Unknown option "contain" of consentService.answers', ofAnswers],
  [{ portal: { answers: [{ status: 404, means: 'refused' }] } }, means, undefined],
  [{ portal: { proxy: 'a.br:1' } }, 'Cannot use portal.proxy: it is no address of http or https', /such as http:/],
  [{ retention: { 'consent.detail': {} } }, 'Cannot use retention["consent.detail"]: it is not', undefined],
  [{ tokenService: { url: 'https://a.exemplo.br' } }, 'Cannot use tokenService.consumerKey: it is missing', /variable/],
  [{ subscriptions: [{ evento: 'e', chaveSecreta: '' }] }, 'Cannot use subscriptions[0].chaveSecreta: ', /variable/],
])('a wrong option is named, with a hint: %j', async (change, message, hint) => {
  const error = await openAverba({ store: ':memory:', ...change } as AverbaOptions).catch(reason => reason)
  expect(error.message).toContain(message)
  expect(error.hint).toEqual(hint && expect.stringMatching(hint))
})

test.each([undefined, null, 5, 'averba.db'])('%s in place of options is refused with a code', async options => {
  const refused = { code: 'MISCONFIGURED', message: expect.stringContaining('not an object') }
  // As a host without types may call it.
  await expect(openAverba(options as never)).rejects.toMatchObject(refused)
})

describe('opening the log refuses a name that would be mistaken for something else', () => {
  const open = (options: Partial<AverbaOptions>) => openEngine({ store: ':memory:', ...options })

  test.each([
    ['prod/serpro', 'MISCONFIGURED'],
    ['', 'INVALID_INPUT'],
    ['25774435016', 'PERSONAL_ID'],
    ['257.744.350-16', 'PERSONAL_ID'],
  ])('tokenService.credential "%s"', async (credential, code) => {
    const opening = open({ tokenService: { ...tokenService, credential } })
    await expect(opening).rejects.toMatchObject({ name: 'AverbaError', code })
  })

  test.each(['Authorization', 'content-type', 'traceparent', 'host', 'x id', 'x:y', ''])(
    'validationService.traceHeader "%s"',
    async traceHeader => {
      const opening = open({ tokenService, validationService: { ...validationService, traceHeader } })
      await expect(opening).rejects.toMatchObject({ name: 'AverbaError', code: 'MISCONFIGURED' })
    },
  )
})

test('an area without its service refuses every method and names the service', async () => {
  const averba = await openEngine({ store: ':memory:' })
  const subject = await averba.consents.enrol({ cpf: '25774435016' })
  const calls = [
    () => averba.consents.sync({ subject }),
    () => averba.awareness.list({ subject }),
    () => averba.logins.state({ subject }),
    () => averba.validations.validate({ id: 'a', cpf: '25774435016', claims: { nome: 'X' } }),
    () => averba.subscriptions.plan(),
  ]
  for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'SERVICE_NOT_CONFIGURED' })
})

test('an id that looks like a CPF is refused in every option and method', async () => {
  const averba = await openEngine({ store: ':memory:' })
  const id = 'cliente-25774435016'
  for (const ask of [{ commandId: id }, { correlationId: id }, { actor: { kind: 'person', ref: id } as const }]) {
    const enrolling = averba.consents.enrol({ cpf: '25774435016' }, ask)
    await expect(enrolling).rejects.toMatchObject({ code: 'PERSONAL_ID' })
  }
})

test.each([...[openEngine, async () => (await openWorld()).averba]])(
  'a closed log refuses calls, and can be closed again',
  async open => {
    const averba = await open({ store: ':memory:' })
    await averba.close()
    await averba.close()
    const { consents, effects, log, subscriptions, views } = averba
    const calls = [
      () => consents.enrol({ cpf: '25774435016' }),
      () => consents.list({ cpf: '25774435016' }),
      () => effects.list(),
      () => subscriptions.list(),
      () => averba.settle(),
      () => averba.figures(),
      () => views.selectFrom('consents').selectAll().execute(),
      () => log.read()[Symbol.asyncIterator]().next(),
    ]
    const closed = { code: 'CLOSED', hint: expect.any(String) }
    for (const call of calls) await expect(call()).rejects.toMatchObject(closed)
  },
)

test.each<Partial<AverbaOptions>>([
  { validationService },
  { subscriptions: [{ evento: 'e', endpoint: 'http://a.exemplo.br' }] },
])('wrong options leave no file behind: %j', async options => {
  const folder = temporaryFolder()
  const store = join(folder, 'log.sqlite')
  await expect(openAverba({ store, ...options })).rejects.toMatchObject({ code: 'MISCONFIGURED' })
  expect(readdirSync(folder)).toEqual([])
})

test.each([
  { store: 'postgres://u:p4ss@h/db' },
  { portal: { baseUrl: 'https://u:p4ss@a.exemplo.br', authenticate: 'p4ss' } },
  { tokenService: { url: 'p4ss', consumerKey: ['p4ss'], consumerSecret: { p4ss: 'p4ss' }, '=p4ss': 'p4ss' } },
  { consentService: { baseUrl, certificate: 'p4ss', ca: ['p4ss'] } },
  { subscriptions: [{ evento: 'e', chaveSecreta: ['p4ss'], chaveAutenticacao: 7, recreate: 'p4ss' }] },
])('an error repeats no value, which may be a secret: %j', async change => {
  const error = await openAverba({ store: ':memory:', ...change } as unknown as AverbaOptions).catch(reason => reason)
  expect(error).toMatchObject({ code: 'MISCONFIGURED' })
  expect(inspect(error)).not.toContain('p4ss')
})

test('the default actor and basis must not contain a CPF either', async () => {
  const actor = { kind: 'person', ref: '25774435016' } as const
  await expect(openAverba({ store: ':memory:', actor })).rejects.toMatchObject({ code: 'PERSONAL_ID' })
  const basis = { purpose: 'crédito de 257.744.350-16', legalBasis: 'LGPD 7 V' }
  await expect(openAverba({ store: ':memory:', basis })).rejects.toMatchObject({ code: 'PERSONAL_ID' })
})

test.each([
  ['over 200 characters', 'x'.repeat(201)],
  ['nothing', ''],
  ['a number', 7],
  ['a lone surrogate', 'a\ud800'],
  ['a text with the character NUL', 'a\0b'],
])('a command id that is %s is refused', async (_, commandId) => {
  const averba = await openEngine({ store: ':memory:' })
  const enrolling = averba.consents.enrol({ cpf: '25774435016' }, { commandId } as never)
  await expect(enrolling).rejects.toMatchObject({ code: 'INVALID_INPUT' })
})
