import { writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Random } from '../support/random.ts'
import { checkLog } from './check-log.ts'
import { startChild } from './child.ts'
import { Disk, type Survivors } from './disk.ts'
import { addFindings, createRow, hasFindings, type Row } from './findings.ts'
import type { AcknowledgedMessage } from './load.ts'
import { logName, Scratch } from './scratch.ts'
import { readTraceLines, seccompFlag, straceCommand, whyTracingUnavailable } from './strace.ts'
import { readTrace, type Step } from './trace.ts'

/**
 * Records every write and sync while a log is created and appended to. Then checks the possible disk contents after a
 * power cut between any two of them.
 *
 * @param isWeakened uses a store with deliberately reduced durability
 */
export async function cutPower(seed: number, images: number, isWeakened = false): Promise<Row> {
  const name = isWeakened ? 'power cuts, synchronous=NORMAL' : 'power cuts'
  const notRun = whyTracingUnavailable()
  if (notRun) return createRow(name, { notRun })
  const row = createRow(name, { mustLose: isWeakened })
  const scratch = new Scratch()
  const random = new Random(seed)
  const folder = scratch.folder()
  const steps = await recordTrace(folder, scratch.folder(), seed, isWeakened)
  const disk = new Disk(folder)
  const acknowledged: AcknowledgedMessage[] = []
  // The weakened store must be seen to lose: it is cut at its worst, where no write that was not synced survives.
  const possible = createCuts(steps, random).filter(cut => !isWeakened || cut.survivors === 'none')
  const cuts = random.spread(possible, images)
  for (const [i, step] of steps.entries()) {
    disk.apply(step)
    if (step.type === 'output') acknowledged.push(...step.messages.filter(each => each.type === 'acknowledged'))
    for (const { survivors, label } of cuts.filter(cut => cut.after === i)) {
      const image = scratch.folder()
      for (const [path, content] of disk.image(survivors)) writeFileSync(join(image, basename(path)), content)
      const found = await checkLog(join(image, logName), acknowledged)
      addFindings(row, `seed ${seed}, after step ${i}, ${label}`, found)
      row.faults += 1
      row.acknowledged += acknowledged.length
      if (isWeakened || !hasFindings(found)) scratch.remove(image)
    }
  }
  if (isWeakened) scratch.remove()
  else row.unclear.push(...scratch.end(row))
  return row
}

async function recordTrace(folder: string, traces: string, seed: number, isWeakened: boolean): Promise<Step[]> {
  const load = { path: join(folder, logName), seed, callers: 4, appends: 12, checkpointPages: 40, isWeakened }
  const { messages, errors } = await startChild('load-store.ts', load, [...straceCommand(traces), seccompFlag]).ended
  if (messages.at(-1)?.type !== 'closed') throw new TypeError(`Cannot record a load: ${errors}`)
  return readTrace(readTraceLines(traces))
}

/** Creates four cuts after every step: with only the synced changes, with all, and two with random parts. */
function createCuts(steps: readonly Step[], random: Random): { after: number; survivors: Survivors; label: string }[] {
  return steps.flatMap((_, after) => {
    const seed = random.below(2 ** 32)
    return [
      { after, survivors: 'none' as const, label: 'only what was synced' },
      { after, survivors: 'all' as const, label: 'everything' },
      { after, survivors: new Random(seed), label: `pieces of seed ${seed}` },
      { after, survivors: new Random(seed + 1), label: `pieces of seed ${seed + 1}` },
    ]
  })
}
