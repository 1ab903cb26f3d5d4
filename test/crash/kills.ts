import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { inParallel } from '../in-parallel.ts'
import { checkEngine } from './check-engine.ts'
import { allViews, checkLog } from './check-log.ts'
import { type Child, startChild } from './child.ts'
import { addFindings, type Findings, isAnythingIn, type Row } from './findings.ts'
import type { LoadOptions, Said } from './load.ts'
import { Random } from './random.ts'
import { logName, Scratch } from './scratch.ts'

/** How a campaign of kills is sized. */
export interface KillOptions {
  readonly seed: number
  readonly kills: number
}

/** After so many kills a log has grown long, and a new one is begun. */
const killsPerLog = 8
/** A kill comes after so many things were said, at most, and so many milliseconds. */
const saidMax = 250
const delayMsMax = 40

type Script = 'load-store.ts' | 'load-engine.ts'

/** Kills processes that append to a log with `kill -9`, goes on with what is left, and checks it after each. */
export async function killOften({ seed, kills }: KillOptions): Promise<Row> {
  return campaign('kill -9, the store under load', 'load-store.ts', seed, kills)
}

/** The same with the whole engine and the simulated services. */
export async function killEngineOften({ seed, kills }: KillOptions): Promise<Row> {
  return campaign('kill -9, the engine under load', 'load-engine.ts', seed, kills)
}

async function campaign(name: string, script: Script, seed: number, kills: number): Promise<Row> {
  const row = { name, faults: 0, acknowledged: 0, lost: [], corrupt: [], unclear: [] as string[] }
  const found: Findings = row
  const scratch = new Scratch()
  const logs = Array.from({ length: Math.ceil(kills / killsPerLog) }, (_, log) => log)
  await inParallel(logs, async log => {
    const folder = scratch.folder()
    const random = new Random(seed + log)
    const said: Said[] = []
    const count = Math.min(killsPerLog, kills - log * killsPerLog)
    for (let round = 0; round < count; round++) {
      const where = `seed ${seed}, log ${log}, kill ${round + 1}`
      const loadSeed = ((seed + log) * killsPerLog + round) * 2
      const killed = await killOnce(script, join(folder, logName), loadSeed, random)
      said.push(...killed.said)
      row.unclear.push(...killed.unclear.map(each => `${where}: ${each}`))
      row.faults += 1
      // The next load goes on with the very files that the kill left.
      const copy = scratch.folder(folder)
      addFindings(found, where, await check(script, join(copy, logName), said))
      row.acknowledged += said.filter(each => each.said !== 'opened').length
      scratch.remove(copy)
      if (isAnythingIn(found)) break
    }
  })
  row.unclear.push(...scratch.end(found))
  return row
}

async function check(script: Script, path: string, said: readonly Said[]): Promise<Findings> {
  const acknowledged = said.filter(each => each.said === 'acknowledged')
  const findings = await checkLog(path, acknowledged, allViews)
  if (script === 'load-engine.ts') addFindings(findings, 'engine', await checkEngine(path, said))
  return findings
}

/** One process, or two on the same file, killed at a moment that the seed chooses: while opening, or later. */
async function killOnce(script: Script, path: string, loadSeed: number, random: Random) {
  const writers = script === 'load-store.ts' && random.below(3) === 0 ? 2 : 1
  const load: Omit<LoadOptions, 'seed'> = {
    path,
    callers: 1 + random.below(64),
    ...(random.below(2) === 0 && { checkpointPages: 50 + random.below(500) }),
  }
  const isEarly = random.below(5) === 0
  const [saidCount, delayMs] = [1 + random.below(saidMax), random.next() * delayMsMax]
  const earlyMs = 150 + random.below(250)
  const children: Child[] = []
  for (let i = 0; i < writers; i++) children.push(startChild(script, { ...load, seed: loadSeed + i }))
  if (isEarly) await after(earlyMs)
  else {
    await Promise.all(children.map(child => child.hasSaid(saidCount)))
    await after(delayMs)
  }
  for (const child of children) child.process.kill('SIGKILL')
  const ended = await Promise.all(children.map(child => child.ended))
  const unclear = ended.flatMap(({ said, code, errors }) => [
    ...(code === null ? [] : [`it ended by itself: ${errors.trim().split('\n').at(-1)}`]),
    ...said.flatMap(each => (each.said === 'broken' ? [each.what] : [])),
  ])
  return { said: ended.flatMap(each => each.said), unclear }
}
