import { expect, test } from 'vitest'
import * as tree from '../../src/proof/compact-tree.ts'
import { rootsOver } from './roots-over.ts'

const leaves = Array.from({ length: 40 }, (_, i) => tree.leafHashHex(`leaf ${i}`))

const rootOf = rootsOver(leaves)

test('the root of any range of a proof is computed from full subtrees', () => {
  const sizes = leaves.map((_, i) => i + 1)
  const ranges = sizes.flatMap(size => sizes.slice(0, size).flatMap(index => tree.inclusionRanges(index - 1, size)))
  for (const range of [...ranges, ...sizes.map(size => [0, size] as const)]) {
    const steps = tree.rootOfRange(range, function* ([from, to]) {
      const count = to - from
      expect(Math.log2(count) % 1).toBe(0)
      expect(from % count).toBe(0)
      yield
      return rootOf(from, to)
    })
    let step = steps.next()
    while (!step.done) step = steps.next()
    expect(step.value).toBe(rootOf(...range))
  }
})

test('a place that a tree does not have, and a tree that cannot be its beginning, are rejected', () => {
  expect(() => tree.inclusionRanges(0, 0)).toThrow(RangeError)
  expect(tree.rootOfInclusion(leaves[0] ?? '', 0, 0, [])).toBeUndefined()
  for (const index of [-1, 0.5, Number.NaN, 2 ** 53]) {
    expect(() => tree.inclusionRanges(index, 40)).toThrow(RangeError)
    expect(tree.rootOfInclusion(leaves[0] ?? '', index, 40, [])).toBeUndefined()
  }
  for (const before of [0, 4]) expect(() => tree.consistencyRanges(before, 3)).toThrow(RangeError)
})
