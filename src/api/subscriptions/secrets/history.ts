import type { Secrets } from '../../../adapters/portal/protocol.ts'
import type { ReceivedHead } from '../../../adapters/receiver/received-head.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { endOfLog } from '../../../store/log/position-before.ts'
import type { Store } from '../../../store/store.ts'
import { fromInstant, isWithin, toInstant } from '../../../vocabulary/instant.ts'
import type { SecretValues } from '../declared-subscriptions.ts'
import { type ConfirmedEvent, formerSecretsAcceptedMs, type SecretGenerations } from './generations.ts'

/** A pair of secrets that a notification may carry: comparable, and of no use to anyone without the keyring. */
interface SecretPair {
  readonly hasSecret: boolean
  readonly hasAuthorization: boolean
  readonly digest: string
}

/** What is kept of the secrets of one event, as far as they were asked for. */
interface KeptSecrets {
  /** Stands for what the sources gave last. */
  readonly source: string
  readonly pairs: readonly SecretPair[]
  /** What the sources gave before, each with the end of the log when the change was noticed. */
  readonly formers: readonly { readonly pairs: readonly SecretPair[]; readonly since: number }[]
  /** When the portal was last seen to hold what the sources give. */
  readonly seen?: ConfirmedEvent
}

type SecretHeaders = Pick<ReceivedHead, 'secret' | 'authorization'>

/** How old the copy in memory may be. */
const ageMaxMs = 1_000
/** How many former secrets are kept. The portal holds the oldest; the later ones may never have reached it. */
const formersMax = 4

/**
 * Remembers for all processes of the file that a secret has changed where it comes from. The portal goes on with the
 * former one until somebody applies, which may be after a restart: keyed digests of it are kept sealed beside the log.
 */
export class SecretHistory {
  readonly #store: Store
  readonly #clock: Clock
  readonly #generations: Pick<SecretGenerations, 'confirmed'>
  readonly #cache = new Map<string, { readonly kept: KeptSecrets | undefined; readonly at: number }>()
  /** Stands, by event, for the values that this process knows. */
  readonly #ownSources = new Map<string, string>()

  constructor(
    { store, clock }: { store: Store; clock: Clock },
    generations: Pick<SecretGenerations, 'confirmed'>,
  ) {
    this.#store = store
    this.#clock = clock
    this.#generations = generations
  }

  /**
   * Notes what the sources of an event gave now, and the secrets made from it. What a call carries replaces the former
   * ones once it is confirmed: `effectPosition` is where the log owes that call.
   */
  async noteSources(
    evento: string,
    values: SecretValues,
    secrets: readonly Secrets[],
    effectPosition?: number,
  ): Promise<void> {
    const source = this.#digest(
      `${JSON.stringify([values.master, values.chaveSecreta, values.chaveAutenticacao])}`,
    )
    this.#ownSources.set(evento, source)
    const pairs = secrets.map(each => this.#toPair(each))
    await this.#change(evento, async before => {
      if (before?.source === source)
        return JSON.stringify(before.pairs) === JSON.stringify(pairs) ? undefined : { ...before, pairs }
      const formers = before ? await this.#formersAfter(evento, before, pairs, effectPosition) : []
      return { ...before, source, pairs, formers }
    })
  }

  /** Notes that the portal was seen to hold what the sources give: the former secrets are on their way out. */
  async noteSeenAtPortal(evento: string): Promise<void> {
    await this.#change(evento, async kept => {
      // What only another process knows cannot have been seen at the portal.
      if (!kept || kept.source !== this.#ownSources.get(evento)) return undefined
      if ((await this.#unapplied(evento, kept)).length === 0) return undefined
      const position = await this.#store.reader.read(endOfLog)
      return { ...kept, seen: { position, at: toInstant(this.#clock.now()) } }
    })
  }

  /**
   * Reports whether a notification carries former secrets of its event, until an hour after the portal has the new
   * ones, or newer ones that only another process knows yet.
   */
  async matches(evento: string, head: SecretHeaders): Promise<boolean> {
    const kept = await this.#readCached(evento)
    if (!kept) return false
    const isNewer = kept.source !== this.#ownSources.get(evento)
    const accepted = await this.#accepted(evento, kept)
    // A process without a secret may only lack it; taken for newer, it would let everything through.
    const newer = isNewer ? kept.pairs.filter(hasAnySecret) : []
    const pairs = [...newer, ...accepted.flatMap(each => each.pairs)]
    return pairs.some(pair => this.#isPairIn(pair, head))
  }

  /** Reports whether the portal has yet to be told of a change: an `apply` is owed. */
  async needsApply(evento: string): Promise<boolean> {
    const kept = await this.#readCached(evento)
    return kept !== undefined && (await this.#unapplied(evento, kept)).length > 0
  }

  async #formersAfter(
    evento: string,
    before: KeptSecrets,
    pairs: readonly SecretPair[],
    effectPosition?: number,
  ): Promise<KeptSecrets['formers']> {
    const digests = new Set(pairs.map(pair => pair.digest))
    const left = [
      ...(await this.#accepted(evento, before)),
      { pairs: before.pairs, since: effectPosition ?? (await this.#store.reader.read(endOfLog)) },
    ]
    // A secret that came back is no longer a former one. Where there was no secret, keeping it would let everything
    // through.
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
    if (!confirmed || this.#clock.now() <= fromInstant(confirmed.at) + formerSecretsAcceptedMs)
      return kept.formers
    return kept.formers.filter(each => each.since >= confirmed.position)
  }

  /** The former secrets that the portal still has, as far as is known. */
  async #unapplied(evento: string, kept: KeptSecrets): Promise<KeptSecrets['formers']> {
    const confirmed = await this.#confirmed(evento, kept)
    // What was never registered owes no change of its secrets.
    return confirmed ? kept.formers.filter(each => each.since >= confirmed.position) : []
  }

  async #confirmed(evento: string, { seen }: KeptSecrets): Promise<ConfirmedEvent | undefined> {
    const confirmed = await this.#generations.confirmed(evento)
    return seen && seen.position > (confirmed?.position ?? 0) ? seen : confirmed
  }

  #isPairIn(
    { hasSecret, hasAuthorization, digest }: SecretPair,
    { secret, authorization }: SecretHeaders,
  ): boolean {
    return (
      digest ===
      this.#digest(pairText(hasSecret ? secret : undefined, hasAuthorization ? authorization : undefined))
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
  return value === undefined ? undefined : (JSON.parse(value) as KeptSecrets) // Sealed by us, above.
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
