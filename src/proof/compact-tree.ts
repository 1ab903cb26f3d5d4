import { putHex, toHex } from './encoding.ts'
import { sha256, sha256Binary } from './sha256.ts'

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

/** The root of a tree without leaves. */
export const emptyRoot: string = sha256('')

/** A full subtree at the edge of the tree, with room for the subtree that it is hashed with. */
interface TreeEdge {
  /** The input of the hash over both: a prefix byte, and 32 bytes of each. */
  readonly pair: Uint8Array
  isFull: boolean
}

/**
 * A Merkle tree that keeps only the roots of its full subtrees: memory grows with the logarithm of its size. It runs
 * without Node, in every verifier; the store hashes the rows that it keeps with `merkle.ts`.
 */
export class CompactTree {
  #size = 0
  /** By level: each covers `2 ** level` leaves. */
  readonly #edges: TreeEdge[] = []

  /** The number of leaves. */
  get size(): number {
    return this.#size
  }

  /** Adds the leaf of a text. */
  add(text: string): void {
    let hash = sha256Binary(`\0${text}`)
    let level = 0
    for (let edge = this.#edges[level]; edge?.isFull; edge = this.#edges[level]) {
      writeHash(hash, edge.pair, 33)
      hash = sha256Binary(edge.pair)
      edge.isFull = false
      level += 1
    }
    writeHash(hash, this.#edgeOf(level).pair, 1)
    this.#edgeOf(level).isFull = true
    this.#size += 1
  }

  #edgeOf(level: number): TreeEdge {
    this.#edges[level] ??= { pair: new Uint8Array(65).fill(1), isFull: false }
    return this.#edges[level]
  }

  /** The root over all leaves, in hexadecimal. */
  root(): string {
    let root: string | undefined
    for (const { pair, isFull } of this.#edges) {
      if (!isFull) continue
      const left = toHex(pair.subarray(1, 33))
      root = root === undefined ? left : nodeHashHex(left, root)
    }
    return root ?? emptyRoot
  }
}

/** Writes a hash, a text with one character per byte, into bytes. */
function writeHash(hash: string, bytes: Uint8Array, at: number): void {
  for (let i = 0; i < 32; i++) bytes[at + i] = hash.charCodeAt(i)
}
