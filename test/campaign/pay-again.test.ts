import { expect, test } from 'vitest'
import { openHost } from './open-host.ts'
import type { Deed } from './step.ts'

const pays: Deed[] = [
  { do: 'fault', fault: { kind: 'lose', service: 'validationService', times: 1 } },
  { do: 'validate', person: 0, isTrue: true, count: 1, hours: 0 },
  { do: 'payAgain', which: 0 },
]
const again: Deed = { do: 'validateAgain', which: 1, isOther: false }

test('a repeated payment may be requested again after a restore lost both validations', async () => {
  const { runRecord, simulated, performAll: all } = openHost()
  await all({ do: 'backUp' }, ...pays)
  const { id = '', again: paid } = simulated.validations[1] ?? {}
  expect(paid).toEqual({ of: simulated.validations[0]?.id, reason: expect.any(String) })
  expect(simulated.paidAgain.has(id)).toBe(true)
  await all(again, { do: 'restore' })
  expect(simulated.paidAgain.has(id)).toBe(false)
  await all(again)
  expect(simulated.paidAgain.has(id)).toBe(false)
  expect(runRecord.failures).toEqual([])
  await simulated.close()
})
