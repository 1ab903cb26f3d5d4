import type { Engine } from '../engine/engine.ts'
import type { Followers } from '../engine/following/followers.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Entropy } from '../runtime/entropy.ts'
import type { Store } from '../store/store.ts'
import type { ViewsHandle } from '../store/views/views-handle.ts'
import type { Views } from '../views/views.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { fromInstant, nearNowMs } from '../vocabulary/instant.ts'
import type { LogLine } from '../vocabulary/log-line.ts'
import type { Instant } from '../vocabulary/message.ts'
import type { ServiceName } from '../vocabulary/service-name.ts'
import type { Tracing } from '../vocabulary/tracing.ts'
import type { Commands } from './commands.ts'
import type { HttpClients } from './http-clients.ts'
import type { HostOptions } from './options.ts'
import type { SubjectDirectory } from './subject-directory.ts'
import type { ViewRows } from './view-rows.ts'

/** What every area of the API shares. */
export interface ApiContext {
  /** Without the host's logger, which may throw: use `log`. */
  readonly options: Omit<HostOptions, 'logger'>
  readonly engine: Engine
  readonly store: Store
  readonly followers: Followers
  readonly http: HttpClients
  readonly tracing: Tracing
  readonly commands: Commands
  readonly subjects: SubjectDirectory
  /** Queries of the views. Throws `VIEW_STOPPED` for a view that has stopped. */
  readonly views: ViewsHandle<Views>
  readonly rows: ViewRows
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

/** Creates the context that the areas share. */
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
