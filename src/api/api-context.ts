import type { Engine } from '../engine/engine.ts'
import type { Followers } from '../engine/following/followers.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Entropy } from '../runtime/entropy.ts'
import { readPages } from '../runtime/lazy-list.ts'
import { logPageRows, type ReadFilter } from '../store/log/read.ts'
import type { Store } from '../store/store.ts'
import type { RowSource, ViewBound } from '../store/views/view-reader.ts'
import type { ViewsHandle } from '../store/views/views-handle.ts'
import type { ExpectedStream } from '../store/writing/append.ts'
import type { Views } from '../views/views.ts'
import { AverbaError, hasCode } from '../vocabulary/errors.ts'
import { fromInstant, nearNowMs } from '../vocabulary/instant.ts'
import type { LogLine } from '../vocabulary/log-line.ts'
import type { EffectState, Instant, PendingEffect } from '../vocabulary/message.ts'
import { type ServiceName, streamOf } from '../vocabulary/names.ts'
import type { Tracing } from '../vocabulary/tracing.ts'
import type { Commands } from './commands.ts'
import type { Events, LogStore, Recorded } from './events.ts'
import type { HttpClients } from './http-clients.ts'
import type { HostOptions } from './options.ts'
import type { SubjectDirectory } from './subject-directory.ts'

export interface ApiContext {
  /** Without the host's logger, which may throw: use `log`. */
  readonly options: Omit<HostOptions, 'logger'>
  readonly engine: Engine
  readonly store: LogStore
  readonly followers: Followers<Events>
  readonly http: HttpClients
  readonly tracing: Tracing
  readonly commands: Commands
  readonly subjects: SubjectDirectory
  /** Queries of the views. Throws `VIEW_STOPPED` for a view that has stopped. */
  readonly views: ViewsHandle<Views>
  readonly rows: ReturnType<typeof createRows>
  readonly clock: Clock
  readonly entropy: Entropy
  readonly createId: () => string
  /** Writes a line to the host's logger, with allow-listed fields only. Never throws. */
  readonly log: (line: LogLine) => void
  /** @throws {AverbaError} `SERVICE_NOT_CONFIGURED` when the service has no options */
  require(service: ServiceName): void
  /** Whether a reading is fresh enough. `null` (never read) is not fresh; without a bound, every reading is. */
  isFresh(readAt: Instant | null, ageMaxMs: number | undefined): boolean
}

export function createApiContext(parts: Omit<ApiContext, 'require' | 'isFresh'>): ApiContext {
  const { options, clock } = parts
  return {
    ...parts,
    require(service) {
      if (options[service]) return
      throw new AverbaError('SERVICE_NOT_CONFIGURED', `Cannot call the ${service}: it is not configured`, {
        hint: `Give openAverba the option ${service}`,
      })
    },
    isFresh(readAt, ageMaxMs) {
      if (readAt === null || ageMaxMs === undefined) return readAt !== null
      const ageMs = clock.now() - fromInstant(readAt)
      // The clock was set back since: a reading dated after now has an unknown age.
      return ageMs <= ageMaxMs && ageMs >= -Math.min(ageMaxMs, nearNowMs)
    },
  }
}

/**
 * Creates the reader of rows for code that decides or reports outcomes. While a view is stopped, it computes the rows
 * from the log, and throws `VIEW_STOPPED` when the view fails at one of their events.
 */
export function createRows({ viewReader }: Pick<Store, 'viewReader'>) {
  return {
    /** Finds one row. All its events are in one stream, by default the one named like the key. */
    find: async <N extends keyof Views>(view: N, key: string, stream = key) =>
      (await viewReader.find(view, key, stream)) as Views[N] | undefined, // The view of this name has these rows.
    /** Builds the rows as they were at a position or an instant. */
    asOf: async <N extends keyof Views>(view: N, bound: ViewBound) =>
      (await viewReader.asOf(view, bound)) as Views[N][], // The view of this name has these rows.
    /** Runs a query of a view, or computes the same rows from the events of `source`; for few rows. */
    async select<N extends keyof Views>(view: N, query: { execute(): Promise<Views[N][]> }, source: RowSource) {
      try {
        return await query.execute()
      } catch (error) {
        if (!hasCode(error, 'VIEW_STOPPED')) throw error
        // The view of this name has these rows.
        return (await viewReader.foldFrom(view, source)) as unknown as Views[N][]
      }
    },
  }
}

/** The precondition that nothing is recorded in a stream from now on. */
export async function expectUnchanged(store: Pick<LogStore, 'readLast'>, stream: string): Promise<ExpectedStream> {
  return { stream, expect: (await store.readLast({ stream }))?.version ?? 'none' }
}

/** The key of a service's record in the index: the contract addresses records by data subject and id. */
export function recordKey(subject: string, id: string): string {
  return `${subject}\0${id}`
}

/** Finds our stream of a consent by its `recordKey`, or of a subscription by its event. */
export async function findStream(
  store: Pick<Store, 'lookUp'>,
  kind: 'consent' | 'subscription',
  text: string,
): Promise<string | undefined> {
  const id = await store.lookUp(kind, text)
  return id === undefined ? undefined : streamOf(kind, id)
}

/** Reads the events that a filter selects, page by page, and lets other work run in between. */
export async function* readEvents<T extends keyof Events = keyof Events>(
  store: Pick<LogStore, 'read'>,
  filter: ReadFilter<T>,
): AsyncGenerator<Recorded<T>> {
  const { limit = logPageRows } = filter
  const read = (last?: Recorded<T>) => store.read({ ...filter, ...(last && { after: last.position }) })
  for await (const page of readPages(limit, read)) yield* page
}

const effectsPageRows = 100

/** Reads the calls of some states, or all, page by page, oldest first; also those whose event is damaged. */
export function effectPages(
  store: Pick<LogStore, 'effects'>,
  states?: readonly EffectState[],
): AsyncGenerator<readonly PendingEffect[]> {
  const filter = { ...(states && { states }), withDamaged: true, limit: effectsPageRows }
  return readPages(effectsPageRows, after => store.effects({ ...filter, ...(after && { after }) }))
}
