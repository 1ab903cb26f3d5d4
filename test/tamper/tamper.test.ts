import { beforeAll, expect, test } from 'vitest'
import { allOf, makeSample, tryAll } from './campaign.ts'

let sample = ''
beforeAll(async () => {
  sample = await makeSample(12)
})

test('a sample that nobody touched counts as whole', async () => {
  const nothing = { group: '', name: '', apply: () => undefined }
  expect(await tryAll(sample, [nothing])).toEqual([{ mutation: nothing, found: [] }])
})

test('of every way to tamper with a closed log one is tried, and found; npm run test:tamper tries all', async () => {
  const first = new Map(allOf(sample, 1).map(mutation => [`${mutation.group}`, mutation]))
  expect(first.size).toBeGreaterThan(60)
  expect([...first.keys()]).toContain('part: taken of what an erasure kept')
  const tried = await tryAll(sample, [...first.values()])
  const missed = tried.filter(each => each.found.length === 0)
  expect(missed.map(({ mutation }) => `${mutation.group}: ${mutation.name}`)).toEqual([])
}, 120_000)
