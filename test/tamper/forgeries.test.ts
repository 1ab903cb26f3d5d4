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

test('a revocation still counts when its row has the type of one of many uses, and is missed when it is moved', async () => {
  const store = temporaryStore()
  const { averba, which, world } = await givenConsent('ATIVO', undefined, { averba: { store } })
  for (let n = 0; n < 105; n++) await averba.consents.use(which, { basis: { purpose: 'p', legalBasis: 'l' } })
  await averba.consents.revoke(which)
  const reopenWith = async (change: string) => {
    await world.averba.close()
    const sql = `update event set ${change} where header like '%"type":"consent.changeRequested"%' or header like '%"type":"consent.revoked"%'`
    useDatabase(store, database => withoutGuards(database, () => database.exec(`pragma foreign_keys = off; ${sql}`)))
    return (await world.restart()).consents
  }
  const retyped = await reopenWith("type = 'consent.used'")
  expect(await retyped.standing(which)).toMatchObject({ effective: false, reason: 'revoked' })
  await expect(retyped.revoke(which)).rejects.toMatchObject({ code: 'REFUSED' })
  const moved = await reopenWith('stream = 1, version = 1000 + position')
  for (const ask of [moved.standing, moved.revoke]) await expect(ask(which)).rejects.toThrow(/vents of .* are missing$/)
})
