import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { hourMs, minuteMs } from '../../support/pass-time.ts'
import { givenStory } from './story.ts'

const basis = { purpose: 'credit analysis', legalBasis: 'LGPD 7 I' }

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

test.each([
  ['answered by a gateway', 'changes page, revoke deferred', 'changes now, 2 d, settle, list'],
  ['lost', 'changes lost, revoke unknown', 'changes now, 1 h, settle, 1 h, settle, 1 h, list'],
  ['made by the person meanwhile', 'changes busy, revoke deferred', 'person REVOGADO, list, 1 h, list'],
])('a revocation that was asked for while the clock was ahead is over once it is made: %s', async (_, asked, made) => {
  const { play, end } = await givenStory('ATIVO')
  await play(`clock +1 d, ${asked}, clock -1 d, ${made}, is revoked, health ok`)
  await end()
})
