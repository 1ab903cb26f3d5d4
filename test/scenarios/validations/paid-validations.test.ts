import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type AverbaOptions, type Claims, diagnoseStore, valueOf } from '../../../src/index.ts'
import { samples, type World } from '../../../src/simulation/index.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openEngine, openServices, openWorld } from '../../support/world.ts'

const { cpf } = samples
const otherCpf = '52998224725'
const claims = { nome: 'Maria de Exemplo Souza' }
const hourMs = 3_600_000
const isValidation = (request: Request) => request.url.includes('/validate/pf')
const validationService = { baseUrl: 'https://validacao.exemplo.br', service: 'datavalid-demonstracao' }

/** A world with options of the validation service. */
function worldWith(
  options: Partial<NonNullable<AverbaOptions['validationService']>>,
  averba: Partial<AverbaOptions> = {},
) {
  return openWorld({ averba: { ...averba, validationService: { ...validationService, ...options } } })
}

/** Loses the answer of the next validation. */
const loseNextAnswer = ({ faults }: World) => faults.add({ kind: 'lose', service: 'validationService', times: 1 })

test('an inconclusive validation is resolved by a person, with a sealed note, and corrected', async () => {
  const folder = temporaryFolder()
  const world = await openWorld({ averba: { store: join(folder, 'log.sqlite') } })
  const { validations, effects, log } = world.averba
  await loseNextAnswer(world)
  const lost = await validations.validate({ id: 'a', cpf, claims })
  expect(lost).toMatchObject({ status: 'unknown', next: 'person' })
  expect((await validations.get('a'))?.state).toBe('inconclusive')
  const actor = { kind: 'person', ref: 'operator-7' } as const
  await validations.resolve('a', { charged: false, note: 'nota-canario: not on the invoice' }, { actor })
  expect(await validations.get('a')).toMatchObject({
    state: 'resolved',
    resolved: { charged: false, at: '2026-11-20T12:00:00.000Z', note: 'nota-canario: not on the invoice' },
  })
  expect(await Array.fromAsync(validations.list({ state: 'inconclusive' }))).toEqual([])
  expect(await Array.fromAsync(validations.list({ state: 'resolved' }))).toMatchObject([{ id: 'a' }])
  const report = JSON.parse(await world.averba.subjects.report({ cpf }, { format: 'json', language: 'en' }))
  const outcome = 'resolved: the answer was lost; it was not charged'
  expect(report.validations).toMatchObject([{ id: 'a', state: 'resolved', outcome }])
  const [resolved] = await Array.fromAsync(log.read({ types: ['validation.resolved'] }))
  expect(resolved).toMatchObject({
    data: { charged: false },
    actor,
    parts: [{ name: 'note' }, { name: 'problem' }],
  })
  expect(await effects.list({ state: 'unknown' })).toEqual([])
  const problem = { status: 0, code: 'NOT_CHARGED' }
  expect(await validations.validate({ id: 'a', cpf, claims })).toMatchObject({ status: 'declined', problem })
  await validations.resolve('a', { charged: true }, { actor })
  expect(await validations.get('a')).toMatchObject({ state: 'resolved', resolved: { charged: true } })
  const corrected = { status: 0, code: 'CHARGED_WITHOUT_RESULT' }
  expect(await validations.validate({ id: 'a', cpf, claims })).toMatchObject({ status: 'declined', problem: corrected })
  valueOf(await validations.validate({ id: 'b', cpf, claims }))
  await expect(validations.resolve('b', { charged: true })).rejects.toMatchObject({ code: 'REFUSED' })
  await expect(validations.resolve('c', { charged: true })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(validations.resolve('a', {} as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  const reason = 'nota-canario: the customer waits'
  valueOf(await validations.validate({ id: 'd', cpf, claims, again: { of: 'a', reason } }))
  expect((await world.averba.rebuild()).every(view => view.differences === 0)).toBe(true)
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
  await expect(validations.validate({ id: 'x', cpf, claims, again })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  })
  await loseNextAnswer(world)
  await validations.validate({ id: 'a', cpf, claims })
  const ofAnother = validations.validate({ id: 'y', cpf: otherCpf, claims, again })
  await expect(ofAnother).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  // Neither error uses up the one repetition.
  const ofOtherClaims = validations.validate({ id: 'z', cpf, claims: { nome: 'OUTRA' }, again })
  await expect(ofOtherClaims).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  const both = await Promise.allSettled(['b', 'c'].map(id => validations.validate({ id, cpf, claims, again })))
  expect(both.map(each => each.status).sort()).toEqual(['fulfilled', 'rejected'])
  const refused = both.find(each => each.status === 'rejected')
  expect(refused?.reason).toMatchObject({ code: 'REFUSED' })
  expect(world.validationService.answered).toBe(2)
  const [first, second, ...others] = await Array.fromAsync(validations.list())
  expect(first).toMatchObject({ id: 'a', state: 'inconclusive', againBy: second?.id })
  expect(second).toMatchObject({ state: 'answered', againOf: 'a' })
  expect(others).toEqual([])
  // A person may still resolve the first one: charged, it is closed without its result.
  await validations.resolve('a', { charged: true })
  const problem = { status: 0, code: 'CHARGED_WITHOUT_RESULT' }
  expect(await validations.validate({ id: 'a', cpf, claims })).toMatchObject({ status: 'declined', problem })
  expect(world.validationService.answered).toBe(2)
  const ofAnswered = { of: second?.id ?? '', reason: 'for nothing' }
  await expect(validations.validate({ id: 'd', cpf, claims, again: ofAnswered })).rejects.toMatchObject({
    code: 'REFUSED',
  })
})

test('a validation sends its trace id in the configured header, and the list has it', async () => {
  const sent: (string | null)[] = []
  const world = await openWorld({
    averba: { validationService: { ...validationService, traceHeader: 'x-request-trace-id' } },
    intercept: (request, forward) => {
      if (isValidation(request)) sent.push(request.headers.get('x-request-trace-id'))
      return forward(request)
    },
  })
  for (const id of ['a', 'b']) valueOf(await world.averba.validations.validate({ id, cpf, claims }))
  const listed = await Array.fromAsync(world.averba.validations.list())
  expect(listed.map(each => each.traceId)).toEqual(sent)
  expect(new Set(sent).size).toBe(2)
})

test('the daily budget is exact for concurrent validations', async () => {
  const world = await worldWith({ paidPerDayMax: 5 })
  const ask = (id: string) => world.averba.validations.validate({ id, cpf, claims })
  const asked = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => ask(`p${i}`)))
  const refused = asked.flatMap(each => (each.status === 'rejected' ? [each.reason] : []))
  expect(refused).toHaveLength(15)
  for (const error of refused) expect(error).toMatchObject({ code: 'BUDGET_SPENT' })
  expect(world.validationService.answered).toBe(5)
  expect(await Array.fromAsync(world.averba.validations.list())).toHaveLength(5)
  // The same id again costs nothing and needs no budget.
  expect(await ask('p0')).toMatchObject({ status: 'settled', replayed: true })
})

test('the budget restarts with the day in Brasilia, and a refused id can be used then', async () => {
  const world = await worldWith({ paidPerDayMax: 1 })
  const ask = (id: string) => world.averba.validations.validate({ id, cpf, claims })
  // It is 12:00 in UTC, 09:00 in Brasilia. Concurrent requests of one id share the last call of the day.
  const asked = await Promise.all(['a', 'a', 'a'].map(ask))
  expect(asked.map(each => [each.status, each.replayed]).sort()).toEqual([false, true, true].map(is => ['settled', is]))
  expect(world.validationService.answered).toBe(1)
  await expect(ask('b')).rejects.toMatchObject({
    code: 'BUDGET_SPENT',
    hint: expect.stringMatching(/after midnight in Brasilia.*paidPerDayMax/),
  })
  await world.clock.advance(15 * hourMs - 1)
  await expect(ask('b')).rejects.toMatchObject({ code: 'BUDGET_SPENT' })
  await world.clock.advance(1)
  expect(valueOf(await ask('b')).state).toBe('answered')
  await expect(ask('c')).rejects.toMatchObject({ code: 'BUDGET_SPENT' })
})

test('processes of one store share the budget, also one that opens later', async () => {
  const services = await openServices()
  const store = join(temporaryFolder(), 'log.sqlite')
  const capped = { ...services.options.validationService, paidPerDayMax: 7 }
  const options = { store, ...services.options, validationService: capped }
  const engines = [await openEngine(options), await openEngine(options)]
  const asked = engines.flatMap((engine, e) =>
    Array.from({ length: 12 }, (_, i) => engine.validations.validate({ id: `p${e}-${i}`, cpf, claims })),
  )
  const ended = await Promise.allSettled(asked)
  expect(ended.filter(each => each.status === 'fulfilled')).toHaveLength(7)
  for (const each of ended) if (each.status === 'rejected') expect(each.reason.code).toBe('BUDGET_SPENT')
  expect(services.validationService.answered).toBe(7)
  for (const engine of engines) await engine.close()
  const later = await openEngine(options)
  const one = later.validations.validate({ id: 'later', cpf, claims })
  await expect(one).rejects.toMatchObject({ code: 'BUDGET_SPENT' })
})

test('a recent definitive result is reused for the same person and claims at no cost', async () => {
  const world = await worldWith({ paidPerDayMax: 4 })
  const { validations } = world.averba
  const reuseWithinMs = hourMs
  const paid = valueOf(await validations.validate({ id: 'a', cpf, claims, reuseWithinMs }))
  expect(paid.reusedFrom).toBeUndefined()
  await world.clock.advance(hourMs)
  const outcome = await validations.validate({ id: 'b', cpf, claims, reuseWithinMs })
  expect(outcome).toMatchObject({ status: 'settled', effect: '', replayed: false })
  const reused = valueOf(outcome)
  expect(reused).toMatchObject({ id: 'b', state: 'answered', fields: paid.fields, reusedFrom: 'a' })
  expect(reused.traceId).not.toBe(paid.traceId)
  expect(await validations.get('b')).toEqual(reused)
  expect(await validations.validate({ id: 'b', cpf, claims, reuseWithinMs })).toMatchObject({
    replayed: true,
  })
  expect(world.validationService.answered).toBe(1)
  const [recorded] = await Array.fromAsync(world.averba.log.read({ types: ['validation.reused'] }))
  expect(recorded?.data).toMatchObject({ id: 'b', from: 'a' })
  // It is paid without reuseWithinMs, for other claims, for another person and for an old answer.
  valueOf(await validations.validate({ id: 'c', cpf, claims: { ...claims, sexo: 'F' }, reuseWithinMs }))
  await world.clock.advance(1)
  expect(valueOf(await validations.validate({ id: 'd', cpf, claims, reuseWithinMs })).reusedFrom).toBe(undefined)
  world.validationService.addPerson(otherCpf, claims)
  valueOf(await validations.validate({ id: 'e', cpf: otherCpf, claims, reuseWithinMs }))
  expect(world.validationService.answered).toBe(4)
  expect(valueOf(await validations.validate({ id: 'f', cpf, claims, reuseWithinMs })).reusedFrom).toBe('d')
  await expect(validations.validate({ id: 'g', cpf, claims })).rejects.toMatchObject({ code: 'BUDGET_SPENT' })
  expect((await world.averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})

test('an answer of another address is not reused, also after an index rebuild', async () => {
  const store = join(temporaryFolder(), 'log.sqlite')
  const calls: string[] = []
  const fetch = async ({ url }: Request) => {
    calls.push(url)
    return Response.json({ nome: url.startsWith('https://demonstracao.'), cpf_disponivel: true })
  }
  const ask = async (id: string, baseUrl: string) => {
    const own = { ...validationService, baseUrl, bearer: 'given' }
    const averba = await openEngine({ store, fetch, validationService: own })
    await averba.rebuildIndex()
    const { fields, reusedFrom } = valueOf(
      await averba.validations.validate({ id, cpf, claims, reuseWithinMs: hourMs }),
    )
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
  const { validations } = averba
  const input = { cpf, claims: { nome: 'X' }, reuseWithinMs: hourMs }
  clock.jump(24 * hourMs)
  valueOf(await validations.validate({ ...input, id: 'v1' }))
  expect(valueOf(await validations.validate({ ...input, id: 'v2' })).reusedFrom).toBe('v1')
  clock.jump(-24 * hourMs)
  await clock.advance(23.5 * hourMs)
  expect(valueOf(await validations.validate({ ...input, id: 'v3' })).reusedFrom).toBeUndefined()
})

test('unavailable, not evaluated and inconclusive results are never reused', async () => {
  const world = await openWorld()
  const { validations } = world.averba
  const reuse = { reuseWithinMs: 24 * hourMs }
  const twice = async (id: string, input: { cpf: string; claims: Claims }) => {
    const outcomes = []
    for (const n of [1, 2]) outcomes.push(await validations.validate({ id: `${id}${n}`, ...input, ...reuse }))
    return outcomes
  }
  await twice('unavailable', { cpf: otherCpf, claims })
  expect(world.validationService.answered).toBe(2)
  await twice('unevaluated', { cpf, claims: { data_nascimento: '1990-05-17' } })
  expect(world.validationService.answered).toBe(4)
  await loseNextAnswer(world)
  const [lost, paid] = await twice('inconclusive', { cpf, claims })
  expect(lost?.status).toBe('unknown')
  expect(paid && valueOf(paid).reusedFrom).toBe(undefined)
  expect(world.validationService.answered).toBe(6)
})

test('validations are listed page by page, by state and by request time', async () => {
  const world = await openWorld()
  const { validations } = world.averba
  const ids = Array.from({ length: 230 }, (_, i) => `p${i}`)
  for (const [i, id] of ids.entries()) {
    if (i === 99 || i === 200) await loseNextAnswer(world)
    await validations.validate({ id, cpf, claims })
    await world.clock.advance(60_000)
  }
  const idsOf = async (filter: Parameters<typeof validations.list>[0]) =>
    (await Array.fromAsync(validations.list(filter))).map(each => each.id)
  expect(await idsOf({})).toEqual(ids)
  expect(await idsOf({ state: 'inconclusive' })).toEqual(['p99', 'p200'])
  const [from, until] = ['2026-11-20T12:10:00.000Z', '2026-11-20T12:13:00.000Z']
  expect(await idsOf({ from, until })).toEqual(['p10', 'p11', 'p12'])
  await expect(idsOf({ from: '2026-11-20' })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
})
