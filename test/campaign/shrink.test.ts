import { expect, test } from 'vitest'
import { createPlan } from './plan.ts'
import { shrink } from './shrink.ts'
import type { Step } from './step.ts'

test('steps that a failure does not need are removed, and the others simplified', async () => {
  const plan = createPlan(3, 30)
  const apply = plan.findIndex(each => each.do === 'apply')
  const notify = plan.findIndex((each, i) => i > apply && each.do === 'notify' && each.count > 1)
  expect(notify).toBeGreaterThan(apply)
  const needed = [plan[apply]?.id, plan[notify]?.id]
  const fails = async (steps: readonly Step[]) => needed.every(id => steps.some(each => each.id === id))
  const left = await shrink(plan, fails)
  expect(left).toEqual([plan[apply], { ...plan[notify], count: 1, copies: 0 }])
})
