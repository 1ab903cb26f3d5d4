import { describe, expect, test } from 'vitest'
import { type AverbaOptions, openAverba } from '../src/index.ts'

const certificate = { cert: 'c', key: 'k' }

describe('what is missing is said when the log is opened', () => {
  test.each([
    ['the store', { store: '' }],
    ['a certificate', { consentService: { baseUrl: 'https://a.exemplo.br', certificate: undefined } }],
    ['TLS', { consentService: { baseUrl: 'http://a.exemplo.br', certificate } }],
    ['an address', { tokenService: { url: 'gateway', consumerKey: 'a', consumerSecret: 'b' } }],
    ['a token', { validationService: { baseUrl: 'https://a.exemplo.br', service: 'demo' } }],
    ['a range', { receiver: { publicUrl: 'https://a.exemplo.br', sources: ['161.148.0.0/33'] } }],
  ])('%s', async (_, change) => {
    const opening = openAverba({ store: ':memory:', ...change } as AverbaOptions)
    await expect(opening).rejects.toMatchObject({ name: 'AverbaError', code: 'MISCONFIGURED' })
  })
})

test('an area without its service is refused by its name', async () => {
  const averba = await openAverba({ store: ':memory:' })
  const subject = await averba.consents.enrol({ cpf: '25774435016' })
  const calls = [
    () => averba.consents.sync({ subject }),
    () => averba.awareness.list({ subject }),
    () => averba.logins.state({ subject }),
    () => averba.validations.validate({ id: 'a', cpf: '25774435016', claims: {} }),
    () => averba.subscriptions.plan(),
  ]
  for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'SERVICE_NOT_CONFIGURED' })
  await averba.close()
})

test('ids that look like a CPF are refused wherever the host gives one', async () => {
  const averba = await openAverba({ store: ':memory:' })
  const id = 'cliente-25774435016'
  for (const ask of [
    { commandId: id },
    { correlationId: id },
    { actor: { kind: 'person', ref: id } as const },
  ]) {
    const enrolling = averba.consents.enrol({ cpf: '25774435016' }, ask)
    await expect(enrolling).rejects.toMatchObject({ code: 'PERSONAL_ID' })
  }
  await averba.close()
})

test('a listener that fails does not reach those who append', async () => {
  const lines: unknown[] = []
  const averba = await openAverba({ store: ':memory:', logger: line => void lines.push(line) })
  const heard: string[] = []
  averba.on('subject.enrolled', () => {
    throw new Error('25774435016')
  })
  const stop = averba.on('subject.enrolled', event => void heard.push(event.type))
  await averba.consents.enrol({ cpf: '25774435016' })
  stop()
  await averba.consents.enrol({ cpf: '11144477735' })
  expect(lines).toEqual([
    { message: 'a listener failed', error: 'Error' },
    { message: 'a listener failed', error: 'Error' },
  ])
  await averba.close()
})

test('a log that was closed says so, and can be closed again', async () => {
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
