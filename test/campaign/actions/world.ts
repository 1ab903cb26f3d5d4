import { minuteMs } from '../../../src/vocabulary/instant.ts'
import type { Performers } from '../perform.ts'

/** Deeds that cause failures: faults, crashes, a full disk, a clock jump. */
export const worldDeeds = {
  async fail({ host }, { who, times }) {
    host.failing[who] = times
  },
  async fault({ services, wrongClocks }, { fault }) {
    if (fault.kind === 'clockSkew') wrongClocks.services = true
    await services.faults.add(fault)
  },
  async calm({ services }) {
    services.faults.clear()
  },
  async crash(simulated, { crash }) {
    simulated.nextCrash = crash
  },
  async fillDisk({ disk, clock }, { minutes }) {
    disk.fill()
    void clock.sleep(minutes * minuteMs).then(() => disk.empty())
  },
  async jump(simulated, { ms }) {
    if (ms !== 0) simulated.wrongClocks.engine = true
    simulated.jumpMs = ms
  },
} satisfies Partial<Performers>
