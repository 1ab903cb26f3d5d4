import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { openWorld } from '../../support/world.ts'

const hourMs = 3_600_000
const basis = { purpose: 'credit analysis', legalBasis: 'LGPD 7 I' }

/** A consent read while the clock was ten hours ahead. The clock is right again. */
async function givenReadAhead() {
  const { world, subject, consent } = await givenConsent('ATIVO')
  const { averba, clock } = world
  clock.jump(10 * hourMs)
  valueOf(await averba.consents.sync({ subject }))
  clock.jump(-10 * hourMs)
  return { world, subject, id: consent.id }
}

test('a reading dated ahead by a wrong clock is never fresh', async () => {
  const { world, subject, id } = await givenReadAhead()
  const { averba, clock, consentService, samples } = world
  consentService.change(samples.cpf, id, 'REVOGADO')
  await clock.advance(9.5 * hourMs)
  await expect(averba.consents.use({ subject, id, ageMaxMs: hourMs }, { basis })).rejects.toMatchObject({
    code: 'CONSENT_NOT_EFFECTIVE',
    standing: { reason: 'revoked' },
  })
})

test('a consent just read from the service can be used, however far ahead the clock was', async () => {
  const { world, subject, id } = await givenReadAhead()
  const { averba, clock } = world
  for (let hour = 1; hour < 10; hour++) {
    await clock.advance(hourMs)
    const used = await averba.consents.use({ subject, id, ageMaxMs: 5 * 60_000 }, { basis })
    expect(used).toMatchObject({ effective: true, reason: 'active' })
  }
})

test('a validation dated hours ahead by a wrong clock is not reused', async () => {
  const { averba, clock, samples, validationService } = await openWorld()
  const asked = { cpf: samples.cpf, claims: { nome: 'X' } }
  clock.jump(10 * hourMs)
  valueOf(await averba.validations.validate({ ...asked, id: 'a' }))
  clock.jump(-10 * hourMs)
  await clock.advance(9.5 * hourMs)
  valueOf(await averba.validations.validate({ ...asked, id: 'b', reuseWithinMs: hourMs }))
  expect(validationService.answered).toBe(2)
})
