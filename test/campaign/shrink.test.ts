import { expect, test } from 'vitest'
import { planOf } from './plan.ts'
import { shrink } from './shrink.ts'
import type { Step } from './step.ts'

test('what a failure does not need is left out, and what is left has less in it', async () => {
  const plan = planOf(3, 30)
  const apply = plan.findIndex(each => each.do === 'apply')
  const notify = plan.findIndex((each, i) => i > apply && each.do === 'notify' && each.count > 1)
  expect(notify).toBeGreaterThan(apply)
  const needed = [plan[apply]?.id, plan[notify]?.id]
  const fails = async (steps: readonly Step[]) => needed.every(id => steps.some(each => each.id === id))
  const left = await shrink(plan, fails)
  expect(left).toEqual([plan[apply], { ...plan[notify], count: 1, copies: 0 }])
})

test('a failure that needs all of it stays as long as it is', async () => {
  const plan = planOf(4, 1)
  expect(await shrink(plan, async steps => steps.length === plan.length)).toHaveLength(plan.length)
})
