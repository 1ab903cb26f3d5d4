import fc from 'fast-check'
import { expect, test } from 'vitest'
import { applyLifeInput, beginLife, type LifeInput } from '../../../../src/simulation/services/portal/subscription.ts'
import { dayMs } from '../../../../src/vocabulary/instant.ts'

type Input = readonly [type: LifeInput['type'], day: number]

/** Applies inputs, each on its day, to a life that began at zero. */
const lifeAfter = (...inputs: Input[]) =>
  inputs.reduce((life, [type, day]) => applyLifeInput(life, { type, at: day * dayMs }), beginLife(0))
/** The same under the policy that deletes after thirty days without deliveries. */
const silentLifeAfter = (...inputs: Input[]) =>
  inputs.reduce((life, [type, day]) => applyLifeInput(life, { type, at: day * dayMs }, 'delete'), beginLife(0))

test('an input after thirty days of errors does not prevent the deletion', () => {
  const deleted = { state: 'deleted', deletedAt: 30 * dayMs, reason: expect.stringContaining('erros') }
  for (const late of ['deleteRequested', 'deliveryFailed', 'delivered'] as const)
    expect(lifeAfter(['deliveryFailed', 0], [late, 31]), late).toMatchObject(deleted)
})

test('without deliveries a subscription stays, or by policy is deleted after thirty days', () => {
  expect(lifeAfter(['timePassed', 400]).state).toBe('active')
  expect(silentLifeAfter(['timePassed', 29]).state).toBe('active')
  const reason = 'Exclusão automática: nenhuma entrega durante 30 dias'
  expect(silentLifeAfter(['timePassed', 30])).toMatchObject({ state: 'deleted', deletedAt: 30 * dayMs, reason })
  expect(silentLifeAfter(['delivered', 20], ['timePassed', 49]).state).toBe('active')
  expect(silentLifeAfter(['delivered', 20], ['timePassed', 50]).state).toBe('deleted')
})

test('a deletion is final', () => {
  const types = ['deleteRequested', 'delivered', 'deliveryFailed', 'timePassed'] as const
  const inputs = fc.array(fc.tuple(fc.constantFrom(...types), fc.integer({ min: 0, max: 100 })))
  fc.assert(
    fc.property(inputs, given => {
      const last = silentLifeAfter(['deleteRequested', 1], ...given)
      expect(last).toMatchObject({ state: 'deleted', deletedAt: dayMs })
      expect(last.reason).toBeUndefined()
    }),
  )
})

test('it is deleted exactly when thirty days without a success follow an error', () => {
  const step = fc.tuple(fc.constantFrom('delivered', 'deliveryFailed'), fc.integer({ min: 0, max: 12 }))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.integer({ min: 0, max: 40 }), (steps, rest) => {
      let day = 0
      const timed = steps.map(([type, days]) => {
        day += days
        return [type, day] as const
      })
      const end = day + rest
      // The contract's rule: thirty days that begin with an error and have no success.
      const windows = timed.filter(([type, begins], i) => {
        const later = timed.slice(i).filter(([, at]) => at < begins + 30)
        return type === 'deliveryFailed' && later.every(([each]) => each === 'deliveryFailed') && begins + 30 <= end
      })
      const life = lifeAfter(...timed, ['timePassed', end])
      expect(life.state).toBe(windows.length > 0 ? 'deleted' : 'active')
      if (windows[0]) expect(life.deletedAt).toBe((windows[0][1] + 30) * dayMs)
    }),
    { numRuns: 1_000 },
  )
})
