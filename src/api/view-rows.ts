import type { Store } from '../store/store.ts'
import { isViewStopped, type RowSource } from '../store/views/view-reader.ts'
import type { Views } from '../views/views.ts'

/**
 * Reads rows of views for code that decides or reports outcomes. While a view is stopped, it computes the rows from the
 * log.
 */
export interface ViewRows {
  /**
   * Finds one row. All its events are in one stream, by default the one named like the key.
   *
   * @throws {AverbaError} `VIEW_STOPPED` when the view is stopped and fails at an event of the stream
   */
  find<N extends keyof Views>(view: N, key: string, stream?: string): Promise<Views[N] | undefined>
  /**
   * Runs a query of a view, or computes the same rows from the events of `source`; for few rows. Throws as `find` does.
   */
  select<N extends keyof Views>(
    view: N,
    query: { execute(): Promise<Views[N][]> },
    source: RowSource,
  ): Promise<Views[N][]>
}

/** Creates the reader of rows. */
export function createRows({ viewReader }: Pick<Store, 'viewReader'>): ViewRows {
  return {
    find: async <N extends keyof Views>(view: N, key: string, stream = key) =>
      (await viewReader.find(view, key, stream)) as Views[N] | undefined, // The view of this name has these rows.
    async select<N extends keyof Views>(view: N, query: { execute(): Promise<Views[N][]> }, source: RowSource) {
      try {
        return await query.execute()
      } catch (error) {
        if (!isViewStopped(error)) throw error
        // The view of this name has these rows.
        return (await viewReader.foldFrom(view, source)) as unknown as Views[N][]
      }
    },
  }
}
