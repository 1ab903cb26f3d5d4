import type { Performers } from '../perform.ts'

const minuteMs = 60_000

/** Deeds that cause failures: faults, crashes, a full disk, a clock jump. */
export const perform: Performers<'fail' | 'fault' | 'calm' | 'crash' | 'fillDisk' | 'jump'> = {
  async fail(box, { who, times }) {
    box.host.failing[who] = times
  },
  async fault(box, { fault }) {
    if (fault.kind === 'clockSkew') box.wrongClocks.services = true
    await box.services.faults.add(fault)
  },
  async calm(box) {
    box.services.faults.clear()
  },
  async crash(box, { crash }) {
    box.points.arm(crash)
  },
  async fillDisk(box, { minutes }) {
    box.disk.fill()
    void box.clock.sleep(minutes * minuteMs).then(() => box.disk.empty())
  },
  async jump(box, { ms }) {
    if (ms !== 0) box.wrongClocks.engine = true
    box.jumpMs = ms
  },
}
