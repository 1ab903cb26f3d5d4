import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { hourMs, toInstant } from '../../../src/vocabulary/instant.ts'
import { openWorld } from '../../support/world.ts'

test('a revocation that was not made is reported again when a lapsed consent is active again', async () => {
  let expiry: string | undefined
  const { averba, clock, consentService, samples } = await openWorld({
    averba: { schedules: true },
    policies: { consentService: { expiry: 'never' } },
    async intercept(request, forward) {
      if (request.method === 'PUT') return Response.json({ title: 'no' }, { status: 400 })
      const answer = await forward(request)
      const body: unknown = await answer.json()
      const put = (each: object) => ({ ...each, dataExpiracao: expiry })
      return Response.json(Array.isArray(body) ? body.map(put) : put(body as object))
    },
  })
  expiry = toInstant(clock.now() + hourMs)
  const id = consentService.addConsent({ cpf: samples.cpf, status: 'ATIVO' })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await averba.consents.sync({ subject }))
  expect((await averba.consents.revoke({ subject, id })).status).toBe('declined')
  const isWell = async () => (await averba.health({ only: ['consents'] })).checks[0]?.ok
  expect(await isWell()).toBe(false)
  await clock.advance(25 * hourMs)
  await clock.finish(averba.settle())
  const lapsed = await Array.fromAsync(averba.log.read({ types: ['consent.lapsed'] }), ({ type }) => type)
  expect(lapsed.length).toBeGreaterThan(0)
  expect(await isWell()).toBe(true)
  expiry = toInstant(clock.now() + 1_000 * hourMs)
  valueOf(await clock.finish(averba.consents.sync({ subject })))
  expect((await averba.consents.standing({ subject, id })).reason).toBe('active')
  expect(await isWell()).toBe(false)
})
