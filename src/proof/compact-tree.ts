import { putHex } from './encoding.ts'
import { sha256 } from './sha256.ts'

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

/** A Merkle tree of which only the roots of its full subtrees are held, so that it takes no room however large it is. */
export class CompactTree {
  #size = 0
  /** The root of the full subtree of `2 ** level` leaves at the edge, where there is one. */
  readonly #levels: (string | undefined)[] = []

  /** How many leaves it has. */
  get size(): number {
    return this.#size
  }

  /** Adds the hash of a leaf. */
  add(leaf: string): void {
    let hash = leaf
    let level = 0
    for (let left = this.#levels[level]; left !== undefined; left = this.#levels[level]) {
      hash = hashNode(left, hash)
      this.#levels[level] = undefined
      level += 1
    }
    this.#levels[level] = hash
    this.#size += 1
  }

  /** The root over all leaves, in hexadecimal. */
  root(): string {
    let root: string | undefined
    for (const hash of this.#levels) {
      if (hash === undefined) continue
      root = root === undefined ? hash : hashNode(hash, root)
    }
    return root ?? emptyRoot
  }
}
