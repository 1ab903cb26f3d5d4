import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { expect, test } from 'vitest'
import { simulate } from '../../../src/simulation/index.ts'
import { cpfOf } from '../../crash/cpf-of.ts'

const dayMs = 86_400_000

test('every expired consent lapses exactly once, however many there are', async () => {
  const store = join(mkdtempSync(join(tmpdir(), 'averba-lapsing-')), 'log.sqlite')
  const policies = { consentService: { expiry: 'never' } } as const
  const world = await simulate({ averba: { store, schedules: true }, policies })
  const { averba, clock, consentService } = world
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
  await clock.advance(dayMs)
  await averba.settle()
  expect(new Set(lapsed).size).toBe(450)
  expect(await ends()).toHaveLength(5)
  await clock.advance(2 * dayMs)
  await averba.settle()
  await averba.settle()
  expect(lapsed).toHaveLength(455)
  const left = averba.views.selectFrom('consents').select('consent').where('lapses_at', 'is not', null)
  expect(await left.execute()).toEqual([])
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  await world.close()
})

test('an index finds the expiring consents, also after a rebuild of the view', async () => {
  const store = join(mkdtempSync(join(tmpdir(), 'averba-lapsing-')), 'log.sqlite')
  const world = await simulate({ averba: { store } })
  const planOf = () => {
    const database = new Sqlite(store, { readonly: true })
    const sql = 'explain query plan select consent from consents where lapses_at <= ? order by lapses_at'
    const plan = database.prepare<[string], { detail: string }>(sql).all('2027')
    database.close()
    return plan.map(step => step.detail)
  }
  const searched = [expect.stringMatching(/^SEARCH consents USING INDEX consents_lapses_at/)]
  expect(planOf()).toEqual(searched)
  for (let times = 0; times < 2; times++) {
    await world.averba.rebuild()
    expect(planOf()).toEqual(searched)
  }
  await world.close()
})
