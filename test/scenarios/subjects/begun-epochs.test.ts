import { expect, test } from 'vitest'
import { diagnoseStore, type Keys, openAverba, verifyLog } from '../../../src/index.ts'
import { systemEntropy } from '../../../src/runtime/entropy.ts'
import { openKeyring } from '../../../src/vault/keyring.ts'
import { KeyringFile } from '../../../src/vault/keyring-file.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { notify } from '../../support/notify.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine, openWorld } from '../../support/world.ts'

const erasure = { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' }
const receiver = { publicUrl: 'https://receptor.exemplo.br/averba' }

test('an epoch of a process that died does not affect running processes', async () => {
  const store = temporaryStore()
  const { averba, clock, close } = await openWorld({ averba: { store } })
  const deliver = async (to: typeof averba, n: number, toWhom = '11222333000181') =>
    (await notify(to, { n }, { 'destinatario-id': toWhom })).status
  await averba.consents.enrol({ cpf: '25774435016' })
  // The keyring is replaced first; a process that dies then has not recorded it in the log.
  const keyring = await openKeyring(new KeyringFile(`${store}.keys`, systemEntropy), systemEntropy)
  await keyring.beginEpoch(await keyring.prepareEpoch(), 0)
  const later = await openEngine({ store, clock, receiver })
  expect(await deliver(later, 1)).toBe(200)
  // The first event of a commit is staged before the second one turns out to need the other epoch.
  expect(await Promise.all([deliver(averba, 2, '12ABC34501DE35'), deliver(averba, 3)])).toEqual([200, 200])
  expect(await deliver(averba, 4)).toBe(200)
  await later.close()
  await close()
  expect((await verifyLog({ store })).faults).toEqual([])
})

test('a log opens while an erasure begins an epoch after the keyring was read', async () => {
  const turn = async (bytes: Uint8Array) => bytes.map(byte => byte ^ 1)
  const held: Keys = { id: 'kms-1', wrap: turn, unwrap: turn, destroyEpoch: async () => undefined }
  const store = temporaryStore()
  const { averba, clock } = await openWorld({ averba: { store, keys: held } })
  const subject = await averba.consents.enrol({ cpf: '25774435016' })
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const unwrap = async (wrapped: Uint8Array) => {
    asked.resolve()
    await answered.promise
    return turn(wrapped)
  }
  const opening = openAverba({ store, clock, keys: { ...held, unwrap } })
  await asked.promise
  await clock.finish(averba.subjects.erase({ subject }, erasure))
  answered.resolve()
  const later = await opening
  expect((await later.health({ only: ['store'] })).ready).toBe(true)
})

test('persons who are erased at the same time take nothing from the others', async () => {
  const store = temporaryStore()
  const { averba, close } = await openWorld({ averba: { store } })
  const cpfs = Array.from({ length: 24 }, (_, i) => cpfOf(i + 1))
  const subjects = await Promise.all(cpfs.map(cpf => averba.consents.enrol({ cpf })))
  const erased = subjects.slice(0, 8)
  await Promise.all(erased.map(subject => averba.subjects.erase({ subject }, erasure)))
  await averba.settle()
  await averba.settle()
  await close()
  const again = await openEngine({ store, receiver })
  for (const [i, subject] of subjects.entries()) {
    const reveal = { actor: { kind: 'system', ref: 'test' }, purpose: 'x' } as const
    const report = again.subjects.report({ subject }, { reveal })
    if (i < erased.length) await expect(report).resolves.toBeDefined()
    else expect(JSON.stringify(await report)).toContain(cpfs[i])
  }
  await again.close()
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
})
