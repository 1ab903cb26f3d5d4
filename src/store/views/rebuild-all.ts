import type { View } from '../../vocabulary/view.ts'
import type { Rebuilder, RebuildOptions, RebuildResult } from './rebuilder.ts'
import { noSuchView } from './view-table.ts'

/** Options of a rebuild of several views. */
export interface RebuildAll extends Pick<RebuildOptions, 'signal' | 'compare'> {
  readonly views?: readonly string[]
  /** Called after each page with the view, the position reached and the end of the log. */
  readonly onProgress?: (view: string, position: number, end: number) => void
}

/**
 * Rebuilds views one after the other. When the signal aborts, it returns those that are finished.
 *
 * @throws {AverbaError} `INVALID_INPUT` for an unknown view, and as `Rebuilder.rebuild`
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
