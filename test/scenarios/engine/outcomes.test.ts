import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { OutcomeError, valueOf } from '../../../src/index.ts'
import { samples } from '../../../src/simulation/index.ts'
import { dayMs, hourMs, passTime } from '../../support/pass-time.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

test('a command resolves with one of five outcomes, and valueOf returns the value of a settled one only', async () => {
  const { averba, faults } = await openWorld()
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const sync = (waitMs?: number) => averba.consents.sync({ subject }, waitMs === undefined ? {} : { waitMs })
  const settled = await sync()
  expect(valueOf(settled)).toMatchObject({ read: 4 })

  const pending = await sync(0)
  await expect.poll(async () => (await averba.effects.get(pending.effect))?.state).toBe('settled')
  await faults.add({ kind: 'status', service: 'consentService', status: 403, times: 1 })
  const declined = await sync()
  await faults.add({ kind: 'status', service: 'consentService', status: 429, retryAfterS: 60, times: 1 })
  const deferred = await sync()
  await faults.add({ kind: 'lose', service: 'validationService', times: 1 })
  const unknown = await averba.validations.validate({ id: 'v1', cpf: samples.cpf, claims: { nome: 'X' } })

  const outcomes = { pending, declined, deferred, unknown }
  for (const [status, outcome] of Object.entries(outcomes)) {
    expect(outcome).toMatchObject({ status, effect: expect.stringMatching(/^\w+-\w+\/\d+\/0$/) })
    const taking = () => valueOf<unknown>(outcome)
    expect(taking).toThrow(OutcomeError)
    expect(taking).toThrow(expect.objectContaining({ code: 'OUTCOME', outcome }))
    expect(taking).toThrow(status)
    expect(taking).not.toThrow(samples.cpf)
  }
  const hintOf = (outcome: typeof unknown) => {
    try {
      return valueOf(outcome)
    } catch (error) {
      return (error as OutcomeError).hint // Only this error is thrown, as shown above.
    }
  }
  const no = { status: 403, code: 'TITULAR-01', title: 'Maria da Silva sem permissão', detail: 'rua 1' }
  const refused = { ...unknown, status: 'declined', problem: no } as const
  expect(() => valueOf(refused)).toThrow(/the outcome is declined with status 403 TITULAR-01$/)
  const printed = inspect(new OutcomeError(refused)) + JSON.stringify(new OutcomeError(refused))
  expect(printed).not.toMatch(/Maria|rua 1/)
  expect(new OutcomeError(refused).outcome).toBe(refused)
  expect(hintOf(refused)).toMatch(/outcome\.problem/)
  // Texts of our own, not of a service, may be shown.
  const own = { ...refused, problem: { status: 0, code: 'WITHDRAWN', title: 'Something else was asked for' } }
  expect(() => valueOf(own)).toThrow(/declined as WITHDRAWN Something else was asked for$/)
  expect(hintOf(unknown)).toMatch(/not repeated automatically: .* resolve it$/)
  expect(hintOf({ ...unknown, status: 'unknown', next: 'probe' })).toMatch(/call run or settle/)
})

test('waitMs that is no whole number of milliseconds is refused before anything is recorded', async () => {
  const { averba } = await openWorld()
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  for (const waitMs of [Number.NaN, -1, 0.5])
    await expect(averba.consents.sync({ subject }, { waitMs })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  expect(await averba.effects.list()).toEqual([])
})

test('after a clock that was a day ahead is corrected, calls are made and retried at their time', async () => {
  const { averba, clock, faults } = await openWorld({ store: temporaryStore() })
  const { consents } = averba
  clock.jump(dayMs)
  const subject = await consents.enrol({ cpf: samples.cpf })
  valueOf(await consents.sync({ subject }))
  clock.jump(-dayMs)
  const [first] = await consents.list({ subject, status: 'PENDENTE' })
  const which = { subject, id: first?.id ?? '' }
  await faults.add({ kind: 'status', service: 'consentService', status: 429, retryAfterS: 60, times: 1 })
  const approved = await consents.approve(which)
  expect(approved.status).toBe('deferred')
  await passTime({ averba, clock }, hourMs)
  expect((await consents.standing(which)).reason).toBe('active')
  valueOf(await consents.revoke(which))
  expect((await averba.effects.list()).filter(each => each.state !== 'settled')).toEqual([])
  expect((await averba.audit.verify()).faults).toEqual([])
})

test('a promise in the place of an outcome is told from one', async () => {
  const { averba } = await openWorld()
  const asked = averba.consents.sync({ subject: await averba.consents.enrol({ cpf: samples.cpf }) })
  expect(() => valueOf(asked as never)).toThrow(
    expect.objectContaining({ hint: 'Await it first: valueOf(await promise)' }),
  )
  await asked
})

test('a signal that is none is refused before anything is recorded', async () => {
  const { averba } = await openWorld()
  const before = await averba.log.end()
  const signal = new AbortController() as unknown as AbortSignal // As from JavaScript.
  const asked = averba.validations.validate({ id: 'v1', cpf: samples.cpf, claims: { nome: 'X' } }, { signal })
  await expect(asked).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    hint: expect.stringContaining('controller.signal') as unknown,
  })
  expect(await averba.log.end()).toBe(before)
})

test('a service may be given longer than ten seconds, and a paid answer is then not in doubt', async () => {
  const outcomes: string[] = []
  for (const timeoutMs of [undefined, 30_000]) {
    const service = { baseUrl: 'https://validacao.exemplo.br', service: 'datavalid-demonstracao' }
    const { averba, clock, faults } = await openWorld({
      averba: { validationService: { ...service, ...(timeoutMs && { timeoutMs }) } },
    })
    await faults.add({ kind: 'delay', service: 'validationService', ms: 12_000, times: 1 })
    const asked = averba.validations.validate({ id: 'v1', cpf: samples.cpf, claims: { nome: 'X' } })
    outcomes.push((await clock.finish(asked)).status)
  }
  expect(outcomes).toEqual(['unknown', 'settled'])
})
