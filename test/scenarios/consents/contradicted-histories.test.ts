import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { isDetail } from '../subscriptions/given-troubled.ts'
import { givenConsent } from './given-consent.ts'

const hourMs = 3_600_000

/** A consent read as REVOGADO that is ATIVO again, while no reading in full succeeds. */
async function givenBack(answer: (response: Response) => Response | Promise<Response>) {
  const details = { answer: (response: Response): Response | Promise<Response> => response, readings: 0 }
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    const response = await forward(request)
    if (!isDetail(request)) return response
    details.readings += 1
    return details.answer(response)
  })
  const which = { subject, id: consent.id }
  const { averba, clock, consentService, samples } = world
  const pass = async (hours: number) => {
    for (let passed = 0; passed < hours; passed += 1) {
      await clock.advance(hourMs)
      valueOf(await averba.consents.sync({ subject }))
      await averba.settle()
    }
  }
  const reason = async () => {
    // At the instant of a reading, its history would answer.
    await clock.advance(1)
    return (await averba.consents.standing(which)).reason
  }
  await pass(1)
  consentService.change(samples.cpf, consent.id, 'REVOGADO')
  await pass(1)
  expect(await reason()).toBe('revoked')
  details.answer = answer
  consentService.change(samples.cpf, consent.id, 'ATIVO')
  const requests = async () => {
    const events = []
    for await (const event of averba.log.read({ types: ['consent.detailRequested'] })) events.push(event)
    return events
  }
  return { world, which, details, pass, reason, requests }
}

test('a consent contradicted by its history is read in full again, even after days of failures', async () => {
  const { world, details, pass, reason, requests } = await givenBack(() => Response.json({}, { status: 500 }))
  await pass(24 * 4)
  expect(await reason()).toBe('uncertain')
  const requested = await requests()
  expect(requested.length).toBeGreaterThanOrEqual(2)
  expect(requested.length).toBeLessThanOrEqual(4)
  details.answer = response => response
  await pass(26)
  expect(await reason()).toBe('active')
  const { readings } = details
  await pass(24 * 2)
  expect(details.readings).toBe(readings)
  expect((await world.averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  await world.close()
})

test('a history that keeps contradicting the lists is read only once a day', async () => {
  const { world, details, pass, reason } = await givenBack(async response => {
    const { historico, ...rest } = (await response.json()) as { historico: object[] }
    return Response.json({ ...rest, historico: historico.slice(0, -1) })
  })
  await pass(1)
  expect(await reason()).toBe('uncertain')
  const { readings } = details
  await pass(24 * 5)
  expect(details.readings - readings).toBe(5)
  expect(await reason()).toBe('uncertain')
  await world.close()
})

test('a declined reading in full is pending again a day later', async () => {
  const { world, details, pass, reason } = await givenBack(() => Response.json({}, { status: 403 }))
  await pass(24 * 3)
  expect(await reason()).toBe('uncertain')
  expect(details.readings).toBeLessThanOrEqual(6)
  details.answer = response => response
  await pass(25)
  expect(await reason()).toBe('active')
  await world.close()
})

test('a clock that was ahead while the history was read does not delay the next reading', async () => {
  const { world, which, details, pass } = await givenBack(async response => {
    const { historico, ...rest } = (await response.json()) as { historico: object[] }
    return Response.json({ ...rest, historico: historico.slice(0, -1) })
  })
  world.clock.jump(40 * 24 * hourMs)
  await pass(1)
  world.clock.jump(-40 * 24 * hourMs)
  const basis = { purpose: 'credit analysis', legalBasis: 'LGPD 7 I' }
  await expect(world.averba.consents.use(which, { basis })).rejects.toThrow('uncertain')
  details.answer = response => response
  await pass(1)
  expect((await world.averba.consents.use(which, { basis })).reason).toBe('active')
  await world.close()
})

/** A consent with a changed history, read in full. */
async function givenHistory(change: (historico: readonly HistoryEntry[]) => readonly HistoryEntry[]) {
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    const response = await forward(request)
    if (!isDetail(request)) return response
    const { historico, ...rest } = (await response.json()) as { historico: HistoryEntry[] }
    return Response.json({ ...rest, historico: change(historico) })
  })
  const which = { subject, id: consent.id }
  await world.averba.consents.get(which)
  await world.clock.advance(hourMs)
  return { world, which }
}

interface HistoryEntry {
  readonly status: string
  readonly dataHora: string
}

test.each([
  ['with earlier statuses only', ([first]: readonly HistoryEntry[]) => first && [{ ...first, status: 'PENDENTE' }]],
  ['without dates', (all: readonly HistoryEntry[]) => all.map(each => ({ ...each, dataHora: '' }))],
] as const)('a later history %s does not change the answer for an earlier use', async (_, change) => {
  const { world, which } = await givenHistory(all => change(all) ?? [])
  const { averba, clock } = world
  const basis = { purpose: 'credit analysis', legalBasis: 'LGPD 7 I' }
  expect((await averba.consents.use(which, { basis })).effective).toBe(true)
  const at = new Date(clock.now()).toISOString()
  await clock.advance(hourMs)
  await averba.consents.get({ ...which, ageMaxMs: 1 })
  await clock.advance(hourMs)
  expect((await averba.consents.standing(which, { at })).reason).toBe('active')
  await world.close()
})

const [before, then] = ['2026-11-19T12:00:00.000Z', '2026-11-20T12:00:00.000Z']
test.each([
  ['an end that the order shows to come last', ['PENDENTE', 'ATIVO', 'REVOGADO'], [before, then, then], 'uncertain'],
  ['an end that the order shows to come first', ['PENDENTE', 'REVOGADO', 'ATIVO'], [before, then, then], 'active'],
  ['the same, the newest entry first', ['ATIVO', 'REVOGADO', 'PENDENTE'], [then, then, before], 'active'],
  ['an end that no order shows to come first', ['REVOGADO', 'ATIVO'], [then, then], 'uncertain'],
  ['no end', ['ATIVO', 'PENDENTE'], [then, then], 'active'],
] as const)('of entries with the same date, %s counts', async (_, statuses, dates, reason) => {
  const { world, which } = await givenHistory(([first]) =>
    statuses.map((status, i) => ({ ...first, status, dataHora: dates[i] ?? '' })),
  )
  expect((await world.averba.consents.standing(which)).reason).toBe(reason)
  await world.close()
})
