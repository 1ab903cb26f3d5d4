import type { Secrets } from '../../../adapters/portal/protocol.ts'
import type { ReceivedHead } from '../../../adapters/receiver/received-head.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { endOfLog } from '../../../store/log/read.ts'
import { fromInstant, isWithin, toInstant } from '../../../vocabulary/instant.ts'
import type { LogStore } from '../../events.ts'
import type { SecretValues } from '../declared-subscriptions.ts'
import { type ConfirmedEvent, formerSecretsAcceptedMs, type SecretGenerations } from './generations.ts'

/** A pair of secrets that a notification may carry, as a keyed digest, which is useless without the keyring. */
interface SecretPair {
  readonly hasSecret: boolean
  readonly hasAuthorization: boolean
  readonly digest: string
}

/** What is kept of one event's secrets, as JSON in the store. */
interface KeptSecrets {
  readonly source: string
  readonly pairs: readonly SecretPair[]
  /** The former pairs, each with the end of the log when the change was noticed. */
  readonly formers: readonly { readonly pairs: readonly SecretPair[]; readonly since: number }[]
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
export class SecretHistory {
  readonly #store: LogStore
  readonly #clock: Clock
  readonly #generations: Pick<SecretGenerations, 'confirmed'>
  readonly #cache = new Map<string, { readonly kept: KeptSecrets | undefined; readonly at: number }>()
  /** A digest of the values that this process has read, by event. */
  readonly #ownSources = new Map<string, string>()

  constructor({ store, clock }: { store: LogStore; clock: Clock }, generations: Pick<SecretGenerations, 'confirmed'>) {
    this.#store = store
    this.#clock = clock
    this.#generations = generations
  }

  /**
   * Notes the values read from an event's sources, and the secrets made from them. Secrets that a call sends replace
   * the former ones once it is confirmed: `requestedAt` is the position of its request.
   */
  async noteSources(
    evento: string,
    values: SecretValues,
    secrets: readonly Secrets[],
    requestedAt?: number,
  ): Promise<void> {
    const source = this.#digest(`${JSON.stringify([values.master, values.chaveSecreta, values.chaveAutenticacao])}`)
    this.#ownSources.set(evento, source)
    const pairs = secrets.map(each => this.#toPair(each))
    await this.#change(evento, async before => {
      if (before?.source === source)
        return JSON.stringify(before.pairs) === JSON.stringify(pairs) ? undefined : { ...before, pairs }
      const formers = before ? await this.#formersAfter(evento, before, pairs, requestedAt) : []
      return { ...before, source, pairs, formers }
    })
  }

  /** Notes that the portal listed the current secrets: the former ones expire. */
  async noteSeenAtPortal(evento: string): Promise<void> {
    await this.#change(evento, async kept => {
      // The list was compared with the values of this process, not with those of another one.
      if (!kept || kept.source !== this.#ownSources.get(evento)) return undefined
      if ((await this.#unapplied(evento, kept)).length === 0) return undefined
      const position = await this.#store.reader.read(endOfLog)
      return { ...kept, seen: { position, at: toInstant(this.#clock.now()) } }
    })
  }

  /**
   * Whether a notification carries former secrets of its event, until an hour after the portal has the new ones, or
   * newer ones that only another process has read.
   */
  async matches(evento: string, head: SecretHeaders): Promise<boolean> {
    const kept = await this.#readCached(evento)
    if (!kept) return false
    const isNewer = kept.source !== this.#ownSources.get(evento)
    const accepted = await this.#accepted(evento, kept)
    // The pair of a process without a secret would match everything: it does not count as newer.
    const newer = isNewer ? kept.pairs.filter(hasAnySecret) : []
    const pairs = [...newer, ...accepted.flatMap(each => each.pairs)]
    return pairs.some(pair => this.#isPairIn(pair, head))
  }

  /** Whether a change has not reached the portal: an `apply` is needed. */
  async needsApply(evento: string): Promise<boolean> {
    const kept = await this.#readCached(evento)
    return kept !== undefined && (await this.#unapplied(evento, kept)).length > 0
  }

  async #formersAfter(
    evento: string,
    before: KeptSecrets,
    pairs: readonly SecretPair[],
    requestedAt?: number,
  ): Promise<KeptSecrets['formers']> {
    const digests = new Set(pairs.map(pair => pair.digest))
    const left = [
      ...(await this.#accepted(evento, before)),
      { pairs: before.pairs, since: requestedAt ?? (await this.#store.reader.read(endOfLog)) },
    ]
    // A secret that is current again is not a former one. A pair without a secret is not kept: it would match
    // everything.
    const formers = left
      .map(({ pairs: old, since }) => ({
        pairs: old.filter(pair => hasAnySecret(pair) && !digests.has(pair.digest)),
        since,
      }))
      .filter(each => each.pairs.length > 0)
    return formers.length > formersMax ? [...formers.slice(0, 1), ...formers.slice(2)] : formers
  }

  /** The former secrets that the portal may still send. */
  async #accepted(evento: string, kept: KeptSecrets): Promise<KeptSecrets['formers']> {
    const confirmed = await this.#confirmed(evento, kept)
    if (!confirmed || this.#clock.now() <= fromInstant(confirmed.at) + formerSecretsAcceptedMs) return kept.formers
    return kept.formers.filter(each => each.since >= confirmed.position)
  }

  /** The former secrets that the portal still has, by what is known. */
  async #unapplied(evento: string, kept: KeptSecrets): Promise<KeptSecrets['formers']> {
    const confirmed = await this.#confirmed(evento, kept)
    // A subscription that was never registered needs no change.
    return confirmed ? kept.formers.filter(each => each.since >= confirmed.position) : []
  }

  async #confirmed(evento: string, { seen }: KeptSecrets): Promise<ConfirmedEvent | undefined> {
    const confirmed = await this.#generations.confirmed(evento)
    return seen && seen.position > (confirmed?.position ?? 0) ? seen : confirmed
  }

  #isPairIn({ hasSecret, hasAuthorization, digest }: SecretPair, { secret, authorization }: SecretHeaders): boolean {
    return (
      digest === this.#digest(pairText(hasSecret ? secret : undefined, hasAuthorization ? authorization : undefined))
    )
  }

  #toPair({ chaveSecreta, chaveAutenticacao }: Secrets): SecretPair {
    const digest = this.#digest(pairText(chaveSecreta, chaveAutenticacao))
    return {
      hasSecret: chaveSecreta !== undefined,
      hasAuthorization: chaveAutenticacao !== undefined,
      digest,
    }
  }

  #digest(text: string): string {
    return Buffer.from(this.#store.digest('delivery-secrets', text)).toString('hex')
  }

  async #readCached(evento: string): Promise<KeptSecrets | undefined> {
    const known = this.#cache.get(evento)
    return known && isWithin(ageMaxMs, known.at, this.#clock.now()) ? known.kept : this.#read(evento)
  }

  async #read(evento: string): Promise<KeptSecrets | undefined> {
    return this.#cacheValue(evento, (await this.#store.secrets.find(storedName(evento)))?.value)
  }

  async #change(
    evento: string,
    make: (before: KeptSecrets | undefined) => Promise<KeptSecrets | undefined>,
  ): Promise<void> {
    const value = await this.#store.secrets.change(storedName(evento), async before => {
      const kept = await make(parseKeptSecrets(before))
      return kept && JSON.stringify(kept)
    })
    this.#cacheValue(evento, value)
  }

  #cacheValue(evento: string, value: string | undefined): KeptSecrets | undefined {
    const kept = parseKeptSecrets(value)
    this.#cache.set(evento, { kept, at: this.#clock.now() })
    return kept
  }
}

function parseKeptSecrets(value: string | undefined): KeptSecrets | undefined {
  return value === undefined ? undefined : JSON.parse(value) // Sealed by us, above.
}

function storedName(evento: string): string {
  return `delivery-secrets-${evento}`
}

function pairText(secret: string | undefined, authorization: string | undefined): string {
  return JSON.stringify([secret ?? null, authorization ?? null])
}

function hasAnySecret({ hasSecret, hasAuthorization }: SecretPair): boolean {
  return hasSecret || hasAuthorization
}
