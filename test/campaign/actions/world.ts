import type { Performers } from '../perform.ts'

const minuteMs = 60_000

/** Deeds that cause failures: faults, crashes, a full disk, a clock jump. */
export const perform: Performers<'fail' | 'fault' | 'calm' | 'crash' | 'fillDisk' | 'jump'> = {
  async fail(simulated, { who, times }) {
    simulated.host.failing[who] = times
  },
  async fault(simulated, { fault }) {
    if (fault.kind === 'clockSkew') simulated.wrongClocks.services = true
    await simulated.services.faults.add(fault)
  },
  async calm(simulated) {
    simulated.services.faults.clear()
  },
  async crash(simulated, { crash }) {
    simulated.points.arm(crash)
  },
  async fillDisk(simulated, { minutes }) {
    simulated.disk.fill()
    void simulated.clock.sleep(minutes * minuteMs).then(() => simulated.disk.empty())
  },
  async jump(simulated, { ms }) {
    if (ms !== 0) simulated.wrongClocks.engine = true
    simulated.jumpMs = ms
  },
}
