import type { Secrets } from '../../../adapters/portal/protocol.ts'
import type { ReceivedHead } from '../../../adapters/receiver/received-head.ts'
import { endOfLog } from '../../../store/log/read.ts'
import { fromInstant, isWithin, toInstant } from '../../../vocabulary/instant.ts'
import type { ApiContext } from '../../api-context.ts'
import type { SecretValues } from '../declared-subscriptions.ts'
import { type ConfirmedEvent, formerSecretsAcceptedMs, type SecretGenerations } from './generations.ts'

/**
 * What is kept of one event's secrets, as JSON in the store. A pair of secrets that a notification may carry is a keyed
 * digest, which is useless without the keyring. One without any secret is not kept: it would match everything.
 */
interface KeptSecrets {
  readonly source: string
  readonly pairs: readonly string[]
  /** The former pairs, each with the end of the log when the change was noticed. */
  readonly formers: readonly { readonly pairs: readonly string[]; readonly since: number }[]
  readonly seen?: ConfirmedEvent
}

type SecretHeaders = Pick<ReceivedHead, 'secret' | 'authorization'>

const ageMaxMs = 1_000
/** How many former secrets are kept: the oldest, which the portal holds, and the latest ones. */
const formersMax = 4

/**
 * Remembers, for all processes of the store, that a secret has changed at its source. The portal uses the former one
 * until the next `apply`, perhaps after a restart: keyed digests of it are kept sealed beside the log.
 */
export function createSecretHistory(
  { store, clock }: Pick<ApiContext, 'store' | 'clock'>,
  generations: Pick<SecretGenerations, 'confirmed'>,
) {
  const cache = new Map<string, { readonly kept: KeptSecrets | undefined; readonly at: number }>()
  const ownSources = new Map<string, string>()

  /** Notes an event's values and their secrets. Those that a call sends count once it is confirmed. */
  async function noteSources(
    evento: string,
    values: SecretValues,
    secrets: readonly Secrets[],
    requestedAt?: number,
  ): Promise<void> {
    const source = digest([values.master, values.chaveSecreta, values.chaveAutenticacao])
    ownSources.set(evento, source)
    const pairs = secrets
      .filter(each => Object.keys(each).length > 0)
      .map(({ chaveSecreta, chaveAutenticacao }) => digest([chaveSecreta, chaveAutenticacao]))
    await change(evento, async before => {
      if (before?.source === source)
        return JSON.stringify(before.pairs) === JSON.stringify(pairs) ? undefined : { ...before, pairs }
      const formers = before ? await formersAfter(evento, before, pairs, requestedAt) : []
      return { ...before, source, pairs, formers }
    })
  }

  /** Notes that the portal listed the current secrets: the former ones expire. */
  async function noteSeenAtPortal(evento: string): Promise<void> {
    await change(evento, async kept => {
      // The list was compared with the values of this process, not with those of another one.
      if (!kept || kept.source !== ownSources.get(evento)) return undefined
      if ((await notApplied(evento, kept)).length === 0) return undefined
      const position = await store.database.read(endOfLog)
      return { ...kept, seen: { position, at: toInstant(clock.now()) } }
    })
  }

  /** Whether a notification has former secrets, for an hour after a change, or newer ones that another process has. */
  async function matches(evento: string, { secret, authorization }: SecretHeaders): Promise<boolean> {
    const kept = await readCached(evento)
    if (!kept) return false
    const isNewer = kept.source !== ownSources.get(evento)
    const accepted = await stillAccepted(evento, kept)
    const pairs = [...(isNewer ? kept.pairs : []), ...accepted.flatMap(each => each.pairs)]
    const carried = [
      [secret, authorization],
      [secret, undefined],
      [undefined, authorization],
    ] // A pair may have one.
    return carried.some(each => pairs.includes(digest(each)))
  }

  /** Whether a change has not reached the portal: an `apply` is needed. */
  async function needsApply(evento: string): Promise<boolean> {
    const kept = await readCached(evento)
    return kept !== undefined && (await notApplied(evento, kept)).length > 0
  }

  async function formersAfter(
    evento: string,
    before: KeptSecrets,
    pairs: readonly string[],
    requestedAt?: number,
  ): Promise<KeptSecrets['formers']> {
    const left = [
      ...(await stillAccepted(evento, before)),
      { pairs: before.pairs, since: requestedAt ?? (await store.database.read(endOfLog)) },
    ]
    // A secret that is current again is not a former one.
    const formers = left
      .map(({ pairs: old, since }) => ({ pairs: old.filter(pair => !pairs.includes(pair)), since }))
      .filter(each => each.pairs.length > 0)
    return formers.length > formersMax ? [...formers.slice(0, 1), ...formers.slice(2)] : formers
  }

  async function stillAccepted(evento: string, kept: KeptSecrets): Promise<KeptSecrets['formers']> {
    const confirmed = await lastConfirmed(evento, kept)
    if (!confirmed || clock.now() <= fromInstant(confirmed.at) + formerSecretsAcceptedMs) return kept.formers
    return kept.formers.filter(each => each.since >= confirmed.position)
  }

  /** The former secrets that the portal still has, by what is known. */
  async function notApplied(evento: string, kept: KeptSecrets): Promise<KeptSecrets['formers']> {
    const confirmed = await lastConfirmed(evento, kept)
    // A subscription that was never registered needs no change.
    return confirmed ? kept.formers.filter(each => each.since >= confirmed.position) : []
  }

  async function lastConfirmed(evento: string, { seen }: KeptSecrets): Promise<ConfirmedEvent | undefined> {
    const confirmed = await generations.confirmed(evento)
    return seen && seen.position > (confirmed?.position ?? 0) ? seen : confirmed
  }

  function digest(secrets: readonly (string | undefined)[]): string {
    return store.digestHex('delivery-secrets', JSON.stringify(secrets))
  }

  async function readCached(evento: string): Promise<KeptSecrets | undefined> {
    const known = cache.get(evento)
    if (known && isWithin(ageMaxMs, known.at, clock.now())) return known.kept
    return cacheValue(evento, (await store.secrets.find(storedName(evento)))?.value)
  }

  async function change(
    evento: string,
    make: (before: KeptSecrets | undefined) => Promise<KeptSecrets | undefined>,
  ): Promise<void> {
    const value = await store.secrets.change(storedName(evento), async before => {
      const kept = await make(parseKeptSecrets(before))
      return kept && JSON.stringify(kept)
    })
    cacheValue(evento, value)
  }

  function cacheValue(evento: string, value: string | undefined): KeptSecrets | undefined {
    const kept = parseKeptSecrets(value)
    cache.set(evento, { kept, at: clock.now() })
    return kept
  }

  return { noteSources, noteSeenAtPortal, matches, needsApply }
}

function parseKeptSecrets(value: string | undefined): KeptSecrets | undefined {
  return value === undefined ? undefined : JSON.parse(value) // Sealed by us, above.
}

function storedName(evento: string): string {
  return `delivery-secrets-${evento}`
}
