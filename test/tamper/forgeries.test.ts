import { expect, test } from 'vitest'
import { givenConsent } from '../support/given-consent.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { useDatabase, withoutGuards } from '../support/use-database.ts'
import { tryForgeries } from './forgeries.ts'

test('whatever is forged without the keyring, the engine sends, uses and erases nothing for it, and verify finds it', async () => {
  const tried = await tryForgeries()
  expect(tried.length).toBeGreaterThan(15)
  expect(tried.filter(({ deeds }) => deeds.length > 0)).toEqual([])
  expect(tried.filter(({ found }) => found.length === 0)).toEqual([])
}, 60_000)

test('a revocation still counts when its row has the type of one of many uses', async () => {
  const store = temporaryStore()
  const { averba, which, world } = await givenConsent('ATIVO', undefined, { averba: { store } })
  const basis = { purpose: 'p', legalBasis: 'l' }
  for (let n = 0; n < 105; n++) await averba.consents.use(which, { basis })
  await averba.consents.revoke(which)
  await averba.close()
  const retype = `update event set type = 'consent.used' where type in ('consent.changeRequested', 'consent.revoked')`
  useDatabase(store, database => withoutGuards(database, () => database.exec(retype)))
  const { consents } = await world.restart()
  expect(await consents.standing(which)).toMatchObject({ effective: false, reason: 'revoked' })
  await expect(consents.use(which, { basis })).rejects.toMatchObject({ code: 'CONSENT_NOT_EFFECTIVE' })
})
