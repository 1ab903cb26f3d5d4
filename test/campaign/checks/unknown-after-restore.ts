import Sqlite from 'better-sqlite3'
import type { MakeCheck } from '../check.ts'

/** What may have been done since a backup: no reading, and nothing that is done here. */
const outside = [
  'consentService.changeStatus',
  'portal.changeSubscription',
  'portal.deleteSubscription',
  'portal.subscribe',
  'tokenService.requestToken',
  'validationService.validatePerson',
]

/** What was owed when a backup was made is in doubt once that was restored: it may have been done since. */
export const unknownAfterRestore: MakeCheck = (box, say) => {
  let owed = new Set<string>()
  return {
    rolledBack() {
      owed = owedIn(box.disk.path)
      if (owed.size > 0) box.book.reach('owed before a restore')
    },
    recorded({ settles, position }) {
      if (!settles || !owed.has(settles.effect) || settles.as === 'unknown') return
      say(`${settles.effect} was owed before a restore, and is ${settles.as} by the event ${position}`)
    },
  }
}

/** The calls that a log owes, by their ids. */
function owedIn(path: string): Set<string> {
  const database = new Sqlite(path, { readonly: true })
  try {
    const select = database.prepare(
      `select stream.name || '/' || event.version || '/' || effect.n from effect
        join event on event.position = effect.position join stream on stream.key = effect.stream
        where effect.is_open = 1 and effect.state <> 'unknown'
        and effect.type in (${outside.map(() => '?').join()})`,
    )
    return new Set(select.pluck().all(...outside) as string[]) // As asked.
  } finally {
    database.close()
  }
}
