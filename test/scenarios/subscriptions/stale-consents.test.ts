import { expect, test } from 'vitest'
import { cpfOf } from '../../support/cpf-of.ts'
import { dayMs, hourMs } from '../../support/pass-time.ts'
import { consentServiceWith, openWorld } from '../../support/world.ts'

test('consents that are less fresh than configured are logged once a day', async () => {
  const lines: unknown[] = []
  const world = await openWorld({
    averba: {
      schedules: true,
      consentService: consentServiceWith({ requestsPerSecond: 0.000_1 }),
      fetch: async () => new Response('', { status: 503 }),
      logger: line => void lines.push(line),
    },
  })
  await world.averba.consents.enrol({ cpf: cpfOf(1) }, { syncEveryMs: hourMs })
  const told = async () => {
    await world.averba.settle()
    return lines.filter(line => JSON.stringify(line).includes('cannot be read as often as configured')).length
  }
  expect(await told()).toBe(1)
  expect(await told()).toBe(1)
  await world.clock.advance(dayMs)
  expect(await told()).toBe(2)
})
