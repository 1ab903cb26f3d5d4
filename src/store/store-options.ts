import type { Clock, Entropy } from '../clock.ts'
import type { View } from '../view.ts'
import type { Medium } from './medium.ts'
import type { RebuildOptions } from './rebuilder.ts'
import type { Schemas } from './schemas.ts'

/** How to open a store. */
export interface StoreOptions {
  /** The path of a SQLite file, or `:memory:`. */
  readonly path: string
  /** What it stands on, where that outlives an engine that dies. */
  readonly medium?: Medium
  readonly views: readonly View[]
  readonly clock: Clock
  readonly entropy: Entropy
  readonly createId: () => string
  /** How events of older schemas are read; none has changed when absent. */
  readonly schemas?: Schemas
  /** Told once, with the path, when a keyring file is made. */
  readonly onKeyringCreated?: (path: string) => void
  /** Told of a view that failed, and shows what was before. */
  readonly onViewStopped?: (view: string) => void
  /** Told after every commit of this process, with the end of the log. */
  readonly onCommitted?: (position: number) => void
  /** Told how long each committed transaction took, in milliseconds: the event loop stood still for so long. */
  readonly onTransacted?: (ms: number) => void
}

/** How a rebuild of all views goes. */
export interface RebuildAll extends Pick<RebuildOptions, 'signal' | 'compare'> {
  /** The names of the views; all when absent. */
  readonly views?: readonly string[]
  /** Told of each page: the view, the position it has come to, the end of the log. */
  readonly onProgress?: (view: string, position: number, end: number) => void
}
