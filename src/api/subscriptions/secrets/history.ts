import type { Secrets } from '../../../adapters/portal/protocol.ts'
import type { ReceivedHead } from '../../../adapters/receiver/received-head.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { endOfLog } from '../../../store/log/read.ts'
import { fromInstant, isWithin, toInstant } from '../../../vocabulary/instant.ts'
import type { LogStore } from '../../events.ts'
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
    const source = this.#digest([values.master, values.chaveSecreta, values.chaveAutenticacao])
    this.#ownSources.set(evento, source)
    const pairs = secrets
      .filter(each => Object.keys(each).length > 0)
      .map(({ chaveSecreta, chaveAutenticacao }) => this.#digest([chaveSecreta, chaveAutenticacao]))
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
  async matches(evento: string, { secret, authorization }: SecretHeaders): Promise<boolean> {
    const kept = await this.#readCached(evento)
    if (!kept) return false
    const isNewer = kept.source !== this.#ownSources.get(evento)
    const accepted = await this.#accepted(evento, kept)
    const pairs = [...(isNewer ? kept.pairs : []), ...accepted.flatMap(each => each.pairs)]
    const carried = [
      [secret, authorization],
      [secret, undefined],
      [undefined, authorization],
    ] // A pair may have one.
    return carried.some(each => pairs.includes(this.#digest(each)))
  }

  /** Whether a change has not reached the portal: an `apply` is needed. */
  async needsApply(evento: string): Promise<boolean> {
    const kept = await this.#readCached(evento)
    return kept !== undefined && (await this.#unapplied(evento, kept)).length > 0
  }

  async #formersAfter(
    evento: string,
    before: KeptSecrets,
    pairs: readonly string[],
    requestedAt?: number,
  ): Promise<KeptSecrets['formers']> {
    const left = [
      ...(await this.#accepted(evento, before)),
      { pairs: before.pairs, since: requestedAt ?? (await this.#store.reader.read(endOfLog)) },
    ]
    // A secret that is current again is not a former one.
    const formers = left
      .map(({ pairs: old, since }) => ({ pairs: old.filter(pair => !pairs.includes(pair)), since }))
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

  #digest(secrets: readonly (string | undefined)[]): string {
    return Buffer.from(this.#store.digest('delivery-secrets', JSON.stringify(secrets))).toString('hex')
  }

  async #readCached(evento: string): Promise<KeptSecrets | undefined> {
    const known = this.#cache.get(evento)
    if (known && isWithin(ageMaxMs, known.at, this.#clock.now())) return known.kept
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
