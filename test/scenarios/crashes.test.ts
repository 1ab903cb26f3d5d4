import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { valueOf } from '../../src/index.ts'
import { samples, simulate } from '../../src/simulation/index.ts'

const leaseMs = 60_000

/**
 * A process that dies while a request is out: the first engine never hears the answer, and a second one
 * opens the same file later. `done` says whether the service did the work.
 */
async function givenCrashDuring(isTheOne: (request: Request) => boolean, done: boolean) {
  const store = join(mkdtempSync(join(tmpdir(), 'averba-crash-')), 'log.sqlite')
  const world = await simulate({
    averba: { store },
    intercept: async (request, forward) => {
      if (!isTheOne(request)) return forward(request)
      if (done) await forward(request)
      return new Promise<never>(() => undefined)
    },
  })
  const services: Record<string, (request: Request) => Promise<Response>> = {
    'consentimento.exemplo.br': request => world.consentService.fetch(request, { clientName: 'gestora' }),
    'gateway.exemplo.br': world.tokenService.fetch,
    'validacao.exemplo.br': world.validationService.fetch,
  }
  const restart = async () => {
    await world.clock.advance(leaseMs + 1)
    const again = await simulate({
      seed: 2,
      averba: {
        store,
        clock: world.clock,
        fetch: async request => (services[new URL(request.url).hostname] as typeof fetch)(request),
      },
    })
    return again.averba
  }
  return { world, restart }
}

test('a validation that was out when the process died is inconclusive, never sent again', async () => {
  const { world, restart } = await givenCrashDuring(request => request.url.includes('/validate/'), true)
  const input = { id: 'p1', cpf: samples.cpf, claims: { nome: 'X' } }
  void world.averba.validations.validate(input)
  await expect.poll(() => world.validationService.answered).toBe(1)
  const averba = await restart()
  expect(await averba.settle()).toEqual({ settled: 0, deferred: 0, unknown: 1 })
  expect(await averba.validations.validate(input)).toMatchObject({
    status: 'unknown',
    next: 'person',
    replayed: true,
  })
  expect(world.validationService.answered).toBe(1)
  await averba.close()
})

test.each([
  [true, 'settled', 'ATIVO'],
  [false, 'declined', 'PENDENTE'],
])('an approval that was out when the process died is read back (done: %s)', async (done, state, status) => {
  const { world, restart } = await givenCrashDuring(request => request.method === 'PUT', done)
  const subject = await world.averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await world.averba.consents.sync({ subject }))
  const [pending] = await world.averba.consents.list({ subject, status: 'PENDENTE' })
  const id = pending?.id ?? ''
  void world.averba.consents.approve({ subject, id }, { commandId: 'c1' })
  await expect.poll(async () => (await world.averba.effects.list({ state: 'started' })).length).toBe(1)
  const averba = await restart()
  await averba.settle()
  const outcome = await averba.consents.approve({ subject, id }, { commandId: 'c1' })
  expect(outcome).toMatchObject({ status: state, replayed: true })
  expect((await averba.consents.list({ subject })).find(each => each.id === id)).toMatchObject({
    status,
    knowledge: 'known',
  })
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  await averba.close()
})

test('a reading that was out when the process died goes again', async () => {
  let isFirst = true
  const { world, restart } = await givenCrashDuring(request => {
    const isIt = isFirst && /consentimentos\/\d+$/.test(request.url)
    if (isIt) isFirst = false
    return isIt
  }, true)
  const subject = await world.averba.consents.enrol({ cpf: samples.cpf })
  void world.averba.consents.sync({ subject })
  await expect.poll(() => isFirst).toBe(false)
  const averba = await restart()
  expect(await averba.settle()).toEqual({ settled: 1, deferred: 0, unknown: 0 })
  expect(await averba.consents.list({ subject })).toHaveLength(4)
  await averba.close()
})
