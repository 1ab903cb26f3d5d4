import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Say } from './measure.ts'
import { installPeers } from './peers.ts'

/** What a load came to. */
export interface Load {
  /** Answers with a 2xx, and how many of them in a second. */
  readonly acknowledged: number
  readonly perSecond: number
  /** The 99th percentile of the latency. */
  readonly p99Ms: number
  /** Answers of any other kind, broken connections, and requests without an answer. */
  readonly failed: number
}

/** What is posted, and for how long. The bodies are two halves: a text that is new each time goes between them. */
export interface LoadOptions {
  readonly url: string
  readonly connections: number
  readonly seconds: number
  readonly headers: Readonly<Record<string, string>>
  readonly bodies: readonly [head: string, tail: string]
}

/** Posts to a server of this process from another one, so that neither takes the other's time. */
export async function load(options: LoadOptions, say: Say): Promise<Load> {
  const script = join(installPeers('autocannon', say), 'load.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, [script, JSON.stringify(options)])
  return JSON.parse(stdout) as Load // As the script writes it.
}
