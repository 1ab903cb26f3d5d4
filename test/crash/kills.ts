import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { views } from '../../src/views/views.ts'
import { inParallel } from '../support/in-parallel.ts'
import { Random } from '../support/random.ts'
import { checkEngine } from './check-engine.ts'
import { checkLog } from './check-log.ts'
import { startChild } from './child.ts'
import { addFindings, createRow, type Findings, hasFindings, type Row } from './findings.ts'
import type { LoadMessage, LoadOptions } from './load.ts'
import { logName, Scratch } from './scratch.ts'

/** After so many kills a new log is started, because the old one is long. */
const killsPerLog = 8
/** A kill comes after at most so many messages and milliseconds. */
const messagesMax = 250
const delayMsMax = 40

/** The messages that say that something is durable. */
const answers: ReadonlySet<string> = new Set(['acknowledged', 'enrolled', 'validated', 'notified'])

type Script = 'load-store.ts' | 'load-engine.ts'

/** Kills processes that append to a log with `kill -9`, checks the log after each kill, and continues with it. */
export const killOften = (seed: number, kills: number) =>
  runKills('kill -9, the store under load', 'load-store.ts', seed, kills)

/** The same with the whole engine and the simulated services. */
export const killEngineOften = (seed: number, kills: number) =>
  runKills('kill -9, the engine under load', 'load-engine.ts', seed, kills)

async function runKills(name: string, script: Script, seed: number, kills: number): Promise<Row> {
  const row = createRow(name)
  const scratch = new Scratch()
  const logs = Array.from({ length: Math.ceil(kills / killsPerLog) }, (_, log) => log)
  await inParallel(logs, async log => {
    const folder = scratch.folder()
    const random = new Random(seed + log)
    const messages: LoadMessage[] = []
    const count = Math.min(killsPerLog, kills - log * killsPerLog)
    for (let round = 0; round < count; round++) {
      const where = `seed ${seed}, log ${log}, kill ${round + 1}`
      const loadSeed = ((seed + log) * killsPerLog + round) * 2
      const killed = await killOnce(script, join(folder, logName), loadSeed, random)
      messages.push(...killed.messages)
      row.unclear.push(...killed.unclear.map(each => `${where}: ${each}`))
      row.faults += 1
      // The check uses a copy, as the next load continues with the files that the kill left.
      const copy = scratch.folder(folder)
      addFindings(row, where, await checkAfterKill(script, join(copy, logName), messages))
      row.acknowledged += messages.filter(({ type }) => answers.has(type)).length
      scratch.remove(copy)
      if (hasFindings(row)) break
    }
  })
  row.unclear.push(...scratch.end(row))
  return row
}

async function checkAfterKill(script: Script, path: string, messages: readonly LoadMessage[]): Promise<Findings> {
  const acknowledged = messages.filter(each => each.type === 'acknowledged')
  const findings = await checkLog(path, acknowledged, views)
  if (script === 'load-engine.ts') addFindings(findings, 'engine', await checkEngine(path, messages))
  return findings
}

/** Starts one process, or two on the same file, and kills them at a random moment, perhaps while they open the log. */
async function killOnce(script: Script, path: string, loadSeed: number, random: Random) {
  const writers = script === 'load-store.ts' && random.below(3) === 0 ? 2 : 1
  const load: Omit<LoadOptions, 'seed'> = {
    path,
    callers: 1 + random.below(64),
    ...(random.below(2) === 0 && { checkpointPages: 50 + random.below(500) }),
  }
  const isEarly = random.below(5) === 0
  const [messageCount, delayMs] = [1 + random.below(messagesMax), random.next() * delayMsMax]
  const earlyMs = 150 + random.below(250)
  const children = Array.from({ length: writers }, (_, i) => startChild(script, { ...load, seed: loadSeed + i }))
  if (isEarly) await after(earlyMs)
  else {
    await Promise.all(children.map(child => child.hasSent(messageCount)))
    await after(delayMs)
  }
  for (const child of children) child.process.kill('SIGKILL')
  const ended = await Promise.all(children.map(child => child.ended))
  const unclear = ended.flatMap(({ messages, code, errors }) => [
    ...(code === null ? [] : [`the process ended by itself: ${errors.trim().split('\n').at(-1)}`]),
    ...messages.flatMap(each => (each.type === 'broken' ? [each.what] : [])),
  ])
  return { messages: ended.flatMap(each => each.messages), unclear }
}
