import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Averba, diagnoseStore, valueOf } from '../../../src/index.ts'
import { samples, type World } from '../../../src/simulation/index.ts'
import { answering } from '../../support/answers.ts'
import { eventsOf } from '../../support/events-of.ts'
import { isValidation, openValidating, validate } from '../../support/open-validating.ts'
import { hourMs } from '../../support/pass-time.ts'
import { refuses } from '../../support/refuses.ts'
import { temporaryFolder, temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine, openServices, openWorld, validationServiceWith } from '../../support/world.ts'

const { cpf } = samples
const otherCpf = '52998224725'
const claims = { nome: 'Maria de Exemplo Souza' }

/** A world with a limit on the paid calls of a day. */
const worldWith = (paidPerDayMax: number) =>
  openWorld({ averba: { validationService: validationServiceWith({ paidPerDayMax }) } })

const rowsOf = ({ validations }: Averba, filter?: Parameters<Averba['validations']['list']>[0]) =>
  Array.fromAsync(validations.list(filter))

const loseNextAnswer = ({ faults }: World) => faults.add({ kind: 'lose', service: 'validationService', times: 1 })

test('an inconclusive validation is resolved by a person, with a sealed note, and corrected', async () => {
  const folder = temporaryFolder()
  const world = await openWorld({ averba: { store: join(folder, 'log.sqlite') } })
  const { averba } = world
  const { validations } = averba
  await loseNextAnswer(world)
  expect(await validate(averba, 'a')).toMatchObject({ status: 'unknown', next: 'person' })
  expect((await validations.get('a'))?.state).toBe('inconclusive')
  const actor = { kind: 'person', ref: 'operator-7' } as const
  const resolution = { charged: false, note: 'nota-canario: not on the invoice' }
  await validations.resolve('a', resolution, { actor })
  const resolved = { ...resolution, at: '2026-11-20T12:00:00.000Z' }
  expect(await validations.get('a')).toMatchObject({ state: 'resolved', resolved })
  expect(await rowsOf(averba, { state: 'inconclusive' })).toEqual([])
  expect(await rowsOf(averba, { state: 'resolved' })).toMatchObject([{ id: 'a' }])
  const report = JSON.parse(await averba.subjects.report({ cpf }, { format: 'json', language: 'en' }))
  const outcome = 'resolved: the answer was lost; it was not charged'
  expect(report.validations).toMatchObject([{ id: 'a', state: 'resolved', outcome }])
  const parts = [{ name: 'note' }, { name: 'problem' }]
  expect(await eventsOf(world, 'validation.resolved')).toMatchObject([{ data: { charged: false }, actor, parts }])
  expect(await averba.effects.list({ state: 'unknown' })).toEqual([])
  const declined = (code: string) => ({ status: 'declined', problem: { status: 0, code } })
  expect(await validate(averba, 'a')).toMatchObject(declined('NOT_CHARGED'))
  await validations.resolve('a', { charged: true }, { actor })
  expect(await validations.get('a')).toMatchObject({ state: 'resolved', resolved: { charged: true } })
  expect(await validate(averba, 'a')).toMatchObject(declined('CHARGED_WITHOUT_RESULT'))
  valueOf(await validate(averba, 'b'))
  await refuses('REFUSED', validations.resolve('b', { charged: true }))
  await refuses('NOT_FOUND', validations.resolve('c', { charged: true }))
  await refuses('INVALID_INPUT', validations.resolve('a', {} as never))
  const reason = 'nota-canario: the customer waits'
  valueOf(await validations.validate({ id: 'd', cpf, claims, again: { of: 'a', reason } }))
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  await world.close()
  const { problems } = await diagnoseStore({ store: join(folder, 'log.sqlite'), isDeep: true })
  expect(problems).toEqual([])
  for (const name of readdirSync(folder))
    expect(readFileSync(join(folder, name), 'latin1')).not.toContain('nota-canario')
})

test('an inconclusive validation can be paid again once', async () => {
  const world = await openWorld()
  const { validations } = world.averba
  const again = { of: 'a', reason: 'the customer waits' }
  const payAgain = (id: string, input = {}) => validations.validate({ id, cpf, claims, again, ...input })
  await refuses('NOT_FOUND', payAgain('x'))
  await loseNextAnswer(world)
  await validate(world.averba, 'a')
  // Neither error uses up the one repetition.
  for (const other of [{ cpf: otherCpf }, { claims: { nome: 'OUTRA' } }])
    await refuses('INVALID_INPUT', payAgain('y', other))
  const both = await Promise.allSettled([payAgain('b'), payAgain('c')])
  expect(both.map(each => each.status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(both.find(each => each.status === 'rejected')?.reason).toMatchObject({ code: 'REFUSED' })
  expect(world.validationService.answered).toBe(2)
  const rows = await rowsOf(world.averba)
  const [, second] = rows
  const first = { id: 'a', state: 'inconclusive', againBy: second?.id }
  expect(rows).toMatchObject([first, { state: 'answered', againOf: 'a' }])
  // A person may still resolve the first one: charged, it is closed without its result.
  await validations.resolve('a', { charged: true })
  const problem = { status: 0, code: 'CHARGED_WITHOUT_RESULT' }
  expect(await validate(world.averba, 'a')).toMatchObject({ status: 'declined', problem })
  expect(world.validationService.answered).toBe(2)
  await refuses('REFUSED', payAgain('d', { again: { of: second?.id ?? '', reason: 'for nothing' } }))
})

test('a validation sends its trace id in the configured header, and the list has it', async () => {
  const sent: (string | null)[] = []
  const { averba } = await openWorld({
    averba: { validationService: validationServiceWith({ traceHeader: 'x-request-trace-id' }) },
    intercept: answering(isValidation, ({ headers }) => {
      sent.push(headers.get('x-request-trace-id'))
      return undefined
    }),
  })
  for (const id of ['a', 'b']) valueOf(await validate(averba, id))
  expect((await rowsOf(averba)).map(({ traceId }) => traceId)).toEqual(sent)
  expect(new Set(sent).size).toBe(2)
})

test('the daily budget is exact for concurrent validations', async () => {
  const { averba, validationService } = await worldWith(5)
  const asked = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => validate(averba, `p${i}`)))
  const refused = asked.filter(each => each.status === 'rejected')
  expect(refused).toMatchObject(Array(15).fill({ reason: { code: 'BUDGET_SPENT' } }))
  expect(validationService.answered).toBe(5)
  expect(await rowsOf(averba)).toHaveLength(5)
  // The same id again costs nothing and needs no budget.
  expect(await validate(averba, 'p0')).toMatchObject({ status: 'settled', replayed: true })
})

test('the budget restarts with the day in Brasilia, and a refused id can be used then', async () => {
  const world = await worldWith(1)
  const ask = (id: string) => validate(world.averba, id)
  // It is 12:00 in UTC, 09:00 in Brasilia. Concurrent requests of one id share the last call of the day.
  const asked = await Promise.all(['a', 'a', 'a'].map(ask))
  expect(asked.map(each => [each.status, each.replayed]).sort()).toEqual([false, true, true].map(is => ['settled', is]))
  expect(world.validationService.answered).toBe(1)
  const hint = expect.stringMatching(/after midnight in Brasilia.*paidPerDayMax/)
  await refuses('BUDGET_SPENT', ask('b'), { hint })
  await world.clock.advance(15 * hourMs - 1)
  await refuses('BUDGET_SPENT', ask('b'))
  await world.clock.advance(1)
  expect(valueOf(await ask('b')).state).toBe('answered')
  await refuses('BUDGET_SPENT', ask('c'))
})

test('processes of one store share the budget, also one that opens later', async () => {
  const services = await openServices()
  const validationService = { ...services.options.validationService, paidPerDayMax: 7 }
  const options = { store: temporaryStore(), ...services.options, validationService }
  const engines = [await openEngine(options), await openEngine(options)]
  const asked = engines.flatMap((engine, e) => Array.from({ length: 12 }, (_, i) => validate(engine, `p${e}-${i}`)))
  const refused = (await Promise.allSettled(asked)).filter(each => each.status === 'rejected')
  expect(refused).toMatchObject(Array(24 - 7).fill({ reason: { code: 'BUDGET_SPENT' } }))
  expect(services.validationService.answered).toBe(7)
  for (const engine of engines) await engine.close()
  await refuses('BUDGET_SPENT', validate(await openEngine(options), 'later'))
})

test('a recent definitive result is reused for the same person and claims at no cost', async () => {
  const world = await worldWith(4)
  const { averba, clock, validationService } = world
  const { validations } = averba
  const ask = (id: string, input = {}) => validations.validate({ id, cpf, claims, reuseWithinMs: hourMs, ...input })
  const paid = valueOf(await ask('a'))
  expect(paid.reusedFrom).toBeUndefined()
  await clock.advance(hourMs)
  const outcome = await ask('b')
  expect(outcome).toMatchObject({ status: 'settled', effect: '', replayed: false })
  const reused = valueOf(outcome)
  expect(reused).toMatchObject({ id: 'b', state: 'answered', fields: paid.fields, reusedFrom: 'a' })
  expect(reused.traceId).not.toBe(paid.traceId)
  expect(await validations.get('b')).toEqual(reused)
  expect(await ask('b')).toMatchObject({ replayed: true })
  expect(validationService.answered).toBe(1)
  expect(await eventsOf(world, 'validation.reused')).toMatchObject([{ data: { id: 'b', from: 'a' } }])
  // It is paid without reuseWithinMs, for other claims, for another person and for an old answer.
  valueOf(await ask('c', { claims: { ...claims, sexo: 'F' } }))
  await clock.advance(1)
  expect(valueOf(await ask('d')).reusedFrom).toBe(undefined)
  validationService.addPerson(otherCpf, claims)
  valueOf(await ask('e', { cpf: otherCpf }))
  expect(validationService.answered).toBe(4)
  expect(valueOf(await ask('f')).reusedFrom).toBe('d')
  await refuses('BUDGET_SPENT', validate(averba, 'g'))
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})

test('an answer of another address is not reused, also after an index rebuild', async () => {
  const store = temporaryStore()
  const calls: string[] = []
  const fetch = async ({ url }: Request) => {
    calls.push(url)
    return Response.json({ nome: url.startsWith('https://demonstracao.'), cpf_disponivel: true })
  }
  const ask = async (id: string, baseUrl: string) => {
    const validationService = validationServiceWith({ baseUrl, bearer: 'given' })
    const averba = await openValidating({ store, fetch, validationService })
    await averba.rebuildIndex()
    const outcome = await averba.validations.validate({ id, cpf, claims, reuseWithinMs: hourMs })
    const { fields, reusedFrom } = valueOf(outcome)
    await averba.close()
    return { result: fields.nome?.result, reusedFrom }
  }
  expect(await ask('a', 'https://demonstracao.exemplo.br')).toMatchObject({ result: 'match' })
  const real = { result: 'mismatch', reusedFrom: undefined }
  expect(await ask('b', 'https://producao.exemplo.br')).toEqual(real)
  expect(await ask('c', 'https://producao.exemplo.br/v9/')).toEqual(real)
  expect(await ask('d', 'https://PRODUCAO.exemplo.br:443/v9')).toEqual({ ...real, reusedFrom: 'c' })
  expect(await ask('e', 'https://demonstracao.exemplo.br/')).toEqual({ result: 'match', reusedFrom: 'a' })
  expect(calls).toHaveLength(3)
})

test('a result dated by a clock that was a day ahead is not reused', async () => {
  const { averba, clock } = await openWorld()
  const ask = (id: string) => averba.validations.validate({ id, cpf, claims, reuseWithinMs: hourMs })
  clock.jump(24 * hourMs)
  valueOf(await ask('v1'))
  expect(valueOf(await ask('v2')).reusedFrom).toBe('v1')
  clock.jump(-24 * hourMs)
  await clock.advance(23.5 * hourMs)
  expect(valueOf(await ask('v3')).reusedFrom).toBeUndefined()
})

test('unavailable, not evaluated and inconclusive results are never reused', async () => {
  const world = await openWorld()
  const ask = (id: string, input = {}) =>
    world.averba.validations.validate({ id, cpf, claims, reuseWithinMs: 24 * hourMs, ...input })
  for (const id of ['u1', 'u2']) valueOf(await ask(id, { cpf: otherCpf }))
  for (const id of ['n1', 'n2']) valueOf(await ask(id, { claims: { data_nascimento: '1990-05-17' } }))
  expect(world.validationService.answered).toBe(4)
  await loseNextAnswer(world)
  expect((await ask('lost')).status).toBe('unknown')
  expect(valueOf(await ask('paid')).reusedFrom).toBe(undefined)
  expect(world.validationService.answered).toBe(6)
})

test('validations are listed page by page, by state and by request time', async () => {
  const world = await openWorld()
  const ids = Array.from({ length: 130 }, (_, i) => `p${i}`)
  for (const id of ids) {
    if (id === 'p99' || id === 'p120') await loseNextAnswer(world)
    await validate(world.averba, id)
    await world.clock.advance(60_000)
  }
  const idsOf = async (filter: Parameters<typeof rowsOf>[1]) => (await rowsOf(world.averba, filter)).map(({ id }) => id)
  expect(await idsOf({})).toEqual(ids)
  expect(await idsOf({ state: 'inconclusive' })).toEqual(['p99', 'p120'])
  const [from, until] = ['2026-11-20T12:10:00.000Z', '2026-11-20T12:13:00.000Z']
  expect(await idsOf({ from, until })).toEqual(['p10', 'p11', 'p12'])
  await refuses('INVALID_INPUT', idsOf({ from: '2026-11-20' }))
})
