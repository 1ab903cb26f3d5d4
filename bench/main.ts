/**
 * `npm run bench -- <name> [--json]`: runs a benchmark and prints what it did; `--json` ends with one object.
 *
 * A benchmark of several parts runs each in a process of its own: what one leaves behind, in compiled code and in memory,
 * is not the next one's burden.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { benchAppendBare, benchAppendFull, benchAppendOne, benchAppendPeer } from './appends.ts'
import { benchAppendCost, benchVerify } from './audit.ts'
import { benchErasure } from './erasure.ts'
import {
  benchFleetAppends,
  benchFleetFlows,
  benchFleetProcesses,
  benchFleetRecovery,
  benchFleetRoundTrips,
} from './fleet.ts'
import { benchGrowth } from './growth.ts'
import type { Figures, Say } from './measure.ts'
import { benchRebuild, benchRebuildPeer, benchScan } from './reads.ts'
import { benchReceiver } from './receiver.ts'
import { benchSimulation } from './simulation.ts'
import { benchTokens } from './tokens.ts'

type Bench = (folder: string, say: Say) => Promise<Figures>

const benches: Readonly<Record<string, Readonly<Record<string, Bench>>>> = {
  store: {
    'append-bare': benchAppendBare,
    'append-full': benchAppendFull,
    'append-one': benchAppendOne,
    'append-peer': benchAppendPeer,
    scan: benchScan,
    rebuild: benchRebuild,
    'rebuild-peer': benchRebuildPeer,
    growth: benchGrowth,
  },
  engine: { tokens: benchTokens, receiver: benchReceiver },
  simulation: { world: benchSimulation },
  fleet: {
    'fleet-appends': benchFleetAppends,
    'fleet-round-trips': benchFleetRoundTrips,
    'fleet-flows': benchFleetFlows,
    'fleet-processes': benchFleetProcesses,
    'fleet-recovery': benchFleetRecovery,
  },
  audit: { verify: benchVerify, 'append-cost': benchAppendCost, erasure: benchErasure },
}
const parts: Readonly<Record<string, Bench>> = Object.assign({}, ...Object.values(benches))

const [name = ''] = process.argv.slice(2).filter(argument => !argument.startsWith('--'))
const figures = await run(name)
if (!figures) {
  console.error(`Name a benchmark (${Object.keys(benches).join(', ')}) or a part (${Object.keys(parts).join(', ')})`)
  process.exitCode = 1
} else if (process.argv.includes('--json')) console.log(JSON.stringify(figures))

async function run(wanted: string): Promise<Figures | undefined> {
  const bench = benches[wanted]
  if (bench) {
    const all: Figures[] = []
    for (const part of Object.keys(bench)) all.push(await runAlone(part))
    return Object.assign({}, ...all)
  }
  return parts[wanted] && runPart(parts[wanted])
}

async function runPart(part: Bench): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), 'averba-bench-'))
  try {
    return await part(folder, line => console.log(line))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Runs a part in a process of its own, and passes on what it says: its last line is its figures. */
async function runAlone(part: string): Promise<Figures> {
  const child = spawn(process.execPath, [import.meta.filename, part, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = new Promise<number | null>(resolve => void child.once('close', resolve))
  let last = ''
  for await (const line of createInterface({ input: child.stdout })) {
    if (last) console.log(last)
    last = line
  }
  const code = await exited
  if (code !== 0) throw new Error(`The part "${part}" ended with ${code}`)
  return JSON.parse(last) as Figures // As `--json` ends.
}
