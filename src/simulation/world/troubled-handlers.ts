import type { Averba } from '../../averba/averba.ts'
import type { Instant } from '../../vocabulary/message.ts'

/** A handler of a notification, or a follower of the log, whose last call failed. */
export interface TroubledHandler {
  /** Names it, what it failed at, and why. */
  readonly says: string
  /** When it is called again; null while it is parked, until a person releases it. */
  readonly retryAt: Instant | null
}

/** Lists the handlers and followers whose last call failed, and that have neither succeeded nor been released since. */
export async function listTroubled({ notifications, log }: Averba): Promise<TroubledHandler[]> {
  const troubled: TroubledHandler[] = []
  for (const state of ['failing', 'parked'] as const) {
    for await (const { id, evento, handlers } of notifications.list({ state })) {
      for (const { handler, retryAt, ...how } of handlers) {
        if (how.state !== 'failing' && how.state !== 'parked') continue
        const what = `the handler "${handler}" of "${evento}" at the notification ${id}`
        troubled.push({ says: saying(what, { ...how, retryAt }), retryAt })
      }
    }
  }
  for (const { name, position, isParked, dueAt, ...how } of await log.followers()) {
    if (!isParked && dueAt === null) continue
    const what = `the follower "${name}" after position ${position}`
    troubled.push({ says: saying(what, { ...how, retryAt: dueAt }), retryAt: dueAt })
  }
  return troubled
}

function saying(
  what: string,
  { attempts, reason, retryAt }: { attempts: number; reason: string; retryAt: Instant | null },
): string {
  const next = retryAt === null ? 'parked' : `to be called again at ${retryAt}`
  return `${what}: failed ${attempts} times, ${next}: ${reason}`
}
