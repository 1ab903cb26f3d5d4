import { putHex, sha256 } from './encoding.ts'

/** The hash of a leaf (RFC 6962, section 2.1), in hexadecimal. */
export function leafHashHex(text: string): string {
  return sha256(`\0${text}`)
}

const pair = new Uint8Array(65).fill(1)

/** The hash of a node over two others (RFC 6962, section 2.1), in hexadecimal. */
export function nodeHashHex(left: string, right: string): string {
  putHex(left, pair, 1)
  putHex(right, pair, 33)
  return sha256(pair)
}

export const emptyRoot: string = sha256('')

/**
 * A Merkle tree that keeps only the roots of its full subtrees: memory grows with the logarithm of its size. It runs
 * without Node, in every verifier; the store hashes the rows that it keeps with `store/log/tree.ts`.
 */
export class CompactTree {
  #size = 0
  /** The roots of the full subtrees at the edge, by level: each covers `2 ** level` leaves. */
  readonly #edges: (string | undefined)[] = []

  get size(): number {
    return this.#size
  }

  /** Returns the hash of the leaf, in hexadecimal. */
  add(text: string): string {
    const leaf = leafHashHex(text)
    let hash = leaf
    let level = 0
    for (let edge = this.#edges[level]; edge !== undefined; edge = this.#edges[level]) {
      hash = nodeHashHex(edge, hash)
      this.#edges[level] = undefined
      level += 1
    }
    this.#edges[level] = hash
    this.#size += 1
    return leaf
  }

  /** The root over all leaves, in hexadecimal. */
  root(): string {
    const edges = this.#edges.filter(edge => edge !== undefined)
    return edges.length === 0 ? emptyRoot : edges.reduce((root, edge) => nodeHashHex(edge, root))
  }
}

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
  const isLeaf = ([from, to]: LeafRange) => to - from === 1
  return splitTowards(size, isLeaf, middle => index < middle).siblings.reverse()
}

/**
 * Returns the ranges whose roots prove that `before` leaves are the beginning of `after` leaves (RFC 6962, 2.1.2).
 *
 * @throws {RangeError} when the first is empty or larger than the second
 */
export function consistencyRanges(before: number, after: number): LeafRange[] {
  if (!isCount(before) || !isCount(after) || before === 0 || before > after)
    throw new RangeError(`A tree of ${before} leaves is not the beginning of one of ${after}`)
  const isBefore = ([, to]: LeafRange) => to === before
  const { siblings, last } = splitTowards(after, isBefore, middle => before <= middle)
  // The verifier knows the root of the smaller tree as a whole, but not that of a subtree of it.
  return (last[0] > 0 ? [...siblings, last] : siblings).reverse()
}

/** Splits a tree until a range is the last one, and returns it with the other halves, from the root downwards. */
function splitTowards(size: number, isLast: (range: LeafRange) => boolean, isLeft: (middle: number) => boolean) {
  const siblings: LeafRange[] = []
  let [from, to] = [0, size]
  while (!isLast([from, to])) {
    const middle = from + splitPoint(to - from)
    siblings.push(isLeft(middle) ? [middle, to] : [from, middle])
    if (isLeft(middle)) to = middle
    else from = middle
  }
  const last: LeafRange = [from, to]
  return { siblings, last }
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
