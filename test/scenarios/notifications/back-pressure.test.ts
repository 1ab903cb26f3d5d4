import { expect, test, vi } from 'vitest'
import { Engine } from '../../../src/engine/engine.ts'
import type { DecisionRequest } from '../../../src/engine/recording/decisions.ts'
import { notify } from '../../support/notify.ts'
import { openEngine } from '../../support/world.ts'

test('a notification beyond the write queue is answered 503, and accepted when it is sent again', async () => {
  const recording = vi.spyOn(Engine.prototype, 'record')
  const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', sources: 'any' } as const
  const averba = await openEngine({ store: ':memory:', receiver })
  const statusOf = async (n: number) => (await notify(averba, { n })).status
  expect(await statusOf(1)).toBe(200)
  const [engine = expect.fail('Nothing was recorded')] = recording.mock.contexts as Engine[] // That of averba.
  const held = Promise.withResolvers<DecisionRequest>()
  const all = Array.from({ length: 10_000 }, () => engine.record(() => held.promise))
  expect(await statusOf(2)).toBe(503)
  expect((await averba.figures()).underWay.facts).toEqual({ count: 10_000, max: 10_000 })
  held.resolve({ targets: [] })
  await Promise.all(all)
  expect(await statusOf(2)).toBe(200)
  const kept = await averba.views.selectFrom('notifications').select('notification').execute()
  expect(kept).toHaveLength(2)
})
