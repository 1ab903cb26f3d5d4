import { AverbaError } from '../errors.ts'
import type { Connection } from './connection.ts'
import { readCheckpoints } from './projector.ts'
import type { Rebuilder } from './rebuilder.ts'
import type { StoreOptions } from './store-options.ts'

/** A view that stopped catches up; one that was never built, or would be folded in another way now, is built. */
export async function restoreViews(
  connection: Connection,
  rebuilder: Rebuilder,
  { views, onViewStopped }: Pick<StoreOptions, 'views' | 'onViewStopped'>,
): Promise<void> {
  const checkpoints = await connection.read(() => readCheckpoints())
  const stopped = new Map(checkpoints.filter(each => !each.isRunning).map(each => [each.view, each]))
  for (const view of views) {
    const checkpoint = stopped.get(view.name)
    if (!checkpoint) continue
    try {
      if (checkpoint.position === 0) await rebuilder.rebuild(view, { compare: false })
      else await rebuilder.catchUp(view)
    } catch (error) {
      // Another process builds it: it rejoins by that one's hand.
      if (error instanceof AverbaError && error.code === 'STORE_BUSY') continue
      if (error instanceof AverbaError) throw error
      onViewStopped?.(view.name)
    }
  }
}
