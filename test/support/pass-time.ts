import type { Averba } from '../../src/index.ts'
import type { VirtualClock } from '../../src/simulation/index.ts'

import { hourMs } from '../../src/vocabulary/instant.ts'

export { dayMs, hourMs, minuteMs } from '../../src/vocabulary/instant.ts'

/** Lets time pass on a virtual clock, then does what is due; several times if asked. */
export async function passTime(
  { averba, clock }: { averba: Pick<Averba, 'settle'>; clock: Pick<VirtualClock, 'advance'> },
  ms: number,
  times = 1,
): Promise<void> {
  for (let time = 0; time < times; time++) {
    await clock.advance(ms)
    await averba.settle()
  }
}

/** Settles every hour, as a cron job would: first, and before each hour passes. */
export async function settleHourly({ averba, clock }: Parameters<typeof passTime>[0], hours: number): Promise<void> {
  for (let hour = 0; hour < hours; hour++) {
    await averba.settle()
    await clock.advance(hourMs)
  }
}
