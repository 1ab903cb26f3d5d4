import { vi } from 'vitest'
import { LeaseKeeper } from '../../src/store/ledger/lease-keeper.ts'

/** From now on the work that begins extends no lease, as in a process that stands still, until the function is called. */
export function standStill(): () => void {
  const keeping = vi.spyOn(LeaseKeeper.prototype, 'keep').mockImplementation((_, work) => work())
  return () => keeping.mockRestore()
}
