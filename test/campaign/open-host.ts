import { onTestFinished } from 'vitest'
import { perform } from './perform.ts'
import { RunRecord } from './run-record.ts'
import { SimulatedHost } from './simulated-host.ts'
import type { Deed } from './step.ts'

/** Opens the world of a run for the current test, which performs deeds in it. */
export function openHost() {
  const runRecord = new RunRecord()
  const simulated = new SimulatedHost(1, runRecord)
  onTestFinished(() => simulated.dispose())
  let id = 0
  const performAll = async (...deeds: Deed[]) => {
    for (const deed of deeds) await perform(simulated, { ...deed, id: ++id, at: 0 })
  }
  return { runRecord, simulated, performAll }
}
