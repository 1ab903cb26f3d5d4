import type { LeafRange } from '../../proof/compact-tree.ts'
import { hashBytes, hashPair, rootOver } from '../../proof/merkle.ts'
import { first, rows, type Steps } from '../database/connection.ts'
import { damagedLogError } from './header.ts'
import { endOfLog } from './read.ts'

/** How many hashes a tile holds. */
export const tileHashes = 256

/** The peaks of a full tile, and one more while it is filled. */
const peaksMax = Math.log2(tileHashes) + 1

/** A stored row of hashes: tile `number` of `level`. Leaves are level 0 and stored with their events. */
export interface Tile {
  readonly level: number
  readonly number: number
  readonly hashes: Buffer
}

/** The last, incomplete tile of one level. */
interface OpenTile {
  readonly hashes: Buffer
  count: number
  /** The roots of the largest full subtrees of its hashes, from the left: one for each 1 in the binary count. */
  readonly peaks: Buffer
  peakCount: number
}

/**
 * The growing edge of the log's Merkle tree. A hash of level `n` covers 256 hashes of the level below. Only the last
 * tile of each level is in memory, with the subtrees hashed so far, so that every commit can have a root.
 */
export class Tree {
  #size = 0
  readonly #edges: OpenTile[] = []
  #changed = new Map<string, Tile>()

  /** The number of leaves. */
  get size(): number {
    return this.#size
  }

  add(leaf: Uint8Array): void {
    this.#size += 1
    this.#push(0, leaf)
  }

  #push(level: number, hash: Uint8Array): void {
    const edge = this.#edgeOf(level)
    addTo(edge, hash)
    if (level > 0) this.#stage(level, edge)
    if (edge.count < tileHashes) return
    edge.count = 0
    edge.peakCount = 0
    this.#push(level + 1, edge.peaks.subarray(0, hashBytes))
  }

  #stage(level: number, { hashes, count }: OpenTile): void {
    const number = Math.ceil(this.#size / tileHashes ** (level + 1)) - 1
    this.#changed.set(`${level}/${number}`, {
      level,
      number,
      hashes: Buffer.from(hashes.subarray(0, count * hashBytes)),
    })
  }

  #edgeOf(level: number): OpenTile {
    this.#edges[level] ??= {
      hashes: Buffer.alloc(tileHashes * hashBytes),
      count: 0,
      peaks: Buffer.alloc(peaksMax * hashBytes),
      peakCount: 0,
    }
    return this.#edges[level]
  }

  /** Gives the tiles that changed since the last call. */
  takeChanged(): Tile[] {
    if (this.#changed.size === 0) return []
    const changed = [...this.#changed.values()]
    this.#changed = new Map()
    return changed
  }

  /** Computes the root over all leaves in hexadecimal; `undefined` without leaves. */
  root(): string | undefined {
    const peaks = Buffer.concat(
      this.#edges.toReversed().map(each => each.peaks.subarray(0, each.peakCount * hashBytes)),
    )
    if (peaks.length === 0) return undefined
    for (let last = peaks.length / hashBytes - 1; last > 0; last--) hashPair(peaks, last - 1, last - 1)
    return peaks.toString('hex', 0, hashBytes)
  }

  /** Reads the edge of the tree over the first `size` events. */
  static *load(size: number): Steps<Tree> {
    const tree = new Tree()
    tree.#size = size
    fill(tree.#edgeOf(0), yield* readLeaves(size - (size % tileHashes), size))
    for (let level = 1; tileHashes ** level <= size; level++) {
      const count = Math.floor(size / tileHashes ** level) % tileHashes
      const edge = tree.#edgeOf(level)
      if (count === 0) continue
      const hashes = yield* readTile(level, Math.floor(size / tileHashes ** (level + 1)))
      fill(edge, hashes.subarray(0, count * hashBytes))
    }
    return tree
  }
}

/** Adds a hash, and hashes each subtree that it completes. */
function addTo(edge: OpenTile, hash: Uint8Array): void {
  edge.hashes.set(hash, edge.count * hashBytes)
  edge.peaks.set(hash, edge.peakCount * hashBytes)
  for (let n = edge.count; n % 2 === 1; n = (n - 1) / 2) {
    edge.peakCount -= 1
    hashPair(edge.peaks, edge.peakCount, edge.peakCount)
  }
  edge.peakCount += 1
  edge.count += 1
}

function fill(edge: OpenTile, hashes: Uint8Array): void {
  for (let at = 0; at < hashes.length; at += hashBytes) addTo(edge, hashes.subarray(at, at + hashBytes))
}

/** Computes the root over all events in hexadecimal. */
export function* treeRoot(): Steps<string | undefined> {
  return (yield* treeHead()).root
}

/** Counts the events of the log and computes the root over them in hexadecimal. */
export function* treeHead(): Steps<{ size: number; root: string | undefined }> {
  const size = yield* endOfLog()
  return { size, root: (yield* Tree.load(size)).root() }
}

/** Computes the root over the first `size` events in hexadecimal. */
export function* rootAt(size: number): Steps<string | undefined> {
  return (yield* Tree.load(size)).root()
}

/** Computes the root of a full subtree of `2 ** n` leaves in hexadecimal. Leaves count from 0, positions from 1. */
export function* subtreeRoot([from, to]: LeafRange): Steps<string> {
  let level = 0
  while (tileHashes ** (level + 1) <= to - from) level += 1
  const each = tileHashes ** level
  const start = (from / each) % tileHashes
  const hashes =
    level === 0 ? yield* readLeaves(from, to) : yield* readTile(level, Math.floor(from / each / tileHashes))
  const first = level === 0 ? 0 : start * hashBytes
  const own = Buffer.from(hashes.subarray(first, first + ((to - from) / each) * hashBytes))
  return rootOver(own).toString('hex')
}

function* readLeaves(from: number, to: number): Steps<Buffer> {
  const leaves = yield* rows<{ leaf: Uint8Array }>({ sql: selectLeaves, parameters: [from, to] })
  // A damaged page may give anything.
  if (leaves.some(({ leaf }) => leaf?.length !== hashBytes))
    throw damagedLogError(`A leaf between ${from} and ${to} is not a hash`)
  return Buffer.concat(leaves.map(({ leaf }) => leaf))
}

function* readTile(level: number, number: number): Steps<Uint8Array> {
  const tile = yield* first<{ hashes: Uint8Array }>({ sql: selectTile, parameters: [level, number] })
  return tile?.hashes ?? Buffer.alloc(0)
}

const selectLeaves = 'select leaf from event where position > ? and position <= ? order by position'
const selectTile = 'select hashes from tile where level = ? and number = ?'
