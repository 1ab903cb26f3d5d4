import { expect, test } from 'vitest'
import { runForJson } from '../support/run-script.ts'
import { describeLog } from './print-log.ts'

const script = 'test/package/print-log.ts'
const abroad = { TZ: 'Asia/Tokyo', LANG: 'pt_BR.UTF-8', LC_ALL: 'pt_BR.UTF-8' }

test('the same seed gives the same log byte for byte, on Node and on Deno, and another seed another log', async () => {
  const elsewhere = Promise.all([runForJson('Node', script, ['1'], abroad), runForJson('Deno', script, ['1'])])
  const [here, ofAnotherSeed] = [await describeLog(1), await describeLog(2, 1)]
  expect(here.events.length).toBeGreaterThan(400)
  expect(here.types.length).toBeGreaterThan(40)
  expect(here.crashes).toBeGreaterThan(0)
  const troubles = /(lost|inconclusive|rejected|failed|failing)$/i
  expect(here.types.filter(type => troubles.test(type)).length).toBeGreaterThan(3)
  for (const there of await elsewhere) {
    // The first line that differs shows where the runs diverge.
    expect(there.events).toEqual(here.events)
    expect(there).toEqual(here)
  }
  // Random decisions of the first day differ too, not only names.
  const typesOf = ({ events }: typeof here) => events.slice(0, 100).map(event => event.split(' ')[1])
  expect(typesOf(ofAnotherSeed)).not.toEqual(typesOf(here))
})
