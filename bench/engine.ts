import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { benchReceiver } from './receiver.ts'

/** The engine's flows. Ratios are within this run. */
export async function benchEngine(say: (line: string) => void): Promise<Record<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), 'averba-bench-'))
  try {
    return { ...(await benchReceiver(folder, say)) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
