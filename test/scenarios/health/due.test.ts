import { expect, test } from 'vitest'
import { samples } from '../../../src/simulation/index.ts'
import { answering, busy } from '../../support/answers.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { eventsOf } from '../../support/events-of.ts'
import { dayMs, hourMs, passTime } from '../../support/pass-time.ts'
import { applyPlan, deliver } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const evento = 'dimp-situacao-import'

test('due lists future readings, retries, expiries and deletions', async () => {
  let isDown = false
  const { averba, clock, portal } = await openWorld({
    averba: {
      schedules: true,
      subscriptions: [{ evento, endpoint: 'https://longe.exemplo.br/averba', chaveSecreta: 'segredo' }],
      receiver: { publicUrl: 'https://longe.exemplo.br/averba' },
    },
    // Every delivery is refused, because its secrets are not known here.
    faults: [{ kind: 'wrongSecret' }],
    intercept: answering(
      () => isDown,
      () => busy(7_200),
    ),
  })
  const subject = await averba.consents.enrol({ cpf: samples.cpf }, { syncEveryMs: 10 * dayMs })
  await averba.settle()
  await applyPlan(averba)
  const failedAt = clock.now()
  await deliver({ portal }, {}, evento)
  await averba.subscriptions.failures()
  isDown = true
  const outcome = await averba.consents.sync({ subject })

  const until = (ms: number) => averba.due(new Date(clock.now() + ms).toISOString())
  expect(await until(hourMs)).toEqual([])
  expect(await until(3 * hourMs)).toEqual([
    { what: 'call', at: new Date(clock.now() + 2 * hourMs).toISOString(), id: outcome.effect },
  ])
  const kinds = async (ms: number) => (await until(ms)).map(each => each.what)
  expect(await kinds(dayMs)).toEqual(['call', 'recovery'])
  expect(await kinds(12 * dayMs)).toEqual(['call', 'recovery', 'sync'])
  const inAMonth = await until(31 * dayMs)
  expect(inAMonth.at(-1)).toMatchObject({ what: 'deletion', id: expect.stringMatching(/^subscription-/) })
  expect(Math.abs(Date.parse(inAMonth.at(-1)?.at ?? '') - failedAt - 30 * dayMs)).toBeLessThan(1_000)
  const inTwoYears = await until(800 * dayMs)
  expect(inTwoYears.filter(each => each.what === 'expiry')).toHaveLength(4)
  expect(inTwoYears.map(each => each.at)).toEqual(inTwoYears.map(each => each.at).sort())
  await expect(averba.due('amanhã')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
})

test('every expired consent lapses exactly once, however many there are, and keeps the status of the service', async () => {
  const options = {
    averba: { store: temporaryStore(), schedules: true },
    policies: { consentService: { expiry: 'never' } },
  } as const
  const world = await openWorld(options)
  const { averba, clock, consentService } = world
  const cpf = cpfOf(7)
  // More than one page, most of them at the same instant.
  for (let n = 0; n < 250; n++) consentService.addConsent({ cpf, status: 'ATIVO', expiresInMs: dayMs })
  for (let n = 0; n < 5; n++) consentService.addConsent({ cpf, expiresInMs: 3 * dayMs })
  await averba.consents.enrol({ cpf })
  await averba.consents.sync({ cpf })
  const lapsed: { stream: string; data: object }[] = []
  averba.on('consent.lapsed', event => lapsed.push(event))
  const untilEnd = new Date(clock.now() + 10 * dayMs).toISOString()
  const ends = async () => (await averba.due(untilEnd)).filter(each => each.what === 'expiry')
  expect(await ends()).toHaveLength(255)
  await passTime(world, dayMs)
  expect(new Set(lapsed.map(({ stream }) => stream)).size).toBe(250)
  expect(await ends()).toHaveLength(5)
  await passTime(world, 2 * dayMs)
  await averba.settle()
  // Another process looks too, and adds no event.
  const other = await openWorld({ ...options, seed: 2, averba: { ...options.averba, clock } })
  await other.averba.settle()
  expect(await eventsOf(other, 'consent.lapsed')).toHaveLength(255)
  const consents = await averba.consents.list({ cpf })
  expect(lapsed.map(({ data }) => data)).toEqual(consents.map(({ dataExpiracao: expiresAt }) => ({ expiresAt })))
  expect(Map.groupBy(consents, ({ status }) => status).get('ATIVO')).toHaveLength(250)
  const left = averba.views.selectFrom('consents').select('consent').where('lapses_at', 'is not', null)
  expect(await left.execute()).toEqual([])
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})
