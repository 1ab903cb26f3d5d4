import { injectFaults } from './faults.ts'
import type { Row } from './findings.ts'
import { killEngineOften, killOften } from './kills.ts'
import { cutPower } from './power-loss.ts'

/** The size of a campaign. */
export interface CampaignOptions {
  readonly seed: number
  /** How often the store is killed; the engine is killed a quarter as often. */
  readonly kills: number
  /** How many of all possible faults are injected, evenly spread. */
  readonly faults: number
  /** How many disk images after a power cut are checked; a quarter as many for a weakened store. */
  readonly images: number
}

/** Runs every part of the campaign, and yields each row when it is done. */
export async function* runCampaign({ seed, kills, faults, images }: CampaignOptions): AsyncIterable<Row> {
  yield await killOften({ seed, kills })
  yield await killEngineOften({ seed, kills: Math.ceil(kills / 4) })
  yield* await injectFaults({ seed, faults })
  yield await cutPower({ seed, images })
  yield await cutPower({ seed, images: Math.ceil(images / 4), isWeakened: true })
}
