import { beforeAll, expect, test } from 'vitest'
import { makeSample, tryAll } from './campaign.ts'
import { listMutations } from './mutations.ts'

let sample = ''
beforeAll(async () => {
  sample = await makeSample(12)
})

test('an unchanged sample has no faults', async () => {
  const unchanged = { group: '', name: '', apply: () => undefined }
  expect(await tryAll(sample, [unchanged])).toEqual([{ mutation: unchanged, found: [], isUntold: false }])
})

test('one mutation of every group is detected; npm run test:tamper tries all of them', async () => {
  const first = new Map(listMutations(sample, 1).map(mutation => [mutation.group, mutation]))
  expect(first.size).toBeGreaterThan(60)
  expect([...first.keys()]).toContain('part: deleted although an erasure kept it')
  const tried = await tryAll(sample, [...first.values()])
  const missed = tried.filter(each => each.found.length === 0)
  expect(missed.map(({ mutation }) => `${mutation.group}: ${mutation.name}`)).toEqual([])
  // Doctor says of every store that does not open what is wrong.
  expect(tried.filter(({ isUntold }) => isUntold).map(({ mutation }) => mutation.group)).toEqual([])
}, 120_000)
