import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { isDetail } from '../subscriptions/given-troubled.ts'
import { givenConsent } from './given-consent.ts'

const hourMs = 3_600_000

/** A consent that was read as REVOGADO, while nothing can be read in full any more, and is ATIVO again. */
async function givenBack(answer: (response: Response) => Response | Promise<Response>) {
  const told = { answer: (response: Response): Response | Promise<Response> => response, readings: 0 }
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    const response = await forward(request)
    if (!isDetail(request)) return response
    told.readings += 1
    return told.answer(response)
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
    // Of the instant of a reading its history tells.
    await clock.advance(1)
    return (await averba.consents.standing(which)).reason
  }
  await pass(1)
  consentService.change(samples.cpf, consent.id, 'REVOGADO')
  await pass(1)
  expect(await reason()).toBe('revoked')
  told.answer = answer
  consentService.change(samples.cpf, consent.id, 'ATIVO')
  const requests = async () => {
    const events = []
    for await (const event of averba.log.read({ types: ['consent.detailRequested'] })) events.push(event)
    return events
  }
  return { world, which, told, pass, reason, requests }
}

test('a consent whose history ends it is read in full again, also long after that was given up', async () => {
  const { world, told, pass, reason, requests } = await givenBack(() => Response.json({}, { status: 500 }))
  await pass(24 * 4)
  expect(await reason()).toBe('uncertain')
  const owed = await requests()
  expect(owed.length).toBeGreaterThanOrEqual(2)
  expect(owed.length).toBeLessThanOrEqual(4)
  told.answer = response => response
  await pass(26)
  expect(await reason()).toBe('active')
  const { readings } = told
  await pass(24 * 2)
  expect(told.readings).toBe(readings)
  expect((await world.averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  await world.close()
})

test('a history that goes on ending what the lists show is read once a day, and no oftener', async () => {
  const { world, told, pass, reason } = await givenBack(async response => {
    const { historico, ...rest } = (await response.json()) as { historico: object[] }
    return Response.json({ ...rest, historico: historico.slice(0, -1) })
  })
  await pass(1)
  expect(await reason()).toBe('uncertain')
  const { readings } = told
  await pass(24 * 5)
  expect(told.readings - readings).toBe(5)
  expect(await reason()).toBe('uncertain')
  await world.close()
})

test('a reading in full that is declined is owed again a day later', async () => {
  const { world, told, pass, reason } = await givenBack(() => Response.json({}, { status: 403 }))
  await pass(24 * 3)
  expect(await reason()).toBe('uncertain')
  expect(told.readings).toBeLessThanOrEqual(6)
  told.answer = response => response
  await pass(25)
  expect(await reason()).toBe('active')
  await world.close()
})

test('a clock that was ahead while the history was read puts nothing off', async () => {
  const { world, which, told, pass } = await givenBack(async response => {
    const { historico, ...rest } = (await response.json()) as { historico: object[] }
    return Response.json({ ...rest, historico: historico.slice(0, -1) })
  })
  world.clock.jump(40 * 24 * hourMs)
  await pass(1)
  world.clock.jump(-40 * 24 * hourMs)
  const basis = { purpose: 'credit analysis', legalBasis: 'LGPD 7 I' }
  await expect(world.averba.consents.use(which, { basis })).rejects.toThrow('uncertain')
  told.answer = response => response
  await pass(1)
  expect((await world.averba.consents.use(which, { basis })).reason).toBe('active')
  await world.close()
})

/** A consent whose history is told otherwise, and that was read in full. */
async function givenHistory(tell: (historico: readonly Told[]) => readonly Told[]) {
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    const response = await forward(request)
    if (!isDetail(request)) return response
    const { historico, ...rest } = (await response.json()) as { historico: Told[] }
    return Response.json({ ...rest, historico: tell(historico) })
  })
  const which = { subject, id: consent.id }
  await world.averba.consents.get(which)
  await world.clock.advance(hourMs)
  return { world, which }
}

interface Told {
  readonly status: string
  readonly dataHora: string
}

test.each([
  ['of the former statuses alone', ([first]: readonly Told[]) => first && [{ ...first, status: 'PENDENTE' }]],
  ['without dates', (all: readonly Told[]) => all.map(each => ({ ...each, dataHora: '' }))],
] as const)(
  'what a use rested on is not judged otherwise by a later reading of a history %s',
  async (_, tell) => {
    const { world, which } = await givenHistory(all => tell(all) ?? [])
    const { averba, clock } = world
    const basis = { purpose: 'credit analysis', legalBasis: 'LGPD 7 I' }
    expect((await averba.consents.use(which, { basis })).effective).toBe(true)
    const at = new Date(clock.now()).toISOString()
    await clock.advance(hourMs)
    await averba.consents.get({ ...which, ageMaxMs: 1 })
    await clock.advance(hourMs)
    expect((await averba.consents.standing(which, { at })).reason).toBe('active')
    await world.close()
  },
)

const [before, then] = ['2026-11-19T12:00:00.000Z', '2026-11-20T12:00:00.000Z']
test.each([
  [
    'an end that the order shows to come last',
    ['PENDENTE', 'ATIVO', 'REVOGADO'],
    [before, then, then],
    'uncertain',
  ],
  [
    'an end that the order shows to come first',
    ['PENDENTE', 'REVOGADO', 'ATIVO'],
    [before, then, then],
    'active',
  ],
  ['the same, the newest entry first', ['ATIVO', 'REVOGADO', 'PENDENTE'], [then, then, before], 'active'],
  ['an end that no order shows to come first', ['REVOGADO', 'ATIVO'], [then, then], 'uncertain'],
  ['no end', ['ATIVO', 'PENDENTE'], [then, then], 'active'],
] as const)('of entries with one date counts %s', async (_, statuses, dates, reason) => {
  const { world, which } = await givenHistory(([first]) =>
    statuses.map((status, i) => ({ ...first, status, dataHora: dates[i] ?? '' })),
  )
  expect((await world.averba.consents.standing(which)).reason).toBe(reason)
  await world.close()
})
