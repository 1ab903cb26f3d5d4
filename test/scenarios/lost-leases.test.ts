import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openAverba } from '../../src/index.ts'
import { samples, simulate, VirtualClock } from '../../src/simulation/index.ts'

const { cpf } = samples
const input = { id: 'p1', cpf, claims: { nome: 'Maria de Exemplo Souza' } }
const isToken = (request: Request) => request.url.endsWith('/token')
const isValidation = (request: Request) => request.url.includes('/validate/pf')

/**
 * A process that stands still at one token request, by a clock that never moves, and another one on the same file
 * that takes over what it had when its lease has run out.
 */
async function givenStandstill(atTokenRequest: number, isTakenOver: boolean) {
  const store = join(mkdtempSync(join(tmpdir(), 'averba-lease-')), 'log.sqlite')
  const [reached, wake] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const sent: string[] = []
  let tokenRequests = 0
  const world = await simulate({
    averba: { store },
    intercept: async (request, forward) => {
      if (isValidation(request)) sent.push('validation')
      const answer = await forward(request)
      if (!isToken(request) || ++tokenRequests < atTokenRequest) return answer
      reached.resolve()
      await wake.promise
      return answer
    },
  })
  if (atTokenRequest > 1) {
    await world.averba.validations.validate({ ...input, id: 'earlier' })
    world.tokenService.expire()
    sent.length = 0
  }
  const asked = world.averba.validations.validate(input)
  await reached.promise
  const clock = new VirtualClock()
  const fetch = (request: Request) =>
    isToken(request) ? world.reach.tokenService(request) : world.reach.validationService(request)
  const other = await openAverba({
    ...{ store, clock, fetch },
    validationService: { baseUrl: 'https://validacao.exemplo.br', service: 'demo', bearer: 'outro' },
  })
  if (isTakenOver) {
    await clock.advance(61_000)
    await other.settle()
    expect(await other.effects.list({ state: 'unknown' })).toHaveLength(1)
  }
  wake.resolve()
  return { world, other, asked, sent }
}

test.each([
  ['before it was sent', 1, []],
  ['before it was sent again after a 401', 2, ['validation']],
])('a paid call that another process called in doubt %s is never sent', async (_, tokenRequest, before) => {
  const { world, other, asked, sent } = await givenStandstill(tokenRequest, true)
  expect(await asked).toMatchObject({ status: 'unknown', next: 'person' })
  expect(sent).toEqual(before)
  await other.close()
  await world.close()
})

test.each([
  ['sent', 1, ['validation']],
  ['sent again after a 401', 2, ['validation', 'validation']],
])('a paid call that nobody took meanwhile is %s', async (_, tokenRequest, all) => {
  const { world, other, asked, sent } = await givenStandstill(tokenRequest, false)
  expect(await asked).toMatchObject({ status: 'settled' })
  expect(sent).toEqual(all)
  await other.close()
  await world.close()
})

test('a paid call that leaves late belongs to its process for a whole minute more', async () => {
  const store = join(mkdtempSync(join(tmpdir(), 'averba-lease-')), 'log.sqlite')
  const [sent, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const world = await simulate({
    averba: { store },
    intercept: async (request, forward) => {
      if (isToken(request)) world.clock.jump(50_000)
      if (!isValidation(request)) return forward(request)
      sent.resolve()
      await answer.promise
      return forward(request)
    },
  })
  const clock = new VirtualClock()
  const asked = world.averba.validations.validate(input)
  await sent.promise
  const other = await openAverba({
    ...{ store, clock, fetch: world.reach.validationService },
    validationService: { baseUrl: 'https://validacao.exemplo.br', service: 'demo', bearer: 'outro' },
  })
  await clock.advance(61_000)
  await other.settle()
  expect(await other.effects.list({ state: 'unknown' })).toEqual([])
  answer.resolve()
  expect(await asked).toMatchObject({ status: 'settled' })
  await other.close()
  await world.close()
})
