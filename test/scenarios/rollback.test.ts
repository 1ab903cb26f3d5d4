import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { UnsentError } from '../../src/adapters/transport.ts'
import { type Averba, backupStore, restoreStore, valueOf, verifyLog } from '../../src/index.ts'
import { samples, simulate, VirtualClock } from '../../src/simulation/index.ts'
import { newPath } from '../store/sample-store.ts'

/** A world on a file whose services can be out of reach, so that what is asked of them stays owed. */
async function openWorld(store: string, seed = 1) {
  const sent: string[] = []
  const reach = { isOpen: true }
  const world = await simulate({
    seed,
    averba: { store, schedules: false },
    async intercept(request, forward) {
      if (!reach.isOpen) throw new UnsentError('The service is out of reach')
      sent.push(`${request.method} ${new URL(request.url).hostname}`)
      return forward(request)
    },
  })
  return { ...world, sent, reach }
}

const validate = (averba: Averba, id: string) =>
  averba.validations.validate({ id, cpf: samples.cpf, claims: { nome: 'X' } })

/** A log that was backed up while a paid call and a reading were owed, and went on after that. */
async function backedUp() {
  const store = newPath()
  const world = await openWorld(store)
  const { averba, reach } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await averba.consents.sync({ subject }))
  valueOf(await validate(averba, 'paid-1')) // The token is there.
  reach.isOpen = false
  expect(await validate(averba, 'paid-2')).toMatchObject({ status: 'deferred' })
  expect(await averba.consents.sync({ subject })).toMatchObject({ status: 'deferred' })
  const backup = `${store}.backup`
  await backupStore({ store, to: backup })
  reach.isOpen = true
  await world.clock.advance(60 * 60_000)
  await averba.settle()
  expect((await averba.validations.get('paid-2'))?.state).toBe('answered')
  await world.close()
  const keys = readFileSync(`${store}.keys`)
  for (const end of ['', '-wal', '-shm']) rmSync(`${store}${end}`, { force: true })
  return { store, backup, keys }
}

test('a backup behind the mark is restored only when the rollback is accepted', async () => {
  const { store, backup } = await backedUp()
  await expect(restoreStore({ backup, store })).rejects.toMatchObject({
    code: 'ROLLED_BACK',
    hint: expect.stringContaining('--accept-rollback'),
  })
  const restored = await restoreStore({ backup, store, acceptRollback: true, clock: new VirtualClock() })
  expect(restored.resumedAs).not.toBe(restored.origin)
  const verdict = await verifyLog({ store })
  expect(verdict).toMatchObject({ level: 'held', faults: [], origin: restored.resumedAs })
  // The new name is linked to the old one, and names what is lost.
  const world = await openWorld(store)
  const resumed = []
  for await (const event of world.averba.log.read({ types: ['log.resumed'] })) resumed.push(event)
  expect(resumed).toHaveLength(1)
  expect(resumed[0]?.data).toMatchObject({
    origin: restored.resumedAs,
    before: restored.origin,
    size: restored.position,
    lost: { size: expect.any(Number) },
  })
  await world.close()
})

test('what was owed when the backup was made becomes unknown and is not paid again; readings are made', async () => {
  const { store, backup } = await backedUp()
  await restoreStore({ backup, store, acceptRollback: true, clock: new VirtualClock() })
  // Another gateway: the first token of the same one would be the one that is held.
  const world = await openWorld(store, 2)
  await world.clock.advance(24 * 60 * 60_000)
  await world.averba.settle()
  expect((await world.averba.validations.get('paid-2'))?.state).toBe('inconclusive')
  expect(world.sent.filter(each => each.includes('validacao'))).toEqual([])
  expect(world.sent.filter(each => each.includes('consentimento'))).not.toEqual([])
  // What is asked for from now on goes its way.
  valueOf(await validate(world.averba, 'paid-3'))
  await world.close()
  expect(await verifyLog({ store })).toMatchObject({ level: 'held', faults: [] })
})

test('what was owed when the backup was made and ended with an erasure is in doubt: it may have been paid', async () => {
  const { store, backup } = await backedUp()
  await restoreStore({ backup, store, acceptRollback: true, clock: new VirtualClock() })
  const { averba, close } = await openWorld(store, 2)
  await averba.subjects.erase({ cpf: samples.cpf }, { requester: 'pedido-1', legalBasis: 'LGPD 18 VI' })
  expect(await validate(averba, 'paid-2')).toMatchObject({ status: 'unknown', next: 'person' })
  await close()
})

test('a restore whose own mark was not written yet is opened all the same', async () => {
  const { store, backup } = await backedUp()
  copyFileSync(`${store}.mark`, `${store}.lost`)
  await restoreStore({ backup, store, acceptRollback: true, clock: new VirtualClock() })
  writeFileSync(`${store}.mark`, readFileSync(`${store}.lost`))
  const world = await openWorld(store)
  await world.close()
  expect(await verifyLog({ store })).toMatchObject({ level: 'held', faults: [] })
})
