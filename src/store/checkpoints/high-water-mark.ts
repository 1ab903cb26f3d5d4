import { readFileSync } from 'node:fs'
import { parseCheckpoint } from '../../proof/checkpoint.ts'
import { replaceDurably } from '../../vault/durable-file.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { markPath } from '../../vocabulary/names.ts'
import type { HighWaterMark } from '../store-options.ts'
import { damagedMark } from './checkpoints.ts'

/** Returns the mark of a store: the host's own, or a file beside the store. A log in memory has none. */
export function resolveMark(options: { path: string; highWaterMark?: HighWaterMark }): HighWaterMark | undefined {
  const { path, highWaterMark } = options
  if (highWaterMark || path === ':memory:') return highWaterMark
  return createFileMark(markPath(path))
}

/** Makes the names of temporary files unique within the process, without using the host's entropy. */
let writeCount = 0

/** Stores the mark in a file, which is replaced atomically. */
export function createFileMark(path: string): HighWaterMark {
  return {
    async read() {
      return readMark(path)
    },
    async write(checkpoint) {
      // Another process on the store may have written a later mark.
      const [before, after] = [parseCheckpoint(readMark(path) ?? ''), parseCheckpoint(checkpoint)]
      if (before && after && before.origin === after.origin && before.size >= after.size) return
      writeCount += 1
      replaceDurably(path, checkpoint, `${process.pid}-${writeCount}`)
    },
  }
}

/** Reads the file of a mark; `undefined` when it does not exist. */
export function readMark(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw new AverbaError('STORE_UNSAFE', `Cannot read the high-water mark "${path}"`, { cause })
  }
}

/** The error for a log that contradicts its high-water mark. */
export function rolledBackError(path: string, fault: string): AverbaError {
  const isOnlyMark = fault === damagedMark
  return new AverbaError('ROLLED_BACK', `Cannot open "${path}": ${fault}`, {
    hint: isOnlyMark
      ? 'The log may be intact: check it with averba verify, and if it is, move the mark away'
      : 'Find the newest copy of the log. If it is lost, averba restore --accept-rollback continues from a backup and records it in the log',
  })
}
