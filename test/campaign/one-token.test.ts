import { expect, test } from 'vitest'
import { runSteps } from './run-steps.ts'

const minuteMs = 60_000

test('one-token allows another request when the answer of the first was not read', async () => {
  const { reached, failures } = await runSteps(1, [
    { do: 'fault', fault: { kind: 'refuse', times: 4, service: 'tokenService' }, id: 0, at: 0 },
    { do: 'validate', person: 6, isTrue: true, count: 1, hours: 0, id: 1, at: 1 },
    {
      ...{ do: 'pause', person: 10, what: 'settle', minutes: 2, isDeclined: false, erases: false },
      ...{ id: 2, at: 60 * minuteMs },
    },
  ])
  expect(failures).toEqual([])
  expect(reached).toContain('engine paused')
})
