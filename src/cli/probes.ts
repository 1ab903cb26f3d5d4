import type { Averba } from '../index.ts'
import type { Answer } from './status-server.ts'

/** What probes ask for: whether the process is alive, and whether it may be given work. */
export function createProbes(averba: Averba, stopping: AbortSignal): Record<string, () => Promise<Answer>> {
  return {
    async '/healthz'() {
      const { checks } = await averba.health({ only: ['store'] })
      const isAlive = checks.every(each => each.ok)
      return { status: isAlive ? 200 : 503, body: { alive: isAlive, checks } }
    },
    async '/readyz'() {
      if (stopping.aborted) return { status: 503, body: { ready: false, reasons: ['it is stopping'] } }
      const { ready, checks, reasons } = await averba.health()
      return { status: ready ? 200 : 503, body: { ready, reasons, checks } }
    },
  }
}
