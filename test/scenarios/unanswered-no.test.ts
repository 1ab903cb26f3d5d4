import { expect, test } from 'vitest'
import { eventsOf, givenTroubled } from './given-troubled.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const basis = { purpose: 'credit analysis', legalBasis: 'LGPD 7 I' }

/** A denial or a revocation that is put off, while the consent is unlisted once and listed again with another status. */
async function givenListedAgain(verb: 'deny' | 'revoke') {
  const given = await givenTroubled(verb === 'deny' ? 'PENDENTE' : 'ATIVO')
  const { world, subject, service, which } = given
  const { averba, clock, consentService, samples } = world
  const { consents } = averba
  const ask = () => consents[verb](which, { commandId: 'no' })
  const list = async () => {
    await clock.advance(minuteMs)
    await consents.sync({ subject })
  }
  expect((await ask()).status).toBe('deferred')
  service.hidden = which.id
  await list()
  service.hidden = ''
  if (verb === 'deny') consentService.change(samples.cpf, which.id, 'ATIVO')
  else {
    service.older = which.id
    await list()
    service.older = ''
  }
  await list()
  return { ...given, ask }
}

test.each(['deny', 'revoke'] as const)(
  'while a no of ours is put off, nothing is used of a consent that is listed again with another open status: %s',
  async verb => {
    const { world, service, which, ask } = await givenListedAgain(verb)
    const { averba, clock } = world
    const { consents } = averba
    expect((await consents.standing(which)).because).toBe('uncertain')
    await expect(consents.use(which, { basis })).rejects.toMatchObject({ code: 'CONSENT_NOT_EFFECTIVE' })
    expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
    service.isTroubled = false
    await clock.advance(2 * hourMs)
    await averba.settle()
    expect(service.changes).toBe(1)
    // The table leads from ATIVO to REVOGADO, and not to NEGADO.
    expect((await ask()).status).toBe(verb === 'revoke' ? 'settled' : 'declined')
    await world.close()
  },
)

test("the person's no, given while the consent is not listed, holds when it is listed again as approved", async () => {
  const { world, service, which } = await givenTroubled('PENDENTE')
  const { averba, clock, consentService, samples } = world
  const { consents } = averba
  expect((await consents.approve(which)).status).toBe('deferred')
  service.hidden = which.id
  await consents.sync(which)
  expect((await consents.deny(which)).status).toBe('deferred')
  consentService.change(samples.cpf, which.id, 'ATIVO')
  service.hidden = ''
  await clock.advance(minuteMs)
  await consents.sync(which)
  await expect(consents.use(which, { basis })).rejects.toMatchObject({ standing: { because: 'uncertain' } })
  await world.close()
})

test('a revocation that is made, and whose answer is lost, after lists have shown other things, is settled', async () => {
  const { world, service, which, ask } = await givenListedAgain('revoke')
  const { averba, clock } = world
  service.trouble = 'made and lost'
  await clock.advance(2 * hourMs)
  await averba.settle()
  expect(await ask()).toMatchObject({ status: 'settled', value: { status: 'REVOGADO' } })
  await expect(averba.consents.use(which, { basis })).rejects.toMatchObject({
    standing: { because: 'revoked' },
  })
  await world.close()
})

test('a revocation that was put off does not take what the person gave anew, after an end that was shown', async () => {
  const { world, service, which } = await givenTroubled('ATIVO')
  const { averba, clock, consentService, samples } = world
  const { consents } = averba
  const revoke = () => consents.revoke(which, { commandId: 'r' })
  expect((await revoke()).status).toBe('deferred')
  for (const [status, because] of [
    ['REVOGADO', 'revoked'],
    ['ATIVO', 'active'],
  ] as const) {
    await clock.advance(10 * minuteMs)
    consentService.change(samples.cpf, which.id, status)
    await consents.sync(which)
    expect((await consents.standing(which)).because).toBe(because)
  }
  service.isTroubled = false
  await clock.advance(hourMs)
  await averba.settle()
  expect(service.changes).toBe(0)
  expect((await revoke()).status).toBe('settled')
  expect(await eventsOf(world, 'consent.changeWithheld')).toMatchObject([{ data: { isDone: true } }])
  await consents.sync(which)
  expect((await consents.standing(which)).because).toBe('active')
  await world.close()
})

test.each(['deny', 'revoke'] as const)(
  'a lost no ends by a reading a minute later alone, whatever open status is shown, and is told of: %s',
  async verb => {
    const lines: { message: string }[] = []
    const logger = (line: { message: string }) => void lines.push(line)
    const given = await givenTroubled(verb === 'deny' ? 'PENDENTE' : 'ATIVO', 'busy', { averba: { logger } })
    const { world, service, which } = given
    const { averba, clock, consentService, samples } = world
    const { consents } = averba
    const ask = () => consents[verb](which, { commandId: 'no' })
    const health = async () => (await averba.health({ only: ['consents'] })).checks[0]?.ok
    expect((await ask()).status).toBe('deferred')
    if (verb === 'revoke') {
      service.older = which.id
      await consents.sync(which)
      service.older = ''
    }
    service.trouble = 'lost'
    await clock.advance(hourMs)
    await averba.settle()
    if (verb === 'deny') consentService.change(samples.cpf, which.id, 'ATIVO')
    await clock.advance(5_000)
    await consents.sync(which)
    await averba.settle()
    expect((await consents.standing(which)).because).toBe('uncertain')
    await expect(consents.use(which, { basis })).rejects.toMatchObject({ code: 'CONSENT_NOT_EFFECTIVE' })
    expect((await ask()).status).toBe('unknown')
    expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
    await clock.advance(minuteMs)
    await averba.settle()
    expect(await ask()).toMatchObject({ status: 'declined', problem: { code: 'NOT_DONE' } })
    expect((await consents.standing(which)).because).toBe('active')
    expect(await eventsOf(world, 'consent.changeNotMade')).toHaveLength(1)
    expect(lines.filter(({ message }) => message.includes('was not made'))).toHaveLength(1)
    expect(await health()).toBe(false)
    service.isTroubled = false
    expect((await consents.revoke(which)).status).toBe('settled')
    expect(await health()).toBe(true)
    expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
    await world.close()
  },
)

test('a denial that was not made is told of by health once somebody has approved the consent, and not before', async () => {
  const { world, which } = await givenTroubled('PENDENTE', 'lost')
  const { averba, clock, consentService, samples } = world
  const health = async () => (await averba.health({ only: ['consents'] })).checks[0]
  await averba.consents.deny(which)
  await clock.advance(minuteMs)
  await averba.settle()
  expect(await health()).toMatchObject({ ok: true })
  consentService.change(samples.cpf, which.id, 'ATIVO')
  await averba.consents.sync(which)
  await averba.settle()
  expect(await health()).toMatchObject({ ok: false, detail: expect.stringContaining('revoke it') })
  await world.close()
})

test('what the last change came to is said where another one is refused, with the time from which a reading tells', async () => {
  const { world, which } = await givenTroubled('ATIVO', 'lost')
  const { consents } = world.averba
  expect((await consents.revoke(which)).status).toBe('unknown')
  await expect(consents.revoke(which)).rejects.toThrow(
    'the last change may have been made: a reading tells from 2026-11-20T12:01:00.000Z on',
  )
  await world.close()
})
