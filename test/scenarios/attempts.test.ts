import { expect, test } from 'vitest'
import { valueOf } from '../../src/index.ts'
import { simulate } from '../../src/simulation/index.ts'

test('each attempt that may change or cost something is in the log before its request leaves, and a reading is not', async () => {
  const known: { request: string; attempts: unknown[] }[] = []
  let isDown = true
  const world = await simulate({
    intercept: async (request, forward) => {
      const attempts: unknown[] = []
      for await (const event of world.averba.log.read({ types: ['effect.attempted'] })) {
        if (event.type === 'effect.attempted') attempts.push(`${event.data.type} ${event.data.attempts}`)
      }
      known.push({ request: request.method, attempts })
      if (request.method === 'PUT' && isDown) return new Response('', { status: 429 })
      return forward(request)
    },
  })
  const { averba, samples, clock } = world
  const actor = { kind: 'person', ref: 'clerk-7' } as const
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await averba.consents.sync({ subject })
  const [pending] = await averba.consents.list({ subject, status: 'PENDENTE' })
  const which = { subject, id: pending?.id ?? '' }
  await averba.consents.approve(which, { actor, correlationId: 'case-1' })
  isDown = false
  await clock.advance(60_000)
  await averba.settle()
  valueOf(await averba.validations.validate({ id: 'v1', cpf: samples.cpf, claims: {} }))
  const change = ['consentService.changeStatus 1', 'consentService.changeStatus 2']
  const paid = [...change, 'validationService.validatePerson 1']
  expect(known).toEqual([
    { request: 'GET', attempts: [] },
    { request: 'PUT', attempts: change.slice(0, 1) },
    { request: 'PUT', attempts: change },
    { request: 'POST', attempts: [...paid, 'tokenService.requestToken 1'] },
    { request: 'POST', attempts: [...paid, 'tokenService.requestToken 1'] },
  ])
  const recorded = []
  for await (const event of averba.log.read({ types: ['effect.attempted'] })) recorded.push(event)
  expect(recorded[0]).toMatchObject({ actor, correlationId: 'case-1', moves: { to: 'started' } })
  await world.close()
})
