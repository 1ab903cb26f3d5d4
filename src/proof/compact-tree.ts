import { putHex, toHex } from './encoding.ts'
import { digest, sha256 } from './sha256.ts'

/** The hash of a leaf (RFC 6962, section 2.1), in hexadecimal. */
export function hashLeaf(text: string): string {
  return sha256(`\0${text}`)
}

const pair = new Uint8Array(65).fill(1)

/** The hash of a node over two others (RFC 6962, section 2.1), in hexadecimal. */
export function hashNode(left: string, right: string): string {
  putHex(left, pair, 1)
  putHex(right, pair, 33)
  return sha256(pair)
}

/** The root of a tree without leaves. */
export const emptyRoot: string = sha256('')

/** A full subtree at the edge, and beside it the place of the one that it is hashed with. */
interface Edge {
  /** What is hashed for the node over both: a byte that says so, and 32 bytes of each. */
  readonly pair: Uint8Array
  isFull: boolean
}

/**
 * A Merkle tree of which only the roots of its full subtrees are held, so that it takes no room however large it is.
 * Hashes stay bytes in it, and each is written once: a leaf costs little more than the hashing.
 */
export class CompactTree {
  #size = 0
  /** Of `2 ** level` leaves each. */
  readonly #edges: Edge[] = []

  /** How many leaves it has. */
  get size(): number {
    return this.#size
  }

  /** Adds a leaf by what it is hashed from: a zero byte and its text. */
  add(leaf: Uint8Array): void {
    let hash = digest(leaf)
    let level = 0
    for (let edge = this.#edges[level]; edge?.isFull; edge = this.#edges[level]) {
      put(hash, edge.pair, 33)
      hash = digest(edge.pair)
      edge.isFull = false
      level += 1
    }
    put(hash, this.#edgeOf(level).pair, 1)
    this.#edgeOf(level).isFull = true
    this.#size += 1
  }

  #edgeOf(level: number): Edge {
    this.#edges[level] ??= { pair: new Uint8Array(65).fill(1), isFull: false }
    return this.#edges[level]
  }

  /** The root over all leaves, in hexadecimal. */
  root(): string {
    let root: string | undefined
    for (const { pair, isFull } of this.#edges) {
      if (!isFull) continue
      const left = toHex(pair.subarray(1, 33))
      root = root === undefined ? left : hashNode(left, root)
    }
    return root ?? emptyRoot
  }
}

/** Puts a hash into bytes that has a character for each of its own. */
function put(hash: string, bytes: Uint8Array, at: number): void {
  for (let i = 0; i < 32; i++) bytes[at + i] = hash.charCodeAt(i)
}
