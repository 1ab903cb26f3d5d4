import { expect, test } from 'vitest'
import { givenConsent } from '../../support/given-consent.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'

test('a command leaves a receipt, and its id in the header, only under an id of the host', async () => {
  const store = temporaryStore()
  const { world, which } = await givenConsent('ATIVO', undefined, { store })
  const { averba } = world
  const receipts = () => useDatabase(store, file => file.column('select command_id from receipt'))
  const size = async () => (await Array.fromAsync(averba.log.read())).length
  expect(receipts()).toEqual([])
  const before = await size()
  // Refused by the contract's table: nothing is written of it.
  await expect(averba.consents.approve(which)).rejects.toMatchObject({ code: 'REFUSED' })
  expect([receipts(), await size()]).toEqual([[], before])
  await expect(averba.consents.approve(which, { commandId: 'c-1' })).rejects.toMatchObject({ code: 'REFUSED' })
  const basis = { purpose: 'p', legalBasis: 'l' }
  await averba.consents.use(which, { basis })
  await averba.consents.use(which, { basis, commandId: 'c-2' })
  expect(receipts()).toEqual(['c-1', 'c-2'])
  const used = await Array.fromAsync(averba.log.read({ types: ['consent.used'] }))
  expect(used.map(({ commandId }) => commandId)).toEqual([undefined, 'c-2'])
})
