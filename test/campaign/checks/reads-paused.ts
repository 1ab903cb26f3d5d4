import type { CreateCheck } from '../check.ts'

const minuteMs = 60_000
/** How often one resource may be read within a minute. */
const readingsMax = 60

/** No resource is read repeatedly without a pause, whatever the answers are. */
export const readsPaused: CreateCheck = (simulated, report) => {
  const readings = new Map<string, number>()
  let minute = 0
  return {
    served(service, { method, url }) {
      if (method !== 'GET') return
      const now = Math.floor(simulated.clock.now() / minuteMs)
      if (now !== minute) readings.clear()
      minute = now
      const { pathname, search } = new URL(url)
      const times = (readings.get(pathname + search) ?? 0) + 1
      readings.set(pathname + search, times)
      if (times === readingsMax) report(`a resource of the ${service} was read ${times} times within a minute`)
    },
  }
}
