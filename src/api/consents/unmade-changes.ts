import type { ConsentEvent } from '../../machines/consent/events.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { RecordedOf } from '../../vocabulary/view.ts'
import type { ApiContext } from '../api-context.ts'

/**
 * Counts the active consents whose end we requested in vain: it was refused, or its answer was lost or said otherwise.
 */
export async function countActiveUnmade({ views, clock }: Pick<ApiContext, 'views' | 'clock'>): Promise<number> {
  const counted = await views
    .selectFrom('consents')
    .select(eb => eb.fn.countAll<number>().as('count'))
    .where('unmade', 'in', ['NEGADO', 'REVOGADO'])
    .where('status', '=', 'ATIVO')
    // No change of an unlisted consent can be requested.
    .where('knowledge', '!=', 'vanished')
    .where(eb => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', toInstant(clock.now()))]))
    .executeTakeFirst()
  return Number(counted?.count ?? 0)
}

const logMessages = {
  'consent.changeNotMade': 'a change of a consent was not made: request it again',
  // Perhaps because the person has made it.
  'consent.changeDeclined': 'the service refused a change of a consent: a reading will show its status',
} as const

/** Logs each change that was refused or turns out not to have been made. It is not repeated automatically. */
export function logUnmadeChanges({ engine, log }: Pick<ApiContext, 'engine' | 'log'>): void {
  for (const type of ['consent.changeNotMade', 'consent.changeDeclined'] as const) {
    engine.on(type, event => {
      const { stream, data } = event as RecordedOf<Extract<ConsentEvent, { type: typeof type }>>
      log({ message: logMessages[type], detail: `${stream}: ${data.asked}` })
    })
  }
}
