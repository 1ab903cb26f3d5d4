import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { benchAppends } from './appends.ts'

/** The store: appends, readings, rebuilds and growth. Every figure is a ratio within this run. */
export async function benchStore(say: (line: string) => void): Promise<Record<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), 'averba-bench-'))
  try {
    return { ...(await benchAppends(folder, say)) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
