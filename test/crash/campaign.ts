import { injectFaults } from './faults.ts'
import type { Row } from './findings.ts'
import { killEngineOften, killOften } from './kills.ts'
import { cutPower } from './power-loss.ts'

/** How a campaign is sized. */
export interface CampaignOptions {
  readonly seed: number
  /** How often the store is killed, and the engine a quarter as often. */
  readonly kills: number
  /** How many faults are injected, spread over all that there are. */
  readonly faults: number
  /** How many disks are made up as a power cut may leave them; a quarter as many of a weakened store. */
  readonly images: number
}

/** Runs every part of the campaign, and gives its rows as they are done. */
export async function* runCampaign({ seed, kills, faults, images }: CampaignOptions): AsyncIterable<Row> {
  yield await killOften({ seed, kills })
  yield await killEngineOften({ seed, kills: Math.ceil(kills / 4) })
  yield* await injectFaults({ seed, faults })
  yield await cutPower({ seed, images })
  yield await cutPower({ seed, images: Math.ceil(images / 4), isWeakened: true })
}
