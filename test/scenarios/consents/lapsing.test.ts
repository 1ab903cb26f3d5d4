import { expect, test } from 'vitest'
import { cpfOf } from '../../support/cpf-of.ts'
import { dayMs, passTime } from '../../support/pass-time.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

test('every expired consent lapses exactly once, however many there are', async () => {
  const policies = { consentService: { expiry: 'never' } } as const
  const { averba, clock, consentService } = await openWorld({
    averba: { store: temporaryStore(), schedules: true },
    policies,
  })
  const cpf = cpfOf(7)
  // More than one page, most of them at the same instant.
  for (let n = 0; n < 450; n++) consentService.addConsent({ cpf, status: 'ATIVO', expiresInMs: dayMs })
  for (let n = 0; n < 5; n++) consentService.addConsent({ cpf, expiresInMs: 3 * dayMs })
  await averba.consents.enrol({ cpf })
  await averba.consents.sync({ cpf })
  const lapsed: string[] = []
  averba.on('consent.lapsed', event => lapsed.push(event.stream))
  const untilEnd = new Date(clock.now() + 10 * dayMs).toISOString()
  const ends = async () => (await averba.due(untilEnd)).filter(each => each.what === 'expiry')
  expect(await ends()).toHaveLength(455)
  await passTime({ averba, clock }, dayMs)
  expect(new Set(lapsed).size).toBe(450)
  expect(await ends()).toHaveLength(5)
  await passTime({ averba, clock }, 2 * dayMs)
  await averba.settle()
  expect(lapsed).toHaveLength(455)
  const left = averba.views.selectFrom('consents').select('consent').where('lapses_at', 'is not', null)
  expect(await left.execute()).toEqual([])
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})
