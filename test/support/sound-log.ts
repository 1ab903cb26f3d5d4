import { expect } from 'vitest'
import { replayLog, verifyLog } from '../../src/index.ts'

/** Checks that a closed log has no fault, and that its machines decide today as they did then. */
export async function expectSound(store: string): Promise<void> {
  expect((await verifyLog({ store })).faults).toEqual([])
  expect((await replayLog({ store })).divergence).toBeUndefined()
}
