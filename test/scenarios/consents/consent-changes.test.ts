import { expect, test, vi } from 'vitest'
import { type Recorded, valueOf } from '../../../src/index.ts'
import type { World } from '../../../src/simulation/index.ts'
import { ViewReader } from '../../../src/store/views/view-reader.ts'
import { toInstant } from '../../../src/vocabulary/instant.ts'
import { eventsOf } from '../../support/events-of.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { minuteMs } from '../../support/pass-time.ts'
import { refuses } from '../../support/refuses.ts'

const eventsAfter = ({ averba }: World, after: number): Promise<Recorded[]> =>
  Array.fromAsync(averba.log.read({ after }))

test('an approval and a revocation between two readings give both events with service times', async () => {
  const { averba, clock, consentService, samples, subject, consent, world } = await givenConsent('PENDENTE')
  const { position: since } = await averba.figures()
  await clock.advance(minuteMs)
  const approvedAt = toInstant(clock.now())
  consentService.change(samples.cpf, consent.id, 'ATIVO')
  await clock.advance(minuteMs)
  const revokedAt = toInstant(clock.now())
  consentService.change(samples.cpf, consent.id, 'REVOGADO')
  await clock.advance(minuteMs)
  expect(valueOf(await averba.consents.sync({ subject }))).toMatchObject({ changed: 1 })
  const recorded = (await eventsAfter(world, since)).filter(event => event.type.startsWith('consent.'))
  const types = ['changeSeen', 'detailRequested', 'described', 'approved', 'revoked'].map(each => `consent.${each}`)
  expect(recorded.map(event => [event.type, event.anomaly])).toEqual(types.map(type => [type, undefined]))
  const now = toInstant(clock.now())
  expect(recorded.slice(3).map(event => event.data)).toEqual([
    { status: 'ATIVO', by: 'service', since: approvedAt },
    { status: 'REVOGADO', by: 'service', since: revokedAt, askedAt: now, answeredAt: now },
  ])
  const revoked = await averba.consents.list({ subject, status: 'REVOGADO' })
  expect(revoked).toMatchObject([{ id: consent.id, knowledge: 'known' }])
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})

test('a reading without changes is two events of the subject; concurrent callers share one, and a fresh one is enough', async () => {
  const { averba, clock, subject, which, world } = await givenConsent('ATIVO')
  const { consents } = averba
  const { position: since } = await averba.figures()
  const reading = ['subject.syncRequested', 'subject.synced'].map(type => [type, `subject-${subject}`, undefined])
  const recorded = async () => (await eventsAfter(world, since)).map(({ type, stream, parts }) => [type, stream, parts])
  expect(valueOf(await consents.sync({ subject }))).toMatchObject({ read: 4, changed: 0 })
  expect(await recorded()).toEqual(reading)
  await clock.advance(2 * minuteMs)
  const [fresh, all] = [
    { ...which, ageMaxMs: minuteMs },
    { subject, ageMaxMs: minuteMs },
  ]
  await Promise.all(Array.from({ length: 20 }, () => [consents.list(all), consents.standing(fresh)]).flat())
  await consents.standing(fresh)
  expect(await recorded()).toEqual([...reading, ...reading])
  await clock.advance(2 * minuteMs)
  const first = consents.standing(fresh)
  // The row that the next caller looks at is older than this reading, and arrives after its end.
  vi.spyOn(ViewReader.prototype, 'find').mockImplementationOnce(() => first.then(() => undefined))
  await consents.list(all)
  expect(await recorded()).toEqual([...reading, ...reading, ...reading])
})

test('reason and evidence of a decision are sealed under the subject with the requesting event', async () => {
  const { averba, samples, subject, which, world } = await givenConsent('ATIVO')
  const evidence = { channel: 'app', screen: 'Maria de Exemplo', clicks: 2, rate: 0.5 }
  const actor = { kind: 'subject', ref: subject } as const
  const why = { reason: `pedido de ${samples.cpf}`, evidence, actor, commandId: 'r1' }
  await averba.consents.revoke(which, why)
  const [asked] = await eventsOf(world, 'consent.changeRequested')
  expect(asked?.parts).toMatchObject([{ name: 'why', owner: `subject-${subject}` }])
  expect(JSON.stringify(await eventsAfter(world, 0))).not.toMatch(/Maria|25774435016/)
  expect(await averba.consents.revoke(which, why)).toMatchObject({ status: 'settled', replayed: true })
  await refuses('COMMAND_REUSED', averba.consents.revoke(which, { reason: 'outro', commandId: 'r1' }))
  const loop: { self?: object } = {}
  loop.self = loop
  for (const wrong of [{ evidence: loop }, { evidence: 'x'.repeat(70_000) }, { reason: 7 as never }, { reason: ' ' }])
    await refuses('INVALID_INPUT', averba.consents.revoke(which, wrong))
})
