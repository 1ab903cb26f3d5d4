import { hash } from 'node:crypto'

// These functions serve the store, with Node's hashes over rows that it keeps. `compact-tree.ts` serves verifiers,
// which run without Node too, and keeps no rows.

/** The size of a hash in bytes. */
export const hashBytes = 32

/** Node returns a hash in this encoding in less than half the time that a buffer takes. */
const fastEncoding = 'binary'

/** The hash of a leaf (RFC 6962, section 2.1): SHA-256 of a zero byte and the header's text. */
export function leafHash(header: string): Buffer {
  return Buffer.from(hash('sha256', `\0${header}`, fastEncoding), fastEncoding)
}

/** Reports whether this is the hash of the leaf. The hash is null where a damaged page could not be read. */
export function isLeafOf(header: string, leaf: Uint8Array | null): boolean {
  return leaf !== null && leafHash(header).equals(leaf)
}

/** The input of a node's hash: a prefix byte, and two hashes. */
const node = Buffer.alloc(1 + 2 * hashBytes, 1)

/** Hashes two neighbours in a row of hashes, counted from 0, and writes the hash of their node over one of the row. */
export function hashPair(hashes: Buffer, pair: number, to: number): void {
  hashes.copy(node, 1, pair * hashBytes, (pair + 2) * hashBytes)
  hashes.write(hash('sha256', node, fastEncoding), to * hashBytes, fastEncoding)
}

/**
 * The root over a row of hashes, each over the same number of leaves; the last may be over fewer (RFC 6962, section
 * 2.1).
 *
 * @param hashes at least one hash of 32 bytes, one after the other; overwritten
 */
export function rootOver(hashes: Buffer): Buffer {
  // Level by level: neighbours are hashed in pairs, and a single last one moves up unchanged, as in RFC 6962.
  for (let count = hashes.length / hashBytes; count > 1; count = Math.ceil(count / 2)) {
    for (let i = 0; i + 1 < count; i += 2) hashPair(hashes, i, i / 2)
    if (count % 2 === 1) hashes.copyWithin(((count - 1) / 2) * hashBytes, (count - 1) * hashBytes, count * hashBytes)
  }
  return hashes.subarray(0, hashBytes)
}
