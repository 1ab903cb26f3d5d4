import type { Store } from '../store/store.ts'
import { isViewStopped, type RowSource } from '../store/views/view-reader.ts'
import type { Views } from '../views/views.ts'

/**
 * Rows of views for code that decides, or tells what became of something. While a view stands still, they are made from
 * the log.
 */
export interface ViewRows {
  /**
   * Finds one row. All events of it are of one stream, which is its key where none is named.
   *
   * @throws {AverbaError} `VIEW_STOPPED` when the view stands still, and fails at an event of the stream
   */
  find<N extends keyof Views>(view: N, key: string, stream?: string): Promise<Views[N] | undefined>
  /**
   * Runs a query of a view, or makes the same rows of the events of `source`: for few of them. Throws as `find` does.
   */
  select<N extends keyof Views>(
    view: N,
    query: { execute(): Promise<Views[N][]> },
    source: RowSource,
  ): Promise<Views[N][]>
}

/** Makes the finder of rows. */
export function createRows({ viewReader }: Pick<Store, 'viewReader'>): ViewRows {
  return {
    find: async <N extends keyof Views>(view: N, key: string, stream = key) =>
      (await viewReader.find(view, key, stream)) as Views[N] | undefined, // The view of this name has these rows.
    async select<N extends keyof Views>(
      view: N,
      query: { execute(): Promise<Views[N][]> },
      source: RowSource,
    ) {
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
