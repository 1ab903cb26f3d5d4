import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { type AverbaOptions, openAverba, Secret } from '../../src/index.ts'

const certificate = { cert: 'c', key: 'k' }

describe('opening the log reports what is missing in the options', () => {
  test.each([
    ['the store', { store: '' }],
    ['a certificate', { consentService: { baseUrl: 'https://a.exemplo.br', certificate: undefined } }],
    ['an address of the consent service', { consentService: { certificate } }],
    ['an address of the gateway', { tokenService: { consumerKey: 'a', consumerSecret: 'b' } }],
    ['an address of the portal', { portal: { authenticate: async () => ({}) } }],
    ['an address of the receiver', { receiver: {} }],
    ['an authentication', { portal: { baseUrl: 'https://a.exemplo.br' } }],
    [
      'a list of addresses that a login returns to',
      {
        consentService: {
          baseUrl: 'https://a.exemplo.br',
          certificate: async () => certificate,
          redirectUrls: 'x',
        },
      },
    ],
    ['TLS', { consentService: { baseUrl: 'http://a.exemplo.br', certificate } }],
    ['an address', { tokenService: { url: 'gateway', consumerKey: 'a', consumerSecret: 'b' } }],
    ['a consumer key', { tokenService: { url: 'https://a.exemplo.br/token', consumerSecret: 'b' } }],
    [
      'a consumer key that is empty',
      {
        tokenService: { url: 'https://a.exemplo.br/token', consumerKey: new Secret(''), consumerSecret: 'b' },
      },
    ],
    [
      'a consumer secret',
      { tokenService: { url: 'https://a.exemplo.br/token', consumerKey: 'a', consumerSecret: '' } },
    ],
    ['a service', { validationService: { baseUrl: 'https://a.exemplo.br', bearer: 't' } }],
    ['the name of a service', { validationService: { baseUrl: 'https://a.exemplo.br', service: '', bearer: 't' } }],
    [
      'a bearer token that is empty',
      { validationService: { baseUrl: 'https://a.exemplo.br', service: 'demo', bearer: '' } },
    ],
    ['a token', { validationService: { baseUrl: 'https://a.exemplo.br', service: 'demo' } }],
    [
      'a name that is misspelt',
      { subscriptions: [{ evento: 'e', endpoint: 'https://a.exemplo.br', chavesecreta: 'x' }] },
    ],
    ['a group that is misspelt', { consentservice: {} }],
    ['a password in an address', { portal: { baseUrl: 'https://u:p@a.exemplo.br', authenticate: async () => ({}) } }],
    [
      'a query in an address that paths are added to',
      { portal: { baseUrl: 'https://a.exemplo.br/?x=', authenticate: async () => ({}) } },
    ],
    ['a malformed certificate', { consentService: { baseUrl: 'https://a.exemplo.br', certificate } }],
    ['a count of proxies', { receiver: { publicUrl: 'https://a.exemplo.br', trustedProxies: -1 } }],
    ['a kind of records that has no parts', { recordKeys: ['token'] }],
    ['kinds of records that are no list', { recordKeys: 'validation' }],
    ['a range', { receiver: { publicUrl: 'https://a.exemplo.br', sources: ['161.148.0.0/33'] } }],
  ])('%s', async (_, change) => {
    const opening = openAverba({ store: ':memory:', ...change } as AverbaOptions)
    await expect(opening).rejects.toMatchObject({ name: 'AverbaError', code: 'MISCONFIGURED' })
  })
})

describe('opening the log refuses a name that would be mistaken for something else', () => {
  const tokenService = { url: 'https://a.exemplo.br/token', consumerKey: 'a', consumerSecret: 'b' }
  const validationService = { baseUrl: 'https://a.exemplo.br', service: 'demo' }
  const open = (options: Partial<AverbaOptions>) => openAverba({ store: ':memory:', ...options })

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

  test('other names are accepted', async () => {
    const averba = await open({
      tokenService: { ...tokenService, credential: 'produção 2' },
      validationService: { ...validationService, traceHeader: 'x-request-trace-id' },
    })
    await averba.close()
  })
})

test('an area without its service refuses every method and names the service', async () => {
  const averba = await openAverba({ store: ':memory:' })
  const subject = await averba.consents.enrol({ cpf: '25774435016' })
  const calls = [
    () => averba.consents.sync({ subject }),
    () => averba.awareness.list({ subject }),
    () => averba.logins.state({ subject }),
    () => averba.validations.validate({ id: 'a', cpf: '25774435016', claims: { nome: 'X' } }),
    () => averba.subscriptions.plan(),
  ]
  for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'SERVICE_NOT_CONFIGURED' })
  await averba.close()
})

test('an id that looks like a CPF is refused in every option and method', async () => {
  const averba = await openAverba({ store: ':memory:' })
  const id = 'cliente-25774435016'
  for (const ask of [{ commandId: id }, { correlationId: id }, { actor: { kind: 'person', ref: id } as const }]) {
    const enrolling = averba.consents.enrol({ cpf: '25774435016' }, ask)
    await expect(enrolling).rejects.toMatchObject({ code: 'PERSONAL_ID' })
  }
  await averba.close()
})

test('a failing listener does not affect the append', async () => {
  const lines: unknown[] = []
  const averba = await openAverba({ store: ':memory:', logger: line => void lines.push(line) })
  const announced: string[] = []
  averba.on('subject.enrolled', () => {
    throw new Error('25774435016')
  })
  const stop = averba.on('subject.enrolled', event => void announced.push(event.type))
  averba.on('subject.enrolled', async () => {
    throw new TypeError('25774435016')
  })
  await averba.consents.enrol({ cpf: '25774435016' })
  stop()
  await averba.consents.enrol({ cpf: '11144477735' })
  expect(announced).toEqual(['subject.enrolled'])
  expect(lines).toEqual([
    { message: 'a listener failed', error: 'Error' },
    { message: 'a listener failed', error: 'TypeError' },
    { message: 'a listener failed', error: 'Error' },
    { message: 'a listener failed', error: 'TypeError' },
  ])
  await averba.close()
})

test('a closed log refuses calls, and can be closed again', async () => {
  const averba = await openAverba({ store: ':memory:' })
  await averba.close()
  await averba.close()
  const calls = [
    () => averba.consents.enrol({ cpf: '25774435016' }),
    () => averba.settle(),
    () => averba.views.selectFrom('consents').selectAll().execute(),
    () => averba.log.read()[Symbol.asyncIterator]().next(),
  ]
  for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'CLOSED' })
})

test('wrong options leave no file behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'averba-options-'))
  const store = join(folder, 'log.sqlite')
  const opening = openAverba({
    store,
    validationService: { baseUrl: 'https://a.exemplo.br', service: 'demo' },
  })
  await expect(opening).rejects.toMatchObject({ code: 'MISCONFIGURED' })
  expect(readdirSync(folder)).toEqual([])
})

test('a database address as store path is refused without repeating its password', async () => {
  const error = await openAverba({ store: 'postgres://u:p4ss@h/db' }).catch(reason => reason)
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
])('a command id that is %s is refused', async (_, commandId) => {
  const averba = await openAverba({ store: ':memory:' })
  const enrolling = averba.consents.enrol({ cpf: '25774435016' }, { commandId } as never)
  await expect(enrolling).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await averba.close()
})

test('a failing logger does not affect callers', async () => {
  const logger = () => {
    throw new Error('disk full')
  }
  const folder = mkdtempSync(join(tmpdir(), 'averba-logger-'))
  const averba = await openAverba({ store: join(folder, 'log.sqlite'), logger })
  await averba.close()
})
