import { expect, test } from 'vitest'
import { valueOf } from '../../src/index.ts'
import { givenConsent } from './given-consent.ts'

const hourMs = 3_600_000
const isDetail = ({ method, url }: Request) => method === 'GET' && /consentimentos\/\d+\/\w+$/.test(url)

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
  const because = async () => {
    // Of the instant of a reading its history tells.
    await clock.advance(1)
    return (await averba.consents.standing(which)).because
  }
  await pass(1)
  consentService.change(samples.cpf, consent.id, 'REVOGADO')
  await pass(1)
  expect(await because()).toBe('revoked')
  told.answer = answer
  consentService.change(samples.cpf, consent.id, 'ATIVO')
  const requests = async () => {
    const events = []
    for await (const event of averba.log.read({ types: ['consent.detailRequested'] })) events.push(event)
    return events
  }
  return { world, which, told, pass, because, requests }
}

test('a consent whose history ends it is read in full again, also long after that was given up', async () => {
  const { world, told, pass, because, requests } = await givenBack(() => Response.json({}, { status: 500 }))
  await pass(24 * 4)
  expect(await because()).toBe('uncertain')
  const owed = await requests()
  expect(owed.length).toBeGreaterThanOrEqual(2)
  expect(owed.length).toBeLessThanOrEqual(4)
  told.answer = response => response
  await pass(26)
  expect(await because()).toBe('active')
  const { readings } = told
  await pass(24 * 2)
  expect(told.readings).toBe(readings)
  expect((await world.averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  await world.close()
})

test('a history that goes on ending what the lists show is read once a day, and no oftener', async () => {
  const { world, told, pass, because } = await givenBack(async response => {
    const { historico, ...rest } = (await response.json()) as { historico: object[] }
    return Response.json({ ...rest, historico: historico.slice(0, -1) })
  })
  await pass(1)
  expect(await because()).toBe('uncertain')
  const { readings } = told
  await pass(24 * 5)
  expect(told.readings - readings).toBe(5)
  expect(await because()).toBe('uncertain')
  await world.close()
})

test('a reading in full that is declined is owed again a day later', async () => {
  const { world, told, pass, because } = await givenBack(() => Response.json({}, { status: 403 }))
  await pass(24 * 3)
  expect(await because()).toBe('uncertain')
  expect(told.readings).toBeLessThanOrEqual(6)
  told.answer = response => response
  await pass(25)
  expect(await because()).toBe('active')
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
  expect((await world.averba.consents.use(which, { basis })).because).toBe('active')
  await world.close()
})
