import { readFileSync } from 'node:fs'
import { parseCheckpoint } from '../../proof/checkpoint.ts'
import { replaceDurably } from '../../vault/durable-file.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { markPath } from '../../vocabulary/names.ts'
import type { HighWaterMark } from '../store-options.ts'
import { damagedMark } from './checkpoints.ts'

/** The mark of a store: the host's own, or a file beside a file. A log in memory has none. */
export function resolveMark(options: {
  path: string
  highWaterMark?: HighWaterMark
}): HighWaterMark | undefined {
  const { path, highWaterMark } = options
  if (highWaterMark || path === ':memory:') return highWaterMark
  return createFileMark(markPath(path))
}

/** Distinguishes the files that one process writes: the host's randomness goes into the log, and is not spent here. */
let writeCount = 0

/** Keeps the mark in a file, which is replaced as a whole. */
export function createFileMark(path: string): HighWaterMark {
  return {
    async read() {
      return readMark(path)
    },
    async write(checkpoint) {
      // Another process of the file may have written a later one.
      const [before, after] = [parseCheckpoint(readMark(path) ?? ''), parseCheckpoint(checkpoint)]
      if (before && after && before.origin === after.origin && before.size >= after.size) return
      writeCount += 1
      replaceDurably(path, checkpoint, `${process.pid}-${writeCount}`)
    },
  }
}

/** Reads the file of a mark; `undefined` when there is none. */
export function readMark(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw new AverbaError('STORE_UNSAFE', `Cannot read the high-water mark "${path}"`, { cause })
  }
}

/** The error for a log that is behind its high-water mark, or is another log. */
export function rolledBackError(path: string, fault: string): AverbaError {
  const isOnlyMark = fault === damagedMark
  return new AverbaError('ROLLED_BACK', `Cannot open "${path}": ${fault}`, {
    hint: isOnlyMark
      ? 'The log may be whole: look at it with averba verify, and move the mark away if it is'
      : 'Find the newest copy of the log. If it is lost, averba restore --accept-rollback goes on from a backup, and says so in the log',
  })
}
