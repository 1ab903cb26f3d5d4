import { trimEndSlashes } from '../adapters/http/answer-body.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import type { EffectMap } from '../vocabulary/log-types.ts'
import { makePerformers, type PerformersOf } from '../vocabulary/performer.ts'

/** The address by which a log identifies a service: in another environment its ids and statuses mean something else. */
export function addressOf({ baseUrl, knownAs = baseUrl }: { baseUrl: string; knownAs?: string }): string {
  return trimEndSlashes(new URL(knownAs).href)
}

/** Performs no call when the log has come to belong to the service at another address since it was opened. */
export function guardByAddress<M extends EffectMap>(
  performers: PerformersOf<M>,
  address: string,
  findKnown: () => Promise<string | undefined>,
): PerformersOf<M> {
  let known: string | undefined // It never changes.
  return makePerformers<M>(performers, type => {
    const performer = performers[type]
    const takes: typeof performer.takes = async pending => {
      known ??= await findKnown()
      return (known ?? address) === address && (performer.takes?.(pending) ?? true)
    }
    return { ...performer, takes }
  })
}

/** Checks that a service is the one that a log belongs to. Throws `MISCONFIGURED`. */
export function checkAddress(option: 'consentService' | 'portal', address: string, known = address): void {
  if (known === address) return
  throw new AverbaError('MISCONFIGURED', `Cannot use ${option}.baseUrl: this log belongs to the one at "${known}"`, {
    hint: `Use a separate log for another environment. If the same service has moved, give its former address as ${option}.knownAs`,
  })
}
