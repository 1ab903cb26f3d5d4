import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  applyLifeInput,
  beginLife,
  type LifeInput,
  type SubscriptionLife,
} from '../../../../src/simulation/services/portal/subscription-life.ts'

const dayMs = 86_400_000

/** A life that began at zero, after inputs at so many days. */
function after(
  inputs: readonly (readonly [type: LifeInput['type'], days: number])[],
  silence: 'keep' | 'delete' = 'keep',
): SubscriptionLife {
  return inputs.reduce(
    (life, [type, days]) => applyLifeInput(life, { type, at: days * dayMs }, silence),
    beginLife(0),
  )
}

test('a deletion that is asked for has a time and no reason', () => {
  expect(after([['deleteRequested', 3]])).toMatchObject({
    state: 'deleted',
    deletedAt: 3 * dayMs,
    reason: undefined,
  })
})

test('nothing but errors: still active on day 29, deleted at thirty days, with a reason', () => {
  const failing = [
    ['deliveryFailed', 5],
    ['deliveryFailed', 34],
  ] as const
  expect(after([...failing, ['timePassed', 34.99]]).state).toBe('active')
  expect(after([...failing, ['timePassed', 35]])).toMatchObject({
    state: 'deleted',
    deletedAt: 35 * dayMs,
    reason: 'Exclusão automática: somente erros de entrega durante 30 dias',
  })
})

test('one success starts the count again', () => {
  const failing = [
    ['deliveryFailed', 0],
    ['delivered', 29],
    ['deliveryFailed', 29],
  ] as const
  expect(after([...failing, ['timePassed', 58]]).state).toBe('active')
  expect(after([...failing, ['timePassed', 59]])).toMatchObject({
    state: 'deleted',
    deletedAt: 59 * dayMs,
    lastSuccessAt: 29 * dayMs,
  })
})

test('what comes after thirty days of errors comes too late, whoever looks first', () => {
  for (const late of ['deleteRequested', 'deliveryFailed', 'delivered'] as const) {
    expect(
      after([
        ['deliveryFailed', 0],
        [late, 31],
      ]),
      late,
    ).toMatchObject({ state: 'deleted', deletedAt: 30 * dayMs, reason: expect.stringContaining('erros') })
  }
})

test('without any delivery a subscription stays, and by policy goes after thirty days', () => {
  expect(after([['timePassed', 400]]).state).toBe('active')
  expect(after([['timePassed', 29]], 'delete').state).toBe('active')
  expect(after([['timePassed', 30]], 'delete')).toMatchObject({
    state: 'deleted',
    deletedAt: 30 * dayMs,
    reason: 'Exclusão automática: nenhuma entrega durante 30 dias',
  })
  const delivered = [['delivered', 20]] as const
  expect(after([...delivered, ['timePassed', 49]], 'delete').state).toBe('active')
  expect(after([...delivered, ['timePassed', 50]], 'delete').state).toBe('deleted')
})

test('nothing leads back from deleted', () => {
  const types = ['deleteRequested', 'delivered', 'deliveryFailed', 'timePassed'] as const
  const inputs = fc.array(fc.tuple(fc.constantFrom(...types), fc.integer({ min: 0, max: 100 })))
  fc.assert(
    fc.property(inputs, given => {
      const deleted = after([['deleteRequested', 1]])
      const last = given.reduce(
        (life, [type, days]) => applyLifeInput(life, { type, at: days * dayMs }, 'delete'),
        deleted,
      )
      expect(last).toMatchObject({ state: 'deleted', deletedAt: dayMs, reason: undefined })
    }),
  )
})

test('it is deleted exactly when thirty days followed an error without a success', () => {
  const step = fc.tuple(fc.constantFrom('delivered', 'deliveryFailed'), fc.integer({ min: 0, max: 12 }))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.integer({ min: 0, max: 40 }), (steps, rest) => {
      let day = 0
      const timed = steps.map(([type, days]) => {
        day += days
        return [type, day] as const
      })
      const end = day + rest
      // By the words of the contract: some thirty days begin with an error, and hold no success.
      const windows = timed.filter(([type, begins], i) => {
        const later = timed.slice(i).filter(([, at]) => at < begins + 30)
        return (
          type === 'deliveryFailed' &&
          later.every(([each]) => each === 'deliveryFailed') &&
          begins + 30 <= end
        )
      })
      const life = after([...timed, ['timePassed', end]])
      expect(life.state).toBe(windows.length > 0 ? 'deleted' : 'active')
      if (windows[0]) expect(life.deletedAt).toBe((windows[0][1] + 30) * dayMs)
    }),
    { numRuns: 1_000 },
  )
})
