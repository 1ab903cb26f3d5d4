import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { SearchProgress } from './connection.ts'

const chunkBytes = 4 * 1024 * 1024
/** The length of the pieces that are searched for: the end of the tag identifies sealed bytes in a file. */
export const pieceBytes = 16

/** Kept open while the file exists: closing a descriptor of a file drops SQLite's locks on it in this process. */
const descriptors = new Map<string, number>()

/** Searches a raw file and its journal for pieces of 16 bytes, as somebody with access to the disk could. */
export async function searchFile(path: string, pieces: readonly Uint8Array[]): Promise<SearchProgress> {
  const found = new Set<string>()
  const find = createPieceFinder(pieces)
  let bytes = 0
  for (const name of [path, `${path}-wal`]) bytes += await searchSingleFile(name, each => find(each, found))
  return { bytes, found: found.size }
}

async function searchSingleFile(path: string, find: (bytes: Buffer) => void): Promise<number> {
  const descriptor = findDescriptor(path)
  if (descriptor === undefined) return 0
  const buffer = Buffer.alloc(chunkBytes + pieceBytes - 1)
  for (let position = 0; ; position += chunkBytes) {
    const read = readSync(descriptor, buffer, 0, buffer.length, position)
    find(buffer.subarray(0, read))
    if (read < buffer.length) return position + read
    await yieldToEventLoop()
  }
}

function findDescriptor(path: string): number | undefined {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat || stat.size === 0) return undefined
  const name = `${stat.dev}:${stat.ino}`
  const known = descriptors.get(name)
  if (known !== undefined) return known
  closeRemovedFiles()
  const descriptor = openSync(path, 'r')
  descriptors.set(name, descriptor)
  return descriptor
}

/** Closes removed files: they take up disk space while they are open. */
function closeRemovedFiles(): void {
  for (const [name, descriptor] of descriptors) {
    if (fstatSync(descriptor).nlink > 0) continue
    closeSync(descriptor)
    descriptors.delete(name)
  }
}

/** A piece is first recognised by any four consecutive bytes of it, read as a number. */
const numberBytes = 4
/** Every piece contains one of the numbers at multiples of this. */
const stride = pieceBytes - numberBytes + 1
/** Slots of the lookup table per wanted number: enough that one lookup rules out most other numbers. */
const slotsPerNumber = 64
const noDistances: ReadonlySet<number> = new Set()

/** Prepares a search for pieces. The returned function adds those that it finds in bytes to a set, in hexadecimal. */
export function createPieceFinder(pieces: readonly Uint8Array[]): (bytes: Buffer, found: Set<string>) => void {
  if (pieces.some(piece => piece.length !== pieceBytes)) throw new TypeError(`A piece must have ${pieceBytes} bytes`)
  if (pieces.length === 0) return () => undefined
  const wanted = new Set(pieces.map(piece => Buffer.from(piece).toString('hex')))
  const slotBits = Math.min(24, Math.ceil(Math.log2(pieces.length * stride * slotsPerNumber)))
  const slotOf = (number: number) => Math.imul(number, 0x9e3779b1) >>> (32 - slotBits)
  const isWanted = new Uint8Array(2 ** slotBits)
  /** The offsets within a piece at which each number occurs. */
  const distances = new Map<number, Set<number>>()
  for (const piece of pieces) {
    const bytes = Buffer.from(piece)
    for (let from = 0; from < stride; from++) {
      const number = bytes.readInt32LE(from)
      isWanted[slotOf(number)] = 1
      distances.set(number, (distances.get(number) ?? new Set<number>()).add(from))
    }
  }
  return (bytes, found) => {
    for (let at = 0; at + numberBytes <= bytes.length; at += stride) {
      const number = bytes.readInt32LE(at)
      if (isWanted[slotOf(number)] === 0) continue
      for (const distance of distances.get(number) ?? noDistances) {
        if (distance > at) continue
        const text = bytes.toString('hex', at - distance, at - distance + pieceBytes)
        if (wanted.has(text)) found.add(text)
      }
    }
  }
}
