import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { benchAppends } from './appends.ts'
import { benchGrowth } from './growth.ts'
import { benchReads } from './reads.ts'

/** The store: appends, readings, rebuilds and growth. Every figure is a ratio within this run. */
export async function benchStore(say: (line: string) => void): Promise<Record<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), 'averba-bench-'))
  try {
    const appends = await benchAppends(folder, say)
    const reads = await benchReads(folder, say)
    return { ...appends, ...reads, ...(await benchGrowth(folder, say)) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
