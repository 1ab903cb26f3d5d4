import { writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { checkLog } from './check-log.ts'
import { startChild } from './child.ts'
import { Disk, type Leaves } from './disk.ts'
import { addFindings, type Findings, isAnythingIn, notRun, type Row } from './findings.ts'
import type { Acknowledged } from './load.ts'
import { Random } from './random.ts'
import { logName, Scratch } from './scratch.ts'
import { linesIn, quickly, straceTo, whyNoTracing } from './strace.ts'
import { readTrace, type Step } from './trace.ts'

/** How a campaign of power cuts is sized. */
export interface PowerLossOptions {
  readonly seed: number
  readonly images: number
  /** The same with a store that was weakened on purpose. */
  readonly isWeakened?: boolean
}

/**
 * Records every write and sync of a log that is made and appended to, and opens what a disk may hold after a
 * power cut between any two of them.
 */
export async function cutPower({ seed, images, isWeakened = false }: PowerLossOptions): Promise<Row> {
  const name = isWeakened ? 'power cuts, synchronous=NORMAL' : 'power cuts'
  const why = whyNoTracing()
  if (why) return notRun(name, why)
  const scratch = new Scratch()
  const random = new Random(seed)
  const folder = scratch.folder()
  const steps = await record(folder, scratch.folder(), seed, isWeakened)
  const row = {
    name,
    faults: 0,
    acknowledged: 0,
    lost: [],
    corrupt: [],
    unclear: [] as string[],
    hasToLose: isWeakened,
  }
  const found: Findings = row
  const disk = new Disk(folder)
  const acknowledged: Acknowledged[] = []
  const cuts = random.spread(cutsOf(steps, random), images)
  for (const [i, step] of steps.entries()) {
    disk.apply(step)
    if (step.did === 'say') acknowledged.push(...step.said.filter(each => each.said === 'acknowledged'))
    for (const { leaves, label } of cuts.filter(cut => cut.after === i)) {
      const image = scratch.folder()
      for (const [path, content] of disk.image(leaves)) writeFileSync(join(image, basename(path)), content)
      const { lost, corrupt } = await checkLog(join(image, logName), acknowledged)
      addFindings(found, `seed ${seed}, after step ${i}, ${label}`, { lost, corrupt })
      row.faults += 1
      row.acknowledged += acknowledged.length
      if (isWeakened || !isAnythingIn({ lost, corrupt })) scratch.remove(image)
    }
  }
  if (isWeakened) scratch.remove()
  else row.unclear.push(...scratch.end(found))
  return row
}

async function record(folder: string, traces: string, seed: number, isWeakened: boolean): Promise<Step[]> {
  const load = { path: join(folder, logName), seed, callers: 4, appends: 12, checkpointPages: 40, isWeakened }
  const { said, errors } = await startChild('load-store.ts', load, [...straceTo(traces), quickly]).ended
  if (said.at(-1)?.said !== 'closed') throw new TypeError(`Cannot record a load: ${errors}`)
  return readTrace(linesIn(traces))
}

interface Cut {
  readonly after: number
  readonly leaves: Leaves
  readonly label: string
}

/** After every step: only what was synced, everything, and some of the rest, in pieces. */
function cutsOf(steps: readonly Step[], random: Random): Cut[] {
  return steps.flatMap((_, after) => {
    const seed = random.below(2 ** 32)
    return [
      { after, leaves: 'none' as const, label: 'only what was synced' },
      { after, leaves: 'all' as const, label: 'everything' },
      { after, leaves: new Random(seed), label: `pieces of seed ${seed}` },
      { after, leaves: new Random(seed + 1), label: `pieces of seed ${seed + 1}` },
    ]
  })
}
