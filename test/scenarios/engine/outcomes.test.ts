import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { OutcomeError, valueOf } from '../../../src/index.ts'
import { samples } from '../../../src/simulation/index.ts'
import { validate } from '../../support/open-validating.ts'
import { openWorld } from '../../support/world.ts'

test('a command resolves with one of five outcomes, and valueOf returns the value of a settled one only', async () => {
  const { averba, faults } = await openWorld()
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const sync = (options = {}) => averba.consents.sync({ subject }, options)
  const settled = sync()
  const unawaited = expect.objectContaining({ hint: 'Await a promise of one first: valueOf(await promise)' })
  expect(() => valueOf(settled as never)).toThrow(unawaited)
  expect(valueOf(await settled)).toMatchObject({ read: 4 })
  const pending = await sync({ waitMs: 0 })
  await expect.poll(async () => (await averba.effects.get(pending.effect))?.state).toBe('settled')
  await faults.add({ kind: 'status', service: 'consentService', status: 403, times: 1 })
  const declined = await sync()
  await faults.add({ kind: 'status', service: 'consentService', status: 429, retryAfterS: 60, times: 1 })
  const deferred = await sync()
  await faults.add({ kind: 'lose', service: 'validationService', times: 1 })
  const unknown = await validate(averba, 'v1')

  for (const [status, outcome] of Object.entries({ pending, declined, deferred, unknown })) {
    expect(outcome).toMatchObject({ status, effect: expect.stringMatching(/^\w+-\w+\/\d+\/0$/) })
    const taking = () => valueOf<unknown>(outcome)
    expect(taking).toThrow(OutcomeError)
    expect(taking).toThrow(expect.objectContaining({ code: 'OUTCOME', outcome }))
    expect(taking).toThrow(status)
    expect(taking).not.toThrow(samples.cpf)
  }
  const no = { status: 403, code: 'TITULAR-01', title: 'Maria da Silva sem permissão', detail: 'rua 1' }
  const refused = { ...unknown, status: 'declined', problem: no } as const
  expect(() => valueOf(refused)).toThrow(/the outcome is declined with status 403 TITULAR-01$/)
  const printed = inspect(new OutcomeError(refused)) + JSON.stringify(new OutcomeError(refused))
  expect(printed).not.toMatch(/Maria|rua 1/)
  expect(new OutcomeError(refused).outcome).toBe(refused)
  expect(new OutcomeError(refused).hint).toMatch(/outcome\.problem/)
  // Texts of our own, not of a service, may be shown.
  const own = { ...refused, problem: { status: 0, code: 'WITHDRAWN', title: 'Something else was asked for' } }
  expect(() => valueOf(own)).toThrow(/declined as WITHDRAWN Something else was asked for$/)
  const unresolved = expect.objectContaining({
    hint: expect.stringMatching(/not repeated automatically: .* resolve it$/),
  })
  expect(() => valueOf(unknown)).toThrow(unresolved)
  expect(new OutcomeError({ ...unknown, status: 'unknown', next: 'probe' } as const).hint).toMatch(/call run or settle/)
})

test('a time to wait or a signal that is none is refused before anything is recorded', async () => {
  const { averba } = await openWorld()
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const before = await averba.log.end()
  for (const waitMs of [Number.NaN, -1, 0.5])
    await expect(averba.consents.sync({ subject }, { waitMs })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  const signal = new AbortController() as unknown as AbortSignal // As from JavaScript.
  const hint = expect.stringContaining('controller.signal')
  await expect(validate(averba, 'v1', { signal })).rejects.toMatchObject({ code: 'INVALID_INPUT', hint })
  expect(await averba.log.end()).toBe(before)
})
