import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { foreignAdvice } from '../../../src/vocabulary/foreign-answer.ts'
import { consentServiceWith, openWorld } from '../../support/world.ts'

test('a list above answerBytesMax waits and is told', async () => {
  const lines: string[] = []
  const logger = (line: { message: string }) => lines.push(line.message)
  const consentService = consentServiceWith({ answerBytesMax: 3_000 })
  const world = await openWorld({ averba: { logger, consentService } })
  const { averba, clock } = world
  const { cpf } = world.samples
  const subject = await averba.consents.enrol({ cpf })
  expect(valueOf(await averba.consents.sync({ subject }))).toMatchObject({ read: 4 })
  for (let i = 0; i < 10; i++) world.consentService.addConsent({ cpf })
  const reason = 'ANSWER_TOO_LARGE: the answer is larger than 3000 bytes'
  for (let i = 0; i < 2; i++) {
    const outcome = await averba.consents.sync({ subject })
    expect(outcome).toMatchObject({ status: 'deferred', reason })
    const pending = await averba.effects.get(outcome.effect)
    // As after an answer that is not the service's: the next one is no smaller.
    expect(Date.parse(pending?.dueAt ?? '') - clock.now()).toBeGreaterThanOrEqual(60_000)
  }
  const advice = foreignAdvice.ANSWER_TOO_LARGE
  expect((await averba.health()).checks).toContainEqual({
    name: 'effects',
    ok: false,
    detail:
      `2 calls got an answer that is too large from the consentService (ANSWER_TOO_LARGE): ${advice}; ` +
      'see effects.get; 0 parked, 0 with an unknown outcome',
  })
  expect(lines.filter(line => line.includes(advice))).toEqual([
    `an answer is too large for the consentService: ${advice}`,
  ])
})
