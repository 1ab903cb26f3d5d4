import { expect, test } from 'vitest'
import { runSteps } from './run-steps.ts'

const minuteMs = 60_000

// Another engine asks once more, as it has to: nobody has read the answer.
test('a token that an engine has been given and has not read is no reason against another', async () => {
  const { reached, wrongs } = await runSteps(1, [
    { do: 'fault', fault: { kind: 'refuse', times: 4, service: 'tokenService' }, id: 0, at: 0 },
    { do: 'validate', person: 6, isTrue: true, count: 1, hours: 0, id: 1, at: 1 },
    {
      ...{ do: 'pause', person: 10, what: 'settle', minutes: 2, isDeclined: false, erases: false },
      ...{ id: 2, at: 60 * minuteMs },
    },
  ])
  expect(wrongs).toEqual([])
  expect(reached).toContain('engine paused')
})
