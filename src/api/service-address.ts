import { trimEndSlashes } from '../adapters/http/answer-body.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import type { EffectMap } from '../vocabulary/log-types.ts'
import { makePerformers, type PerformersOf } from '../vocabulary/performer.ts'

/** The address by which a log identifies a service: in another environment its ids and statuses mean something else. */
export function addressOf({ baseUrl, knownAs = baseUrl }: { baseUrl: string; knownAs?: string }): string {
  return trimEndSlashes(new URL(knownAs).href)
}

/** Performs no call when the log belongs to another address. `find` only looks for its own; `bind` may decide it. */
export function guardByAddress<M extends EffectMap>(
  performers: PerformersOf<M>,
  address: string,
  find: () => Promise<string | undefined>,
  bind = find,
): PerformersOf<M> {
  let known: string | undefined // It never changes.
  const isOurs = async (look: typeof find) => {
    known ??= await look()
    return (known ?? address) === address
  }
  return makePerformers<M>(performers, type => {
    const performer = performers[type]
    const takes: typeof performer.takes = async pending => (await isOurs(find)) && (performer.takes?.(pending) ?? true)
    const perform: typeof performer.perform = async (...call) => {
      if (await isOurs(bind)) return performer.perform(...call)
      return { status: 'deferred', reason: 'the log belongs to another address of the service' }
    }
    return { ...performer, takes, perform }
  })
}

/** Checks that a service is the one that a log belongs to. Throws `MISCONFIGURED`. */
export function checkAddress(option: 'consentService' | 'portal', address: string, known = address): void {
  if (known === address) return
  throw new AverbaError('MISCONFIGURED', `Cannot use ${option}.baseUrl: this log belongs to the one at "${known}"`, {
    hint: `Use a separate log for another environment. If the same service has moved, give its former address as ${option}.knownAs`,
  })
}
