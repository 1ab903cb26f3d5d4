import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  applyLifeInput,
  beginLife,
  type LifeInput,
  type SubscriptionLife,
} from '../../../../src/simulation/services/portal/subscription.ts'

const dayMs = 86_400_000

/** Applies inputs, each on its day, to a life that began at zero. */
function lifeAfter(
  inputs: readonly (readonly [type: LifeInput['type'], days: number])[],
  silence: 'keep' | 'delete' = 'keep',
): SubscriptionLife {
  return inputs.reduce((life, [type, days]) => applyLifeInput(life, { type, at: days * dayMs }, silence), beginLife(0))
}

test('an input after thirty days of errors does not prevent the deletion', () => {
  for (const late of ['deleteRequested', 'deliveryFailed', 'delivered'] as const) {
    expect(
      lifeAfter([
        ['deliveryFailed', 0],
        [late, 31],
      ]),
      late,
    ).toMatchObject({ state: 'deleted', deletedAt: 30 * dayMs, reason: expect.stringContaining('erros') })
  }
})

test('without deliveries a subscription stays, or by policy is deleted after thirty days', () => {
  expect(lifeAfter([['timePassed', 400]]).state).toBe('active')
  expect(lifeAfter([['timePassed', 29]], 'delete').state).toBe('active')
  expect(lifeAfter([['timePassed', 30]], 'delete')).toMatchObject({
    state: 'deleted',
    deletedAt: 30 * dayMs,
    reason: 'Exclusão automática: nenhuma entrega durante 30 dias',
  })
  const delivered = [['delivered', 20]] as const
  expect(lifeAfter([...delivered, ['timePassed', 49]], 'delete').state).toBe('active')
  expect(lifeAfter([...delivered, ['timePassed', 50]], 'delete').state).toBe('deleted')
})

test('a deletion is final', () => {
  const types = ['deleteRequested', 'delivered', 'deliveryFailed', 'timePassed'] as const
  const inputs = fc.array(fc.tuple(fc.constantFrom(...types), fc.integer({ min: 0, max: 100 })))
  fc.assert(
    fc.property(inputs, given => {
      const deleted = lifeAfter([['deleteRequested', 1]])
      const last = given.reduce(
        (life, [type, days]) => applyLifeInput(life, { type, at: days * dayMs }, 'delete'),
        deleted,
      )
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
      const life = lifeAfter([...timed, ['timePassed', end]])
      expect(life.state).toBe(windows.length > 0 ? 'deleted' : 'active')
      if (windows[0]) expect(life.deletedAt).toBe((windows[0][1] + 30) * dayMs)
    }),
    { numRuns: 1_000 },
  )
})
