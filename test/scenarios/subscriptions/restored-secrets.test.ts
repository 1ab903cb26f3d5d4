import { copyFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { backupStore, restoreStore, valueOf } from '../../../src/index.ts'
import { applyPlan, callPortal, openBeside, secretsAt, statusOf } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'
import { evento } from './story.ts'

const options = {
  subscriptions: [{ evento }],
  receiver: { publicUrl: 'https://receptor.exemplo.br/averba', secretFrom: 'm'.repeat(32) },
}

/** A log restored from before the rotations; the first secret has leaked since. */
async function given(rotations: number) {
  const world = await openWorld()
  const [store, restored] = [temporaryStore(), temporaryStore()]
  const before = await openBeside(world, { store, ...options })
  await applyPlan(before)
  const leaked = (await secretsAt(world))[evento] ?? ''
  await backupStore({ store, to: `${store}.backup` })
  for (let made = 0; made < rotations; made++) valueOf(await before.subscriptions.rotate(evento))
  await before.close()
  copyFileSync(`${store}.keys`, `${restored}.keys`)
  await restoreStore({ backup: `${store}.backup`, store: restored, acceptRollback: true, clock: world.clock })
  const averba = await openBeside(world, { store: restored, ...options })
  return { world, averba, leaked, current: (await secretsAt(world))[evento] ?? '' }
}

test.each([1, 2, 20])('a secret rotated %i times since a backup is never rotated back', async rotations => {
  const { world, averba, leaked, current } = await given(rotations)
  const plan = await averba.subscriptions.plan()
  expect(plan.changes).toMatchObject([{ action: 'leave', reason: 'it is as declared' }])
  expect(await averba.subscriptions.list()).toMatchObject([
    { generation: rotations + 1, areSecretsOurs: true, state: 'active' },
  ])
  await world.clock.advance(2_000) // What the receiver knows is a second old at most.
  expect(await statusOf(averba, current)).toBe(200)
  expect(await statusOf(averba, leaked)).toBe(401)
  await applyPlan(averba)
  expect((await secretsAt(world))[evento]).toBe(current)
  valueOf(await averba.subscriptions.rotate(evento))
  expect((await averba.subscriptions.list())[0]).toMatchObject({ generation: rotations + 2 })
})

test('a subscription deleted since a backup is registered without an earlier secret', async () => {
  const { world, averba, leaked, current } = await given(2)
  const id = (await averba.subscriptions.list())[0]?.id
  await callPortal(world, 'DELETE', { id }, `/${id}`)
  await applyPlan(averba)
  expect(await averba.subscriptions.list()).toMatchObject([{ state: 'active', generation: 3 }])
  expect((await secretsAt(world))[evento]).toBe(current)
  await world.clock.advance(2_000)
  expect(await statusOf(averba, leaked)).toBe(401)
})
