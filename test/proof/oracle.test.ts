import { generateKeyPairSync, sign } from 'node:crypto'
import { LogCheckpoint, verifyCheckpoint } from '@sigstore/verify/dist/tlog/checkpoint.js'
import { verifyMerkleInclusion } from '@sigstore/verify/dist/tlog/merkle.js'
import { describe, expect, test } from 'vitest'
import { parseCheckpoint, signCheckpoint } from '../../src/proof/checkpoint.ts'
import { hashLeaf, hashNode } from '../../src/proof/compact-tree.ts'
import { fromHex } from '../../src/proof/encoding.ts'
import { createVerifierKey, verifyNote } from '../../src/proof/note.ts'
import { consistencyRanges, inclusionRanges, isConsistent, rootOfInclusion } from '../../src/proof/paths.ts'

/**
 * The verifier of Sigstore, which others maintain and which shares no line with ours: it has to say of every proof what
 * ours says. It knows proofs of inclusion and signed notes; a proof of consistency is two proofs of inclusion.
 */
const sizeMax = 300
const bodies = Array.from({ length: sizeMax }, (_, i) => `leaf ${i}`)
const hashes = bodies.map(hashLeaf)
const bodyOf = new Map(hashes.map((hash, i) => [hash, bodies[i] ?? '']))

const known = new Map<string, string>()

/** The root over leaves of the same tree, by RFC 6962, section 2.1. */
function rootOf(from: number, to: number): string {
  if (to - from === 1) return hashes[from] ?? ''
  const name = `${from}-${to}`
  let split = 1
  while (split * 2 < to - from) split *= 2
  const root = known.get(name) ?? hashNode(rootOf(from, from + split), rootOf(from + split, to))
  known.set(name, root)
  return root
}

interface Inclusion {
  readonly body: string
  readonly index: number
  readonly size: number
  readonly path: readonly string[]
  readonly root: string
}

type Entry = Parameters<typeof verifyMerkleInclusion>[0]

function entryOf(body: string, index: number, path: readonly string[], envelope = '') {
  const inclusionProof = {
    logIndex: String(index),
    hashes: path.map(hash => Buffer.from(hash, 'hex')),
    checkpoint: { envelope },
  }
  // Of an entry of Rekor, its verifier of proofs reads these members alone.
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
  return rootOfInclusion(hashLeaf(body), index, size, path) === root
}

/** The places of a tree where its shape changes: its ends, and beside every power of two. */
function placesIn(size: number): number[] {
  const powers = Array.from({ length: 9 }, (_, i) => 2 ** i)
  const all = [0, size - 1, Math.floor(size / 3), ...powers.flatMap(each => [each - 1, each, size - each])]
  return [...new Set(all)].filter(each => each >= 0 && each < size)
}

/** What somebody might hand in for a path. */
function forgedPaths(path: readonly string[]): string[][] {
  const changed = path.flatMap((hash, i) => [
    path.with(i, hashLeaf('forged')),
    path.with(i, `${hash.slice(0, -1)}${hash.endsWith('0') ? '1' : '0'}`),
    path.toSpliced(i, 1),
    path.toSpliced(i, 0, hash),
    ...(i > 0 ? [path.with(i, path[i - 1] ?? '').with(i - 1, hash)] : []),
  ])
  return [...changed, [...path, hashLeaf('more')], path.toReversed()]
}

describe('inclusion', () => {
  test('of trees of every size, both accept the same proofs and no other', () => {
    const counts = { accepted: 0, rejected: 0 }
    for (let size = 1; size <= sizeMax; size++) {
      const indexes = size <= 48 ? Array.from({ length: size }, (_, i) => i) : placesIn(size)
      for (const index of indexes) {
        const path = inclusionRanges(index, size).map(([from, to]) => rootOf(from, to))
        const proof = { body: bodies[index] ?? '', index, size, path, root: rootOf(0, size) }
        const isTried = size <= 48 || index % 5 === 0
        const forged: Inclusion[] = [
          { ...proof, body: 'forged' },
          { ...proof, index: index + 1 },
          { ...proof, index: index - 1 },
          { ...proof, index: size },
          { ...proof, size: size + 1 },
          { ...proof, size: size - 1 },
          { ...proof, root: hashLeaf('forged') },
          ...forgedPaths(path).map(each => ({ ...proof, path: each })),
        ]
        for (const each of [proof, ...(isTried ? forged : [])]) {
          const said = weInclude(each)
          if (said !== oracleIncludes(each)) expect.fail(`they differ about ${JSON.stringify(each)}`)
          counts[said ? 'accepted' : 'rejected'] += 1
        }
      }
    }
    expect(counts.accepted).toBeGreaterThan(5_000)
    expect(counts.rejected).toBeGreaterThan(50_000)
  })
})

interface Consistency {
  readonly before: { readonly size: number; readonly root: string }
  readonly after: { readonly size: number; readonly root: string }
  readonly path: readonly string[]
}

/**
 * A smaller tree is the beginning of a larger when the last full subtree at its edge stands at the same place in both,
 * and what is left of it is the same in both: two proofs of inclusion. Their leaf is that subtree, so that the trees
 * here have a leaf of ours for each subtree of its size. `undefined` where it is none of them, and cannot be asked for.
 */
function oracleContinues({ before, after, path }: Consistency): boolean | undefined {
  const levels = Math.log2(before.size & -before.size)
  const [edge, last] = [(before.size >> levels) - 1, (after.size - 1) >> levels]
  const [seed = '', ...rest] = edge === 0 ? [before.root, ...path] : path
  const body = bodyOf.get(seed)
  if (body === undefined) return undefined
  // Up to here the paths of the edge and of the last leaf are apart: what stands right of the edge is in the larger only.
  const apart = (edge ^ last).toString(2).length
  const within = rest.filter((_, i) => i >= apart || (edge >> i) % 2 === 1)
  const small = { body, index: edge, size: edge + 1, path: within, root: before.root }
  const large = { body, index: edge, size: last + 1, path: rest, root: after.root }
  return oracleIncludes(small) && oracleIncludes(large)
}

describe('consistency', () => {
  test('of trees of every two sizes, both accept the same proofs and no other', () => {
    const counts = { accepted: 0, rejected: 0, unasked: 0 }
    for (let after = 2; after <= sizeMax; after++) {
      const all = after <= 48 ? Array.from({ length: after - 1 }, (_, i) => i + 1) : placesIn(after)
      for (const before of all.filter(each => each > 0)) {
        const levels = Math.log2(before & -before)
        // A range of leaves, as a range of the subtrees at the edge.
        const over = (from: number, to: number) => rootOf(from >> levels, ((to - 1) >> levels) + 1)
        const path = consistencyRanges(before, after).map(([from, to]) => over(from, to))
        const [small, large] = [
          { size: before, root: over(0, before) },
          { size: after, root: over(0, after) },
        ]
        const proof = { before: small, after: large, path }
        const forged: Consistency[] = [
          { ...proof, before: { ...small, size: before + 1 } },
          { ...proof, before: { ...small, size: before - 1 } },
          { ...proof, after: { ...large, size: after + 1 } },
          { ...proof, after: { ...large, size: after - 1 } },
          { ...proof, before: { ...small, root: hashLeaf('forged') } },
          { ...proof, after: { ...large, root: hashLeaf('forged') } },
          { ...proof, before: { ...small, root: large.root } },
          ...forgedPaths(path).map(each => ({ ...proof, path: each })),
        ]
        const isTried = after <= 48 || before % 5 === 0
        for (const each of [proof, ...(isTried ? forged : [])]) {
          const said = isConsistent(each.before, each.after, each.path)
          const isAsked = each.before.size > 0 && each.before.size < each.after.size
          const oracle = isAsked ? oracleContinues(each) : undefined
          if (oracle === undefined) counts.unasked += 1
          else counts[oracle ? 'accepted' : 'rejected'] += 1
          if (said !== (oracle ?? false)) expect.fail(`they differ about ${JSON.stringify(each)}`)
        }
      }
    }
    expect(counts.accepted).toBeGreaterThan(5_000)
    expect(counts.rejected).toBeGreaterThan(30_000)
    expect(counts.unasked).toBeLessThan(counts.rejected / 2)
  })
})

test('of signed checkpoints, both accept the same and no other', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const raw = Uint8Array.from(publicKey.export({ format: 'der', type: 'spki' }).subarray(-32))
  const signer = { publicKey: raw, sign: (text: Uint8Array) => sign(null, text, privateKey) }
  const key = createVerifierKey('averba.test/log', raw)
  const authority = {
    logID: Buffer.from(fromHex(key.id)),
    baseURL: 'https://averba.test/log',
    publicKey,
    validFor: { start: new Date(0), end: new Date(8e15) },
  }
  const weAccept = async (note: string) => {
    const checkpoint = parseCheckpoint(note)
    return checkpoint ? (await verifyNote(checkpoint.note, [key]))?.length === 1 : false
  }
  const oracleAccepts = (note: string) =>
    passes(() => verifyCheckpoint(entryOf('', 0, [], note), [authority]))
  for (const size of [1, 2, 255, 256, sizeMax]) {
    const note = signCheckpoint({ origin: key.name, size, root: rootOf(0, size) }, signer)
    expect([await weAccept(note), oracleAccepts(note)]).toEqual([true, true])
    const seen = verifyCheckpoint(entryOf('', 0, [], note), [authority])
    expect([seen.origin, Number(seen.logSize), seen.logHash.toString('hex')]).toEqual([
      key.name,
      size,
      rootOf(0, size),
    ])
    const path = inclusionRanges(size - 1, size).map(([from, to]) => rootOf(from, to))
    expect(passes(() => verifyMerkleInclusion(entryOf(bodies[size - 1] ?? '', size - 1, path), seen))).toBe(
      true,
    )
    // The last character of a signature has bits that stand for nothing, which we refuse and others pass over.
    for (let i = 0; i < note.trimEnd().replace(/=+$/, '').length - 1; i++) {
      const other = note[i] === 'A' ? 'B' : 'A'
      const forged = `${note.slice(0, i)}${other}${note.slice(i + 1)}`
      expect([i, await weAccept(forged), oracleAccepts(forged)]).toEqual([i, false, false])
    }
  }
})
