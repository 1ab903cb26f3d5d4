import type { Averba } from '../../src/index.ts'
import type { VirtualClock } from '../../src/simulation/index.ts'

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
