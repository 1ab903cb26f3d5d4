import Sqlite from 'better-sqlite3'
import type { CreateCheck } from '../check.ts'

/** The effects that may have been done at a service since a backup. Readings and local effects do not matter. */
const externalEffects = [
  'consentService.changeStatus',
  'portal.changeSubscription',
  'portal.deleteSubscription',
  'portal.subscribe',
  'tokenService.requestToken',
  'validationService.validatePerson',
]

/** Effects that were pending in a backup become unknown after its restore, because they may have been done since. */
export const unknownAfterRestore: CreateCheck = (simulated, report) => {
  let pending = new Set<string>()
  return {
    rolledBack() {
      pending = pendingEffects(simulated.disk.path)
      if (pending.size > 0) simulated.runRecord.markReached('pending before a restore')
    },
    recorded({ settles, position }) {
      if (!settles || !pending.has(settles.effect) || settles.as === 'unknown') return
      report(`${settles.effect} was pending before a restore, but is ${settles.as} by the event ${position}`)
    },
  }
}

/** The ids of the pending effects of a log. */
function pendingEffects(path: string): Set<string> {
  const database = new Sqlite(path, { readonly: true })
  try {
    const select = database.prepare(
      `select stream.name || '/' || event.version || '/' || effect.n from effect
        join event on event.position = effect.position join stream on stream.key = effect.stream
        where effect.is_open = 1 and effect.state <> 'unknown'
        and effect.type in (${externalEffects.map(() => '?').join()})`,
    )
    return new Set(select.pluck().all(...externalEffects) as string[]) // The selected column.
  } finally {
    database.close()
  }
}
