import { hash } from 'node:crypto'

/** How many bytes a hash has. */
export const hashBytes = 32

/** In this encoding Node gives the hash of a node in less than half the time of a buffer. */
const quickest = 'binary'

/** The hash of a leaf (RFC 6962, section 2.1): SHA-256 of a zero byte and the header's text. */
export function leafHash(header: string): Buffer {
  return Buffer.from(hash('sha256', `\0${header}`, quickest), quickest)
}

/** Whether this is the hash of that leaf. On a damaged page nothing may have been read. */
export function isLeafOf(header: string, leaf: Uint8Array | null): boolean {
  return leaf !== null && leafHash(header).equals(leaf)
}

/** The input of a node's hash: a marking byte, and two hashes. */
const node = Buffer.alloc(1 + 2 * hashBytes, 1)

/**
 * The root over a row of hashes, each of which stands for the same number of leaves; the last may stand for fewer (RFC
 * 6962, section 2.1).
 *
 * @param hashes at least one hash of 32 bytes, one after the other; overwritten
 */
export function rootOver(hashes: Buffer): Buffer {
  // Level by level: neighbours are paired, and one left over goes up unchanged, as in RFC 6962.
  for (let count = hashes.length / hashBytes; count > 1; count = Math.ceil(count / 2)) {
    for (let i = 0; i + 1 < count; i += 2) {
      hashes.copy(node, 1, i * hashBytes, (i + 2) * hashBytes)
      hashes.write(hash('sha256', node, quickest), (i / 2) * hashBytes, quickest)
    }
    if (count % 2 === 1)
      hashes.copyWithin(((count - 1) / 2) * hashBytes, (count - 1) * hashBytes, count * hashBytes)
  }
  return hashes.subarray(0, hashBytes)
}
