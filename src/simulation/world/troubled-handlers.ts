import type { Averba } from '../../averba/averba.ts'
import type { Instant } from '../../vocabulary/message.ts'

/** A notification handler, or a follower of the log, whose last call failed. */
export interface TroubledHandler {
  /** Its name, the notification or position, and the reason of the failure. */
  readonly description: string
  /** The time of its next call; null while it is parked. */
  readonly retryAt: Instant | null
}

/** Lists the handlers and followers whose last call failed and that were not released since. */
export async function listTroubled({ notifications, log }: Averba): Promise<TroubledHandler[]> {
  const troubled: TroubledHandler[] = []
  for (const state of ['failing', 'parked'] as const) {
    for await (const { id, evento, handlers } of notifications.list({ state })) {
      for (const { handler, retryAt, ...how } of handlers) {
        if (how.state !== 'failing' && how.state !== 'parked') continue
        const what = `the handler "${handler}" of "${evento}" at the notification ${id}`
        troubled.push({ description: formatTroubledHandler(what, { ...how, retryAt }), retryAt })
      }
    }
  }
  for (const { name, position, isParked, dueAt, ...how } of await log.followers()) {
    if (!isParked && dueAt === null) continue
    const what = `the follower "${name}" after position ${position}`
    troubled.push({ description: formatTroubledHandler(what, { ...how, retryAt: dueAt }), retryAt: dueAt })
  }
  return troubled
}

function formatTroubledHandler(
  what: string,
  { attempts, reason, retryAt }: { attempts: number; reason: string; retryAt: Instant | null },
): string {
  const next = retryAt === null ? 'parked' : `next call at ${retryAt}`
  return `${what}: failed ${attempts} times, ${next}: ${reason}`
}
