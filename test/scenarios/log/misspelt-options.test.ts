import { expect, test } from 'vitest'
import { serveReceivers } from '../../../src/index.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { refuses } from '../../support/refuses.ts'
import { openWorld } from '../../support/world.ts'
import { basis } from '../consents/story.ts'

/** An untyped host may give anything. */
const untyped = (value: unknown) => value as never

test('a misspelt option is refused instead of ignored', async () => {
  const { world, subject, consent } = await givenConsent('ATIVO')
  const { consents, validations, notifications, effects, log } = world.averba
  const collect = (found: AsyncIterable<unknown>) => Array.fromAsync(found)
  const { cpf } = world.samples
  const which = { subject, id: consent.id }
  const claims = { nome: 'MARIA' }
  const sent = world.requests.length
  const slips: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['ageMaxMS', () => consents.use(untyped({ ...which, ageMaxMS: 1_000 }), { basis })],
    ['ageMaxMs', () => consents.use(which, untyped({ ageMaxMs: 1_000, basis }))],
    ['ageMaxMS', () => consents.standing(untyped({ ...which, ageMaxMS: 1_000 }))],
    ['asOf', () => consents.standing(which, untyped({ asOf: '2026-11-20T12:00:00.000Z' }))],
    ['syncEveryMS', () => consents.enrol({ cpf }, untyped({ syncEveryMS: 60_000 }))],
    ['comandId', () => consents.revoke(which, untyped({ comandId: 'one' }))],
    ['waitMS', () => consents.sync({ subject }, untyped({ waitMS: 0 }))],
    ['timeout', async () => notifications.handle('e', 'erp', async () => undefined, untyped({ timeout: 1 }))],
    ['stat', () => collect(notifications.list(untyped({ stat: 'parked' })))],
    ['stat', () => collect(effects.list(untyped({ stat: 'open' })))],
    ['kinds', async () => collect(log.read(untyped({ kinds: 'consent' })))],
    ['reuseWithinMS', () => validations.validate(untyped({ id: 'v', cpf, claims, reuseWithinMS: 1 }))],
  ]
  for (const [name, slip] of slips) {
    const message = expect.stringContaining(`"${name}"`)
    await refuses('INVALID_INPUT', slip(), { message, hint: expect.stringMatching(/^Known (option|member)s: /) })
  }
  // Personal data in the place of a name is not repeated.
  await expect(consents.sync({ subject }, untyped({ 'MARIA DE EXEMPLO': 1 }))).rejects.toMatchObject({
    message: expect.not.stringContaining('MARIA'),
  })
  expect(world.requests).toHaveLength(sent)
})

test('a call without a person is refused', async () => {
  const { averba } = await openWorld()
  const { consents } = averba
  const expected = { code: 'INVALID_INPUT', message: expect.stringContaining('CPF and ref are missing') }
  for (const who of [undefined, null, '01kc1v7m4d000w3c5y2n8q6r9t', {}]) {
    await expect(consents.sync(untyped(who))).rejects.toMatchObject(expected)
    await expect(consents.list(untyped(who))).rejects.toMatchObject(expected)
  }
})

test.each([
  [{ receivers: { '/averba': { listener: () => undefined } } }, 'there is no certificate'],
  [{ receivers: { '/averba': {} }, certificate: { cert: '', key: '' } }, 'is not a receiver'],
])('a receiver that could not be reached is not served: %j', async (options, why) => {
  const message = expect.stringContaining(why)
  await expect(serveReceivers(untyped(options))).rejects.toMatchObject({ code: 'MISCONFIGURED', message })
})
