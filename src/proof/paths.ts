import { emptyRoot, nodeHashHex } from './compact-tree.ts'

/** A range of leaves: the first index, from 0, and the index after the last. A proof consists of roots of ranges. */
export type LeafRange = readonly [from: number, to: number]

/**
 * Returns the ranges whose roots prove that the leaf at an index is in a tree of `size` leaves, from its sibling
 * upwards (RFC 6962, section 2.1.1).
 *
 * @throws {RangeError} when the tree has no such leaf
 */
export function inclusionRanges(index: number, size: number): LeafRange[] {
  if (!isCount(index) || !isCount(size) || index >= size)
    throw new RangeError(`A tree of ${size} leaves has no leaf ${index}`)
  const ranges: LeafRange[] = []
  let [from, to] = [0, size]
  while (to - from > 1) {
    const middle = from + splitPoint(to - from)
    if (index < middle) {
      ranges.push([middle, to])
      to = middle
    } else {
      ranges.push([from, middle])
      from = middle
    }
  }
  return ranges.reverse()
}

/**
 * Returns the ranges whose roots prove that a tree of `before` leaves is the beginning of a tree of `after` leaves (RFC
 * 6962, section 2.1.2).
 *
 * @throws {RangeError} when the first is empty or larger than the second
 */
export function consistencyRanges(before: number, after: number): LeafRange[] {
  if (!isCount(before) || !isCount(after) || before === 0 || before > after)
    throw new RangeError(`A tree of ${before} leaves is not the beginning of one of ${after}`)
  const ranges: LeafRange[] = []
  let [from, to] = [0, after]
  while (to !== before) {
    const middle = from + splitPoint(to - from)
    if (before <= middle) {
      ranges.push([middle, to])
      to = middle
    } else {
      ranges.push([from, middle])
      from = middle
    }
  }
  // The verifier knows the root of the smaller tree as a whole, but not that of a subtree of it.
  if (from > 0) ranges.push([from, to])
  return ranges.reverse()
}

/** Computes the root from a leaf and its inclusion proof; `undefined` when the proof has the wrong length. */
export function rootOfInclusion(
  leaf: string,
  index: number,
  size: number,
  path: readonly string[],
): string | undefined {
  if (!isCount(index) || !isCount(size) || index >= size) return undefined
  const ranges = inclusionRanges(index, size)
  if (ranges.length !== path.length) return undefined
  return ranges.reduce((hash, [from], i) => {
    const other = path[i] ?? ''
    return from > index ? nodeHashHex(hash, other) : nodeHashHex(other, hash)
  }, leaf)
}

/** Reports whether a proof shows that the smaller tree is the beginning of the larger. False for an empty tree. */
export function isConsistent(
  before: { readonly size: number; readonly root: string },
  after: { readonly size: number; readonly root: string },
  path: readonly string[],
): boolean {
  if (!isCount(before.size) || !isCount(after.size) || before.size === 0 || before.size > after.size) return false
  if (before.size === after.size) return path.length === 0 && before.root === after.root
  const ranges = consistencyRanges(before.size, after.size)
  if (ranges.length !== path.length) return false
  // Hashes within the smaller tree are part of both roots; the others only of the larger root.
  const isWhole = ranges.every(([from]) => from >= before.size)
  let small = isWhole ? before.root : undefined
  let large = small
  for (const [i, [from]] of ranges.entries()) {
    const hash = path[i] ?? ''
    if (small === undefined || large === undefined) [small, large] = [hash, hash]
    else if (from >= before.size) large = nodeHashHex(large, hash)
    else [small, large] = [nodeHashHex(hash, small), nodeHashHex(hash, large)]
  }
  return small === before.root && large === after.root
}

/** Computes the root of a range. `read` returns the roots of full subtrees: aligned ranges of 2 ** n leaves. */
export function* rootOfRange<Y, N>(
  [from, to]: LeafRange,
  read: (range: LeafRange) => Generator<Y, string, N>,
): Generator<Y, string, N> {
  const count = to - from
  if (count === 0) return emptyRoot
  const split = splitPoint(count)
  if (count === 1 || split * 2 === count) return yield* read([from, to])
  const left = yield* rootOfRange([from, from + split], read)
  return nodeHashHex(left, yield* rootOfRange([from + split, to], read))
}

/** The largest power of two below a count. */
function splitPoint(count: number): number {
  let split = 1
  while (split * 2 < count) split *= 2
  return split
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}
