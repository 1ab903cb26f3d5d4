import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { buildLog } from './build-log.ts'
import { type Figures, medianOf, rateOf, type Say } from './measure.ts'
import { openEngine, validateAll } from './validations.ts'
import { Callers, openStore } from './workload.ts'

const small = 10_000
const middle = 100_000
const large = 1_000_000
const rowsOfView = 50_000
const batches = 7
const runs = 5
const bareEvents = 12_800
const fullEvents = 6_400

/** Whether a long log is as fast as a short one, and a rebuild of it as small. */
export async function benchGrowth(folder: string, say: Say): Promise<Figures> {
  say(`growth: logs of ${small}, ${middle} and ${large} events, with all views`)
  const paths = { small: 'small.sqlite', middle: 'middle.sqlite', large: 'large.sqlite' }
  for (const [name, events, streams] of [
    [paths.small, small, small / 20],
    [paths.middle, middle, rowsOfView],
    [paths.large, large, rowsOfView],
  ] as const) {
    const store = await openStore(folder, name)
    await buildLog(store, events, streams, say)
    await store.close()
  }
  // How high it peaks is also chance: of when the collector runs.
  const memory = (name: string) => medianOf(Array.from({ length: runs }, () => peakMb(join(folder, name))))
  const [before, after] = [memory(paths.middle), memory(paths.large)]
  say(`  peak memory of a rebuild: ${before} MB, and ${after} MB`)
  const [few, many] = [await openStore(folder, paths.small), await openStore(folder, paths.large)]
  const engines = [await openEngine(few), await openEngine(many)] as const
  const callers = [new Callers(few, 64), new Callers(many, 64)] as const
  const ratios: { bare: number[]; full: number[] } = { bare: [], full: [] }
  for (let round = 0; round <= batches; round++) {
    const bare = await inTurn(
      round,
      () => rateOf(bareEvents, () => callers[0].append(bareEvents)),
      () => rateOf(bareEvents, () => callers[1].append(bareEvents)),
    )
    const full = await inTurn(
      round,
      () => rateOf(fullEvents, () => validateAll(engines[0], fullEvents, 64)),
      () => rateOf(fullEvents, () => validateAll(engines[1], fullEvents, 64)),
    )
    say(`  round ${round}: bare ${bare.map(Math.round).join(' and ')}/s, full ${full.map(Math.round).join(' and ')}/s`)
    if (round === 0) continue
    ratios.bare.push(bare[1] / bare[0])
    ratios.full.push(full[1] / full[0])
  }
  await few.close()
  await many.close()
  return {
    growth: Number(medianOf(ratios.bare).toFixed(3)),
    growthFull: Number(medianOf(ratios.full).toFixed(3)),
    rebuildRssGrowthMb: after - before,
  }
}

async function inTurn(
  round: number,
  first: () => Promise<number>,
  second: () => Promise<number>,
): Promise<[number, number]> {
  if (round % 2 === 0) return [await first(), await second()]
  const last = await second()
  return [await first(), last]
}

/** The peak memory of a process that does nothing but rebuild the view of consents, in MB. */
function peakMb(path: string): number {
  const script = join(import.meta.dirname, 'rebuild-alone.ts')
  return Number(execFileSync(process.execPath, [script, path], { encoding: 'utf8' }))
}
