import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { hourMs, minuteMs } from '../../support/pass-time.ts'
import { basis } from './story.ts'

/** A consent read while the clock was ten hours ahead. The clock is right again. */
async function givenReadAhead() {
  const { world, which } = await givenConsent('ATIVO')
  const { averba, clock } = world
  clock.jump(10 * hourMs)
  valueOf(await averba.consents.sync(which))
  clock.jump(-10 * hourMs)
  return { ...world, which }
}

test('a reading dated ahead by a wrong clock is never fresh', async () => {
  const { averba, clock, consentService, faults, samples, which } = await givenReadAhead()
  const use = () => averba.consents.use({ ...which, ageMaxMs: hourMs }, { basis })
  consentService.change(samples.cpf, which.id, 'REVOGADO')
  await clock.advance(2 * minuteMs)
  await faults.add({ kind: 'refuse', service: 'consentService' })
  expect(await averba.consents.standing({ ...which, ageMaxMs: hourMs })).toEqual({
    effective: false,
    reason: 'stale',
    readAt: expect.any(String),
    position: expect.any(Number),
  })
  await expect(use()).rejects.toMatchObject({ standing: { reason: 'stale' } })
  await faults.clear()
  await clock.advance(9.5 * hourMs)
  await expect(use()).rejects.toMatchObject({ code: 'CONSENT_NOT_EFFECTIVE', standing: { reason: 'revoked' } })
})

test('a consent just read from the service can be used, however far ahead the clock was', async () => {
  const { averba, clock, which } = await givenReadAhead()
  for (let hour = 1; hour < 10; hour++) {
    await clock.advance(hourMs)
    const used = await averba.consents.use({ ...which, ageMaxMs: 5 * minuteMs }, { basis })
    expect(used).toMatchObject({ effective: true, reason: 'active' })
  }
})
