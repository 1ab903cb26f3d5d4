import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { benchReceiver } from './receiver.ts'
import { benchTokens } from './tokens.ts'

/** The engine's flows: what they ask of the services, and what they cost. Ratios are within this run. */
export async function benchEngine(say: (line: string) => void): Promise<Record<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), 'averba-bench-'))
  try {
    return { ...(await benchTokens(say)), ...(await benchReceiver(folder, say)) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
