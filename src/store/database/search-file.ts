import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { SearchProgress } from './connection.ts'
import { createPieceFinder } from './piece-finder.ts'

const chunkBytes = 4 * 1024 * 1024
const pieceBytes = 16

/**
 * A descriptor per searched file, kept open while the file exists: closing any descriptor of a file would drop SQLite's
 * locks on it in this process.
 */
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
