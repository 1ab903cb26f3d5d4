import { LogCheckpoint } from '@sigstore/verify/dist/tlog/checkpoint.js'
import { verifyMerkleInclusion } from '@sigstore/verify/dist/tlog/merkle.js'
import { expect, test } from 'vitest'
import { consistencyRanges, inclusionRanges, leafHashHex, rootOfInclusion } from '../../src/proof/compact-tree.ts'
import { rootsOver } from './roots-over.ts'

/**
 * Compares our verifier with Sigstore's, which shares no code with ours: both have to accept the same proofs. Sigstore's
 * verifies inclusion proofs and signed notes; it accepts a consistency proof that we made as two inclusion proofs.
 */
const sizeMax = 300
const bodies = Array.from({ length: sizeMax }, (_, i) => `leaf ${i}`)
const hashes = bodies.map(leafHashHex)
const bodyOf = new Map(hashes.map((hash, i) => [hash, bodies[i] ?? '']))

const rootOf = rootsOver(hashes)

interface Inclusion {
  readonly body: string
  readonly index: number
  readonly size: number
  readonly path: readonly string[]
  readonly root: string
}

type Entry = Parameters<typeof verifyMerkleInclusion>[0]

function entryOf(body: string, index: number, path: readonly string[], envelope = '') {
  const hashes = path.map(hash => Buffer.from(hash, 'hex'))
  const inclusionProof = { logIndex: String(index), hashes, checkpoint: { envelope } }
  // verifyMerkleInclusion reads only these members of a Rekor entry.
  return { canonicalizedBody: Buffer.from(body), inclusionProof } as unknown as Entry
}

function passes(work: () => unknown): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}

function oracleIncludes({ body, index, size, path, root }: Inclusion): boolean {
  const checkpoint = new LogCheckpoint('log', BigInt(size), Buffer.from(root, 'hex'), [])
  return passes(() => verifyMerkleInclusion(entryOf(body, index, path), checkpoint))
}

function weInclude({ body, index, size, path, root }: Inclusion): boolean {
  return rootOfInclusion(leafHashHex(body), index, size, path) === root
}

/** The indexes where the shape of a tree changes: its ends, and those beside powers of two. All of a small tree. */
function placesIn(size: number): number[] {
  if (size <= 33) return [...Array(size).keys()]
  const powers = Array.from({ length: 9 }, (_, i) => 2 ** i)
  const all = [0, size - 1, Math.floor(size / 3), ...powers.flatMap(each => [each - 1, each, size - each])]
  return [...new Set(all)].filter(each => each >= 0 && each < size)
}

/** Variants of a path that must be rejected. */
function forgedPaths(path: readonly string[]): string[][] {
  const changed = path.flatMap((hash, i) => [
    path.with(i, leafHashHex('forged')),
    path.with(i, `${hash.slice(0, -1)}${hash.endsWith('0') ? '1' : '0'}`),
    path.toSpliced(i, 1),
    path.toSpliced(i, 0, hash),
    ...(i > 0 ? [path.with(i, path[i - 1] ?? '').with(i - 1, hash)] : []),
  ])
  return [...changed, [...path, leafHashHex('more')], path.toReversed()]
}

/** Every small tree, and those beside powers of two. */
const sizes = [...Array(33).keys(), 62, 63, 64, 99, 126, 127, 128, 199, 254, 255, 256, sizeMax - 1].map(n => n + 1)

test('both accept the same proofs, for trees of every size', () => {
  const counts = { accepted: 0, rejected: 0 }
  for (const size of sizes) {
    for (const index of placesIn(size)) {
      const path = inclusionRanges(index, size).map(([from, to]) => rootOf(from, to))
      const proof = { body: bodies[index] ?? '', index, size, path, root: rootOf(0, size) }
      const forged = [
        ...[{ body: 'forged' }, { root: leafHashHex('forged') }, { size: size + 1 }, { size: size - 1 }],
        ...[{ index: index + 1 }, { index: index - 1 }, { index: size }],
        ...forgedPaths(path).map(each => ({ path: each })),
      ].map(change => ({ ...proof, ...change }))
      for (const each of [proof, ...forged]) {
        const isAccepted = weInclude(each)
        if (isAccepted !== oracleIncludes(each)) expect.fail(`they differ about ${JSON.stringify(each)}`)
        if (each === proof && !isAccepted) expect.fail(`both reject ${JSON.stringify(each)}`)
        counts[isAccepted ? 'accepted' : 'rejected'] += 1
      }
    }
  }
  expect(counts.accepted).toBeGreaterThan(1_300)
  expect(counts.rejected).toBeGreaterThan(27_000)
})

type Tree = Pick<Inclusion, 'size' | 'root'>

/**
 * A smaller tree is the beginning of a larger tree when the last full subtree at its edge is included at the same place
 * in both: two inclusion proofs. Their leaf is that subtree, so the trees here have one leaf for each subtree of that
 * size.
 */
function oracleContinues(before: Tree, after: Tree, path: readonly string[]): boolean {
  const levels = Math.log2(before.size & -before.size)
  const [edge, last] = [(before.size >> levels) - 1, (after.size - 1) >> levels]
  const [seed = '', ...rest] = edge === 0 ? [before.root, ...path] : path
  const body = bodyOf.get(seed) ?? ''
  // Below this level the paths of the edge and of the last leaf differ: a hash to the right is in the larger tree only.
  const commonFrom = (edge ^ last).toString(2).length
  const within = rest.filter((_, i) => i >= commonFrom || (edge >> i) % 2 === 1)
  const small = { body, index: edge, size: edge + 1, path: within, root: before.root }
  return oracleIncludes(small) && oracleIncludes({ ...small, size: last + 1, path: rest, root: after.root })
}

test('our consistency proofs are accepted, for pairs of tree sizes', () => {
  let accepted = 0
  for (const after of sizes) {
    for (const before of placesIn(after).filter(each => each > 0)) {
      const levels = Math.log2(before & -before)
      // Converts a range of leaves to a range of subtrees at the edge.
      const over = (from: number, to: number) => rootOf(from >> levels, ((to - 1) >> levels) + 1)
      const treeOf = (size: number) => ({ size, root: over(0, size) })
      const path = consistencyRanges(before, after).map(([from, to]) => over(from, to))
      if (!oracleContinues(treeOf(before), treeOf(after), path))
        expect.fail(`it rejects ${before} in ${after}: ${path}`)
      accepted += 1
    }
  }
  expect(accepted).toBeGreaterThan(700)
})
