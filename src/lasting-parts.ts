import { isAwaited } from './awaited.ts'
import type { Received } from './machines/notification.ts'
import type { ArchiveOptions } from './store/archive.ts'
import { parseHeader } from './store/header.ts'
import type { Store } from './store/store.ts'
import { openViews } from './store/views-handle.ts'
import type { Views } from './views/views.ts'

/** Parts that calls and lists of current state open, however old their events. */
const lasting: ReadonlySet<string> = new Set([
  'subject.enrolled/cpf',
  'consent.appeared/record',
  'subject.awarenessAppeared/record',
  'subject.awarenessAmended/record',
])

/**
 * Tells which parts something still needs: current state, or a handler that has not finished.
 *
 * @throws {AverbaError} `VIEW_STOPPED` while a view that tells it stands still
 */
export async function findLasting(store: Store): Promise<ArchiveOptions['stays']> {
  const listed = await store.readLast({ stream: 'portal-main', types: ['portal.listed'] })
  const followers = await store.followers.list()
  // Every handler has passed this position; what it failed at is in the view.
  const passed = Math.min(...followers.map(each => each.position))
  const open = await openViews<Views>(store.viewReader)
    .selectFrom('notifications')
    .select(['notification', 'handlers'])
    .where('state', '!=', 'handled')
    .execute()
  // Which handlers there are for the others is not known yet.
  const waitedFor = new Map(open.map(row => [row.notification, row.handlers !== '[]']))
  const inDoubt = await openViews<Views>(store.viewReader)
    .selectFrom('validations')
    .select('validation')
    .where('state', '=', 'inconclusive')
    .where('resolved_at', 'is', null)
    .where('unreadable', 'is not', null)
    .execute()
  // A person has to look at these.
  const lookedAt = new Set(inDoubt.map(row => row.validation))
  return ({ stream, type, name, position, header }) => {
    if (name === 'unreadable' && lookedAt.has(stream)) return true
    if (lasting.has(`${type}/${name}`) || position === listed?.position) return true
    if (stream.startsWith('notification-')) {
      const { evento } = parseHeader(header).data as Received // Its first event alone has a part.
      if (isAwaited(followers, evento, position)) return true
    }
    const isWaitedFor = waitedFor.get(stream)
    return isWaitedFor === true || (isWaitedFor === false && position > passed)
  }
}
