import type { MakeCheck } from '../check.ts'

const minuteMs = 60_000
/** How often one thing may be read within a minute: hosts ask for what they want at once, and what they ask is few. */
const readingsMax = 60

/** Nothing is read again and again without a pause, whatever the answers are. */
export const noStorm: MakeCheck = (box, say) => {
  const readings = new Map<string, number>()
  let minute = 0
  return {
    served(service, { method, url }) {
      if (method !== 'GET') return
      const now = Math.floor(box.clock.now() / minuteMs)
      if (now !== minute) readings.clear()
      minute = now
      const { pathname, search } = new URL(url)
      const times = (readings.get(pathname + search) ?? 0) + 1
      readings.set(pathname + search, times)
      if (times === readingsMax) say(`one thing was read at the ${service} ${times} times within a minute`)
    },
  }
}
