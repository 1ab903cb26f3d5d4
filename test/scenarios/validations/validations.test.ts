import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { samples } from '../../../src/simulation/index.ts'
import { answering, busy } from '../../support/answers.ts'
import { isValidation, validate } from '../../support/open-validating.ts'
import { hourMs, passTime } from '../../support/pass-time.ts'
import { refuses } from '../../support/refuses.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const { cpf } = samples
const claims = { nome: 'Maria de Exemplo Souza' }

test('a match, a mismatch and a field not evaluated are three results', async () => {
  const { validations } = (await openWorld()).averba
  const others = { sexo: 'M', data_nascimento: '1990-05-17', filiacao: { nome_mae: 'JOANA DE EXEMPLO SOUSA' } }
  const validation = valueOf(await validations.validate({ id: 'p1', cpf, claims: { ...claims, ...others } }))
  expect(validation).toMatchObject({ id: 'p1', state: 'answered', cpfDisponivel: true })
  expect(validation.fields).toEqual({
    nome: { result: 'match', similarity: 1 },
    sexo: { result: 'mismatch' },
    data_nascimento: { result: 'not-evaluated' },
    'filiacao.nome_mae': { result: 'mismatch', similarity: 0.95 },
  })
  expect(await validations.get('p1')).toEqual(validation)
  expect(await validations.get('p2')).toBeUndefined()
})

test('the same id is never paid twice, and other input under it is an error', async () => {
  const world = await openWorld()
  const validate = (nome: string) => world.averba.validations.validate({ id: 'p1', cpf, claims: { nome } })
  const all = await Promise.all([validate('A'), validate('A'), validate('A')])
  expect(new Set(all.map(outcome => outcome.effect)).size).toBe(1)
  expect(await validate('A')).toMatchObject({ status: 'settled', replayed: true })
  expect(world.validationService.answered).toBe(1)
  await refuses('COMMAND_REUSED', validate('B'))
})

test('a paid call whose answer was lost is left to a person and never repeated', async () => {
  const world = await openWorld({ faults: [{ kind: 'lose', service: 'validationService' }] })
  const { effects, validations } = world.averba
  const unknown = { status: 'unknown', next: 'person' }
  const outcome = await validate(world.averba, 'p1')
  expect(outcome).toMatchObject(unknown)
  const message = expect.stringContaining('a person has to decide')
  for (const act of [effects.retry, effects.park]) await refuses('REFUSED', act(outcome.effect), { message })
  await passTime(world, 24 * hourMs)
  expect(await validate(world.averba, 'p1')).toMatchObject({ ...unknown, replayed: true })
  expect(world.validationService.answered).toBe(1)
  expect((await validations.get('p1'))?.state).toBe('inconclusive')
})

test('a call whose claims cannot be opened waits and is not unknown: it was not sent', async () => {
  const store = temporaryStore()
  const world = await openWorld({ averba: { store }, faults: [{ kind: 'refuse' }] })
  const { effect } = await validate(world.averba, 'p1')
  const sql = "create temp table hidden as select * from part where name = 'claims'"
  const database = new Sqlite(store)
  database.exec(`${sql}; delete from part where name = 'claims'`)
  world.faults.clear()
  await passTime(world, hourMs, 5)
  expect(await world.averba.effects.get(effect)).toMatchObject({ state: 'deferred' })
  database.exec('insert into part select * from hidden')
  database.close()
  await passTime(world, hourMs)
  expect((await world.averba.validations.get('p1'))?.state).toBe('answered')
  expect(world.validationService.answered).toBe(1)
})

const gateway = { url: 'https://gateway.exemplo.br/token', consumerKey: 'chave-de-exemplo' }

test('once a consumer secret that cannot be read, and then is wrong, is corrected, no call is lost', async () => {
  let consumerSecret = () => Promise.reject<string>(new Error('vault token s.very-secret was refused'))
  const world = await openWorld({ averba: { tokenService: { ...gateway, consumerSecret: () => consumerSecret() } } })
  const unread = await validate(world.averba, 'p1')
  expect(unread).toMatchObject({ status: 'deferred' })
  expect(JSON.stringify(unread)).not.toContain('very-secret')
  consumerSecret = async () => 'segredo-errado'
  await passTime(world, hourMs)
  expect(await validate(world.averba, 'p2')).toMatchObject({ status: 'deferred' })
  await passTime(world, hourMs)
  expect(world.tokenService.requests).toBe(1)
  consumerSecret = async () => 'segredo-de-exemplo'
  await passTime(world, hourMs)
  for (const id of ['p1', 'p2']) valueOf(await validate(world.averba, id))
  expect(world.tokenService.requests).toBe(2)
})

const wrong = { code: 'INVALID_INPUT' }
const unnamed = { ...wrong, message: expect.stringContaining('<an unknown field>') }
const undated = {
  message: 'Cannot validate: wrong claims at data_nascimento',
  hint: expect.stringMatching(/fields of the contract.*: .*data_nascimento/),
}
test.each([
  ['an invalid CPF', { cpf: '25774435017' }, { code: 'INVALID_CPF' }],
  ['an id that looks like a CPF', { id: 'x-25774435016' }, { code: 'PERSONAL_ID' }],
  ['a field that the contract does not have', { claims: { apelido: 'Mari' } }, unnamed],
  ['a value in the place of a name', { claims: { 'Maria 25774435016': 1 } }, unnamed],
  ['a value in the place of a name in a group', { claims: { filiacao: { 'Maria 25774435016': 1 } } }, unnamed],
  ['a date in another form', { claims: { data_nascimento: '17/05/1990' } }, undated],
  ['a day that does not exist', { claims: { data_nascimento: '2026-02-31' } }, wrong],
  ['an impossible date', { claims: { cnh: { data_validade: '0000-99-99' } } }, wrong],
  ['a call that claims nothing', { claims: {} }, wrong],
  ['a call that claims only empty texts', { claims: { nome: '', filiacao: { nome_mae: ' ' } } }, wrong],
  ['a call that claims nothing in a group', { claims: { filiacao: {}, sexo: undefined } }, wrong],
])('%s is refused before anything is recorded, without repeating it', async (_, change, refused) => {
  const { averba } = await openWorld()
  const input = { id: 'p1', cpf, claims, ...change }
  const error: unknown = await averba.validations.validate(input as never).catch(reason => reason)
  expect(error).toMatchObject(refused)
  expect(inspect(error, { depth: null })).not.toMatch(/Mari|257744350|17.05/)
  const types = await Array.fromAsync(averba.log.read(), event => event.type)
  expect(types).toEqual(['log.began'])
})

test('a deferred call is not sent before its time, however often it is requested', async () => {
  let calls = 0
  const intercept = answering(isValidation, () => (++calls > 1 ? undefined : busy(60)))
  const { averba, clock } = await openWorld({ intercept })
  expect(await validate(averba, 'p1')).toMatchObject({ status: 'deferred', retryAt: '2026-11-20T12:01:00.000Z' })
  expect(await validate(averba, 'p1')).toMatchObject({ status: 'deferred', replayed: true })
  expect(calls).toBe(1)
  await clock.advance(60_000)
  expect(await validate(averba, 'p1')).toMatchObject({ status: 'settled', replayed: true })
  expect(calls).toBe(2)
})

test('a late 401 does not request a token again', async () => {
  const late = Promise.withResolvers<void>()
  let calls = 0
  const world = await openWorld({
    intercept: answering(isValidation, async () => {
      if (++calls === 1) await late.promise
      return Response.json({}, { status: 401 })
    }),
  })
  const slow = validate(world.averba, 'slow')
  await expect.poll(() => calls).toBe(1)
  expect(await validate(world.averba, 'quick')).toMatchObject({ status: 'deferred' })
  expect(world.tokenService.requests).toBe(2)
  late.resolve()
  const reason = 'the gateway returned the rejected token again'
  expect(await slow).toMatchObject({ status: 'deferred', reason })
  expect(world.tokenService.requests).toBe(2)
})

test('a service that asks for an excessive wait is asked again after a day', async () => {
  const { averba } = await openWorld({ intercept: answering(isValidation, () => busy(365 * 86_400, 503)) })
  expect(await validate(averba, 'p1')).toMatchObject({ status: 'deferred', retryAt: '2026-11-21T12:00:00.000Z' })
})

test.each([400, 401])('a value that the service quotes as its code (%i) is never stored in clear', async status => {
  let quoted = ''
  const { averba, clock, lines } = await openWorld({
    intercept: answering(isValidation, () => Response.json({ error: quoted, detail: 'x' }, { status })),
  })
  const claims = { nome: 'SEVERINA DE EXEMPLO', documento: { numero: '482913' } }
  for (quoted of ['Severina', 'numero-482913', 'E-1042']) {
    const outcome = await averba.validations.validate({ id: `pedido-${quoted.length}`, cpf, claims })
    // A decline has the service's answer, from the sealed part.
    expect('reason' in outcome ? outcome.reason : '').not.toMatch(/severina|482913/i)
    if (quoted === 'E-1042') expect(JSON.stringify(outcome)).toContain('E-1042')
    await clock.advance(3_600_000)
  }
  const headers = JSON.stringify(await Array.fromAsync(averba.log.read()))
  expect(headers).toContain('E-1042')
  expect(`${headers}${JSON.stringify(lines)}`).not.toMatch(/severina|482913/i)
})
