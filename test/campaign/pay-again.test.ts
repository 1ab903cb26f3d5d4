import { expect, onTestFinished, test } from 'vitest'
import { perform } from './perform.ts'
import { RunRecord } from './run-record.ts'
import { SimulatedHost } from './simulated-host.ts'
import type { Deed } from './step.ts'

function createBox() {
  const book = new RunRecord()
  const box = new SimulatedHost(1, book)
  onTestFinished(() => box.dispose())
  let id = 0
  const all = async (...deeds: Deed[]) => {
    for (const deed of deeds) await perform(box, { ...deed, id: ++id, at: 0 })
  }
  return { book, box, all }
}

const pays: Deed[] = [
  { do: 'fault', fault: { kind: 'lose', service: 'validationService', times: 1 } },
  { do: 'validate', person: 0, isTrue: true, count: 1, hours: 0 },
  { do: 'payAgain', which: 0 },
]
const again: Deed = { do: 'validateAgain', which: 1, isOther: false }

test('a repeated payment may be requested again after a restore lost both validations', async () => {
  const { book, box, all } = createBox()
  await all({ do: 'backUp' }, ...pays)
  const { id = '', again: paid } = box.validations[1] ?? {}
  expect(paid).toEqual({ of: box.validations[0]?.id, reason: expect.any(String) })
  expect(box.paidAgain.has(id)).toBe(true)
  await all(again, { do: 'restore' })
  expect(box.paidAgain.has(id)).toBe(false)
  await all(again)
  expect(box.paidAgain.has(id)).toBe(false)
  expect(book.failures).toEqual([])
  await box.close()
})

test('NOT_FOUND for a repeated payment is an error when it was accepted and not lost', async () => {
  const { box, all } = createBox()
  await all(...pays)
  const [first] = box.validations
  const input = { cpf: '', claims: {}, ...first, id: 'never', again: { of: 'nobody', reason: 'CANARIO' } }
  box.validations.push(input)
  await all({ ...again, which: 2 })
  box.paidAgain.set(input.id, 1)
  await expect(all({ ...again, which: 2 })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await box.close()
})
