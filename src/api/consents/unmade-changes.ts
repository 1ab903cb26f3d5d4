import type { ConsentEvent } from '../../machines/consent/events.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { RecordedOf } from '../../vocabulary/view.ts'
import type { ApiContext } from '../api-context.ts'

/** How many consents stand although we asked for their end: it was refused, or the answer lost or contrary. */
export async function countStandingUnmade({
  views,
  clock,
}: Pick<ApiContext, 'views' | 'clock'>): Promise<number> {
  const counted = await views
    .selectFrom('consents')
    .select(eb => eb.fn.countAll<number>().as('count'))
    .where('unmade', 'in', ['NEGADO', 'REVOGADO'])
    .where('status', '=', 'ATIVO')
    // Of one that is not listed nothing can be asked for.
    .where('knowledge', '!=', 'vanished')
    .where(eb => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', toInstant(clock.now()))]))
    .executeTakeFirst()
  return Number(counted?.count ?? 0)
}

const messages = {
  'consent.changeNotMade': 'a change of a consent was not made: it has to be asked for again',
  // Perhaps because the person has made it.
  'consent.changeDeclined': 'the service refused a change of a consent: a reading tells how it stands',
} as const

/** Tells the logger of each change that was refused, or turns out not to have been made: it is not asked for again. */
export function tellOfUnmadeChanges({ engine, log }: Pick<ApiContext, 'engine' | 'log'>): void {
  for (const type of ['consent.changeNotMade', 'consent.changeDeclined'] as const) {
    engine.on(type, event => {
      const { stream, data } = event as RecordedOf<Extract<ConsentEvent, { type: typeof type }>>
      log({ message: messages[type], detail: `${stream}: ${data.asked}` })
    })
  }
}
