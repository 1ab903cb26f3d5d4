import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { checkOf } from '../../support/check-of.ts'
import { isList } from '../../support/consent-requests.ts'
import { hourMs, minuteMs } from '../../support/pass-time.ts'
import { refuses } from '../../support/refuses.ts'
import { consentServiceWith, openWorld } from '../../support/world.ts'
import { basis } from './story.ts'

const otherCnpj = '00000000000191'
const ofOne = { cnpj: '12ABC34501DE35' }

/** A person with a consent of ours and one of another controller, both read an hour ago. */
async function given(option: { cnpj?: string } = {}) {
  const queries: string[] = []
  const lacking = new Set<string>()
  /** What the service shows as controller, if not the controller. */
  const shown: { controller?: null } = {}
  const world = await openWorld({
    averba: { consentService: consentServiceWith(option) },
    async intercept(request, forward) {
      const answer = await forward(request)
      if (!isList(request)) return answer
      queries.push(new URL(request.url).search)
      const records = (await answer.json()) as { id: string }[] // The service lists records.
      const listed = records.filter(({ id }) => !lacking.has(id))
      return Response.json(listed.map(each => ('controller' in shown ? { ...each, cnpjUsuario: null } : each)))
    },
  })
  const { averba, clock, samples } = world
  const { cnpj } = samples
  const cpf = '11144477735'
  const add = (cnpj: string) => world.consentService.addConsent({ cpf, cnpj, status: 'ATIVO' })
  const ids = { ours: add(cnpj), theirs: add(otherCnpj) }
  const subject = await averba.consents.enrol({ cpf })
  const use = (id: string, ageMaxMs?: number) =>
    averba.consents.use({ subject, id, ...(ageMaxMs !== undefined && { ageMaxMs }) }, { basis }).then(
      ({ reason }) => reason,
      error => error.standing.reason,
    )
  const isFresh = async () => (await checkOf(averba, 'consents'))?.ok
  const sync = async (cnpj?: string) => valueOf(await averba.consents.sync({ subject, ...(cnpj && { cnpj }) }))
  await sync()
  await clock.advance(hourMs)
  queries.length = 0
  return { averba, clock, cnpj, cpf, ids, isFresh, lacking, queries, shown, subject, sync, use, world }
}

test('a list of one controller says nothing of the others', async () => {
  const { averba, cnpj, ids, queries, subject, sync, use } = await given()
  const [before] = await averba.consents.list({ subject, cnpj: otherCnpj })
  expect(await sync(cnpj)).toMatchObject({ read: 1, changed: 0 })
  expect(queries).toEqual([`?cnpj=${cnpj}`])
  // What the list lacks is neither missing nor newly confirmed.
  expect(await averba.consents.list({ subject, cnpj: otherCnpj })).toEqual([before])
  const [ours] = await averba.consents.list({ subject, cnpj, ageMaxMs: minuteMs })
  expect(Date.parse(ours?.readAt ?? '') - Date.parse(before?.readAt ?? '')).toBe(hourMs)
  expect(queries).toHaveLength(1)
  expect(await use(ids.ours, minuteMs)).toBe('active')
  expect(queries).toHaveLength(1)
  // Theirs is an hour old, so it is read first, for all controllers.
  expect(await use(ids.theirs, minuteMs)).toBe('active')
  expect(queries.slice(1)).toEqual([''])
})

test('what a list of one controller lacks is missing if that controller has it', async () => {
  const { averba, cnpj, ids, lacking, subject, sync, use } = await given()
  lacking.add(ids.ours).add(ids.theirs)
  await sync(cnpj)
  expect(await use(ids.ours)).toBe('vanished')
  expect(await use(ids.theirs)).toBe('active')
  await sync()
  expect(await averba.consents.list({ subject })).toEqual([])
})

test('a host of one controller sends its CNPJ with every list, on a schedule and for awareness records too', async () => {
  const { averba, clock, cnpj, cpf, ids, isFresh, queries, subject, sync, use, world } = await given(ofOne)
  world.consentService.addAwareness({ cpf, cnpj })
  world.consentService.addAwareness({ cpf, cnpj: otherCnpj })
  expect(await averba.awareness.list({ subject })).toHaveLength(1)
  await averba.consents.schedule({ subject }, { syncEveryMs: hourMs })
  await clock.finish(averba.settle())
  await clock.advance(2 * minuteMs)
  expect(await use(ids.ours, minuteMs)).toBe('active')
  expect(queries).toEqual([`?cnpj=${cnpj}`, `?cnpj=${cnpj}`])
  expect(await isFresh()).toBe(true)
  await sync(otherCnpj)
  expect(await use(ids.theirs)).toBe('active')
  expect(queries.slice(2)).toEqual([`?cnpj=${otherCnpj}`])
  // One that asks for another controller reads that one.
  expect((await averba.consents.list({ subject })).map(({ id }) => id)).toEqual([ids.ours])
  await clock.advance(hourMs)
  expect(await averba.consents.list({ subject, cnpj: otherCnpj, ageMaxMs: minuteMs })).toHaveLength(1)
  await clock.advance(2 * minuteMs)
  expect(await use(ids.theirs, minuteMs)).toBe('active')
  expect(queries.slice(3)).toEqual([`?cnpj=${otherCnpj}`, `?cnpj=${otherCnpj}`])
  expect(await averba.awareness.list({ subject, cnpj: otherCnpj, ageMaxMs: 0 })).toHaveLength(1)
})

test('a record of such a list is of that controller, even if the service does not say so', async () => {
  const { cnpj, ids, lacking, shown, sync, use, queries } = await given(ofOne)
  shown.controller = null
  await sync()
  expect(await use(ids.ours, minuteMs)).toBe('active')
  expect(queries).toEqual([`?cnpj=${cnpj}`])
  lacking.add(ids.ours)
  await sync()
  expect(await use(ids.ours)).toBe('vanished')
})

test('a later list of another controller makes nothing older, and ends no delay of the schedule', async () => {
  const { averba, clock, cnpj, isFresh, subject, sync } = await given(ofOne)
  await averba.consents.schedule({ subject }, { syncEveryMs: hourMs })
  await clock.finish(averba.settle())
  const [before] = await averba.consents.list({ subject, cnpj })
  await clock.advance(2.9 * hourMs)
  await sync(otherCnpj)
  expect(await averba.consents.list({ subject, cnpj })).toEqual([before])
  expect(await isFresh()).toBe(true)
  await clock.advance(0.2 * hourMs)
  expect(await isFresh()).toBe(false)
})

test('a schedule that begins long after a list has its own three intervals', async () => {
  const { averba, clock, isFresh, subject } = await given()
  await clock.advance(48 * hourMs)
  await averba.consents.schedule({ subject }, { syncEveryMs: hourMs })
  expect(await isFresh()).toBe(true)
  await clock.advance(3.1 * hourMs)
  expect(await isFresh()).toBe(false)
})

test('a CNPJ that is none is refused without a request, by sync and as an option', async () => {
  const { queries, sync } = await given()
  await refuses('INVALID_CNPJ', sync('12ABC34501DE36'))
  expect(queries).toEqual([])
  await refuses('MISCONFIGURED', given({ cnpj: '12.ABC.345/01DE-35' }))
})
