import { hash } from 'node:crypto'
import type { LeafRange } from '../../proof/compact-tree.ts'
import { rows, type Steps } from '../database/connection.ts'
import { damagedLogError } from './header.ts'
import { endOfLog } from './read.ts'

const hashBytes = 32

/** Node returns a hash in this encoding in less than half the time that a buffer takes. */
const fastEncoding = 'binary'

/** The input of a node's hash: a prefix byte, and two hashes. */
const node = Buffer.alloc(1 + 2 * hashBytes, 1)

/** How many subtrees of one level a subtree of the next covers. */
export const fanOut = 256

/** A full subtree of `256 ** level` leaves, counted from 0. Leaves are level 0, and stored with their events. */
export interface Subtree {
  readonly level: number
  readonly number: number
  readonly hash: Buffer
}

/** More than a tree of 2 ** 53 leaves has. */
const peaksMax = 64

/**
 * The growing edge of the log's Merkle tree: the hashes of its largest full subtrees, from the left, one for each 1 in
 * the binary size. They are all that a new leaf and the root need. Verifiers keep no rows: `compact-tree.ts` is theirs.
 */
export class Tree {
  #size = 0
  readonly #peaks = Buffer.alloc(peaksMax * hashBytes)
  #peakCount = 0
  #completed: Subtree[] = []

  get size(): number {
    return this.#size
  }

  /** The hashes of its peaks, one after the other. */
  get frontier(): Buffer {
    return Buffer.from(this.#peaks.subarray(0, this.#peakCount * hashBytes))
  }

  add(leaf: Uint8Array): void {
    this.#push(leaf, 1)
  }

  /** Adds a full subtree of so many leaves, and hashes every larger one that it completes. */
  #push(hash: Uint8Array, leaves: number): void {
    this.#peaks.set(hash, this.#peakCount * hashBytes)
    this.#size += leaves
    for (let covered = leaves * 2; this.#size % covered === 0; covered *= 2) {
      this.#peakCount -= 1
      hashPair(this.#peaks, this.#peakCount, this.#peakCount)
      if (covered >= fanOut) this.#keep(covered)
    }
    this.#peakCount += 1
  }

  /** Keeps the subtree that was just hashed, if it is one of those that are stored. */
  #keep(covered: number): void {
    const level = Math.log2(covered) / Math.log2(fanOut)
    if (!Number.isInteger(level)) return
    const start = this.#peakCount * hashBytes
    const hash = Buffer.from(this.#peaks.subarray(start, start + hashBytes))
    this.#completed.push({ level, number: this.#size / covered - 1, hash })
  }

  /** Gives the subtrees that were completed since the last call. */
  takeCompleted(): Subtree[] {
    if (this.#completed.length === 0) return []
    const completed = this.#completed
    this.#completed = []
    return completed
  }

  /** Computes the root over all leaves in hexadecimal; `undefined` without leaves. */
  root(): string | undefined {
    if (this.#peakCount === 0) return undefined
    const peaks = this.frontier
    for (let last = this.#peakCount - 1; last > 0; last--) hashPair(peaks, last - 1, last - 1)
    return peaks.toString('hex', 0, hashBytes)
  }

  /** Makes the tree of so many leaves from its frontier; `undefined` when that has another number of peaks. */
  static of(size: number, frontier: Uint8Array): Tree | undefined {
    if (frontier.length !== countOnes(size) * hashBytes) return undefined
    const tree = new Tree()
    tree.#size = size
    tree.#peaks.set(frontier)
    tree.#peakCount = frontier.length / hashBytes
    return tree
  }

  /** Reads the tree over the first `size` events from the stored subtrees and leaves. */
  static *load(size: number): Steps<Tree> {
    const tree = new Tree()
    let level = 0
    while (fanOut ** (level + 1) <= size) level += 1
    for (; level >= 0; level--) {
      const leaves = fanOut ** level
      const hashes = yield* readHashes(level, tree.size / leaves, Math.floor(size / leaves))
      for (const hash of hashes) tree.#push(hash, leaves)
    }
    return tree
  }
}

function countOnes(size: number): number {
  let ones = 0
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) ones += rest % 2
  return ones
}

/** Computes the root over all events in hexadecimal, from the stored leaves. */
export function* treeRoot(): Steps<string | undefined> {
  return yield* rootAt(yield* endOfLog())
}

/** Computes the root over the first `size` events in hexadecimal. */
export function* rootAt(size: number): Steps<string | undefined> {
  return (yield* Tree.load(size)).root()
}

/** Computes the root of a full subtree of `2 ** n` leaves in hexadecimal. Leaves count from 0, positions from 1. */
export function* subtreeRoot([from, to]: LeafRange): Steps<string> {
  let level = 0
  while (fanOut ** (level + 1) <= to - from) level += 1
  const leaves = fanOut ** level
  const hashes = yield* readHashes(level, from / leaves, to / leaves)
  return rootOver(Buffer.concat(hashes)).toString('hex')
}

function* readHashes(level: number, from: number, to: number): Steps<readonly Uint8Array[]> {
  if (from === to) return []
  const found =
    level === 0
      ? yield* rows<HashRow>({ sql: selectLeaves, parameters: [from, to] })
      : yield* rows<HashRow>({ sql: selectSubtrees, parameters: [level, from, to] })
  // A damaged page may give anything.
  if (found.length === to - from && found.every(({ hash }) => hash?.length === hashBytes))
    return found.map(({ hash }) => hash)
  throw damagedLogError(`The hashes from ${from} to ${to} on level ${level} of its tree are not complete`)
}

interface HashRow {
  readonly hash: Uint8Array
}

const selectLeaves = 'select leaf as hash from event where position > ? and position <= ? order by position'
const selectSubtrees = 'select hash from subtree where level = ? and number >= ? and number < ? order by number'

/** The hash of a leaf (RFC 6962, section 2.1): SHA-256 of a zero byte and the header's text. */
export function leafHash(header: string): Buffer {
  return Buffer.from(hash('sha256', `\0${header}`, fastEncoding), fastEncoding)
}

/** Reports whether this is the hash of the leaf. The hash is null where a damaged page could not be read. */
export function isLeafOf(header: string, leaf: Uint8Array | null): boolean {
  return leaf !== null && leafHash(header).equals(leaf)
}

/** Hashes two neighbours in a row of hashes, counted from 0, and writes the hash of their node over one of the row. */
function hashPair(hashes: Buffer, pair: number, to: number): void {
  hashes.copy(node, 1, pair * hashBytes, (pair + 2) * hashBytes)
  hashes.write(hash('sha256', node, fastEncoding), to * hashBytes, fastEncoding)
}

/**
 * The root over a row of hashes, each over the same number of leaves, the last perhaps fewer (RFC 6962, section 2.1).
 *
 * @param hashes at least one hash of 32 bytes, one after the other; overwritten
 */
function rootOver(hashes: Buffer): Buffer {
  // Level by level: neighbours are hashed in pairs, and a single last one moves up unchanged, as in RFC 6962.
  for (let count = hashes.length / hashBytes; count > 1; count = Math.ceil(count / 2)) {
    for (let i = 0; i + 1 < count; i += 2) hashPair(hashes, i, i / 2)
    if (count % 2 === 1) hashes.copyWithin(((count - 1) / 2) * hashBytes, (count - 1) * hashBytes, count * hashBytes)
  }
  return hashes.subarray(0, hashBytes)
}
