import type { Averba } from '../index.ts'
import type { Metrics } from './metrics.ts'
import type { Answer } from './status-server.ts'

/** Answers probes and scrapers: whether the process is alive, whether it may be given work, and its metrics. */
export function createProbes(
  averba: Averba,
  metrics: Metrics,
  stopping: AbortSignal,
): Record<string, () => Promise<Answer>> {
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
    async '/metrics'() {
      return { status: 200, body: await metrics.scrape(), contentType: metrics.contentType }
    },
  }
}
