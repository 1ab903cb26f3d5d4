import type { View } from '../../vocabulary/view.ts'
import type { Rebuilder, RebuildOptions, RebuildResult } from './rebuilder.ts'
import { noSuchView } from './view-table.ts'

/** How a rebuild of all views goes. */
export interface RebuildAll extends Pick<RebuildOptions, 'signal' | 'compare'> {
  /** The names of the views; all when absent. */
  readonly views?: readonly string[]
  /** Told of each page: the view, the position it has come to, the end of the log. */
  readonly onProgress?: (view: string, position: number, end: number) => void
}

/**
 * Builds views one after the other. Ended by a signal, it gives the finished ones.
 *
 * @throws {AverbaError} `INVALID_INPUT` for a name of none, and as a rebuild of one
 */
export async function rebuildAll(
  rebuilder: Rebuilder,
  views: readonly View[],
  { views: names, onProgress, ...others }: RebuildAll,
): Promise<RebuildResult[]> {
  const unknown = names?.find(name => !views.some(view => view.name === name))
  if (unknown !== undefined) throw noSuchView(`Cannot rebuild "${unknown}"`, views)
  const rebuilt: RebuildResult[] = []
  for (const view of views.filter(each => names?.includes(each.name) ?? true)) {
    const done = await rebuilder.rebuild(view, {
      ...others,
      ...(onProgress && { onProgress: (position, end) => onProgress(view.name, position, end) }),
    })
    if (!done) break
    rebuilt.push(done)
  }
  return rebuilt
}
