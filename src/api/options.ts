import type { Certificate } from '../adapters/credentials/certificate.ts'
import type { SecretSource } from '../adapters/credentials/secret.ts'
import type { Source } from '../adapters/credentials/source.ts'
import type { PortalAuthentication } from '../adapters/portal/authentication.ts'
import type { ServeReceiversOptions } from '../adapters/receiver/serve-receivers.ts'
import type { ServiceLimits } from '../engine/performing/throttle.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Entropy } from '../runtime/entropy.ts'
import type { Anchor, HighWaterMark } from '../store/store-options.ts'
import type { Keys } from '../vault/keys.ts'
import type { Fetch } from '../vocabulary/fetch.ts'
import type { LogLine } from '../vocabulary/log-line.ts'
import type { Actor, Basis } from '../vocabulary/message.ts'
import type { PartKind, RecordKind } from '../vocabulary/part-kinds.ts'
import type { ServiceName } from '../vocabulary/service-name.ts'

/** What the areas of the API are told. Only `store` is required; a call to an area without its service is refused. */
export interface HostOptions {
  /** The path of the SQLite file, or `:memory:` for a log that ends with the process. */
  readonly store: string
  /**
   * Who holds the root key of the log, such as `environmentKeys()`, or a key management service of yours. When absent,
   * a keyring file is made beside a new store, and the logger is told of it.
   */
  readonly keys?: Keys
  /**
   * How many days backups of the store and of its keyring are kept, 30 unless said otherwise: until then a backup still
   * opens what was erased. Each receipt of an erasure states it.
   */
  readonly backupRetentionDays?: number
  /**
   * How long kinds of sealed parts are kept: some days from their event, or until what they belong to is settled.
   * Checked every day while `run` or `settle` works. Without a rule, or where `schedules` is false, they are kept for
   * ever. What a call or a handler still needs stays, and so does what `subjects.hold` holds.
   */
  readonly retention?: Readonly<Partial<Record<PartKind, RetentionRule>>>
  /**
   * The kinds of records whose parts are sealed under a key of each event from now on, derived from the owner's: such a
   * key can be given away with `audit.disclose`, and opens nothing else. None when absent.
   */
  readonly recordKeys?: readonly RecordKind[]
  /** Defaults of every command. */
  readonly actor?: Actor
  readonly basis?: Basis
  readonly consentService?: ServiceLimits & {
    readonly baseUrl: string
    readonly certificate: Source<Certificate>
    /** The authority to trust instead of the system's, as PEM text. */
    readonly ca?: string
    /** The addresses that a login may return to, compared as whole texts. */
    readonly redirectUrls?: readonly string[]
    /** How often the consents of those enrolled from now on are read, where neither `enrol` nor `schedule` says so. */
    readonly syncEveryMs?: number
  }
  readonly tokenService?: {
    /** The whole address of the token endpoint. */
    readonly url: string
    readonly consumerKey: SecretSource
    readonly consumerSecret: SecretSource
    /** What the log calls this credential, in clear: nothing personal, and no slash. */
    readonly credential?: string
    readonly ca?: string
  }
  readonly validationService?: ServiceLimits & {
    readonly baseUrl: string
    /**
     * The `baseUrl` that the log began with, where the same service is reached at another address now: what was asked
     * there goes here, and its answers are reused.
     */
    readonly knownAs?: string
    /** The name of the service in the path. */
    readonly service: string
    /** A token that is given instead of being asked for, as the demonstration's. */
    readonly bearer?: SecretSource
    /** The header that carries our id of a validation, where the gateway reports one. */
    readonly traceHeader?: string
    /** How many validations may be asked for in a day of Brasilia. Over it they throw `BUDGET_SPENT`. */
    readonly paidPerDayMax?: number
    readonly ca?: string
  }
  readonly portal?: ServiceLimits & {
    /** `https://<url>`, without a path. A log belongs to one portal: opened with another one it is `MISCONFIGURED`. */
    readonly baseUrl: string
    /** The `baseUrl` that the log began with, where the same portal is reached at another address now. */
    readonly knownAs?: string
    readonly authenticate: PortalAuthentication
    /**
     * How large the answer with the failure records of a day may be: 64 MiB when absent. A day with more is not
     * recovered; its reading is parked after three attempts, and goes again with `effects.retry`.
     */
    readonly failuresBytesMax?: number
    readonly ca?: string
  }
  readonly receiver?: {
    /** The address that the portal is to notify: the endpoint of subscriptions that name none. */
    readonly publicUrl: string
    /** How many proxies of yours stand in front and add to `X-Forwarded-For`. */
    readonly trustedProxies?: number
    /** The ranges that notifications may come from; the portal's own by default. */
    readonly sources?: readonly string[] | 'any'
    /**
     * The master of the secrets of subscriptions that give no `chaveSecreta`: at least 32 characters. Each is derived
     * from it with the event, the endpoint and a generation, which `subscriptions.rotate` raises.
     */
    readonly secretFrom?: SecretSource
  }
  /** What the portal is to notify us of. `subscriptions.plan` shows what that takes. */
  readonly subscriptions?: readonly SubscriptionDeclaration[]
  /**
   * What averba does because time has passed, while `run` or `settle` does: the portal's failures and list every day,
   * consents that end, the client certificate, and what `retention` destroys. True unless said otherwise: where it is
   * false and no other process does it, none of this happens, and sealed data stays past its days.
   */
  readonly schedules?: boolean
  /** Where the newest checkpoint is kept outside of the store; the file `<store>.mark` by default. */
  readonly highWaterMark?: HighWaterMark
  /**
   * Lets someone else sign each checkpoint: a witness, which answers with the note and its own signature, or an
   * authority of time stamps, which has to stamp exactly the bytes that it is given: the whole signed note, to its last
   * newline. The answer is kept and exported with the checkpoint. A time stamp of anything else does not count, and an
   * answer of more than 64 kB is not kept.
   */
  readonly anchor?: Anchor
  readonly clock?: Clock
  readonly entropy?: Entropy
  /** The way out for every service; sockets by default. */
  readonly fetch?: Fetch
  /** Told of what an operator should know: allow-listed fields only. */
  readonly logger?: (line: LogLine) => void
  /** What is told to your own telemetry, where `@opentelemetry/api` is installed. */
  readonly tracing?: TracingOptions
  /** How `averba run` shows itself, and what it serves. A host that embeds averba leaves it out. */
  readonly run?: ServingOptions
}

/** What of the host's traces leaves this process. */
export interface TracingOptions {
  /**
   * The services that are sent the `traceparent` of the attempt, as W3C Trace Context has it: none when absent. Nothing
   * else of a trace is ever sent.
   */
  readonly traceparentTo?: readonly ServiceName[]
}

/** How `averba run` shows itself, and what it serves. */
export interface ServingOptions {
  /** Where `/healthz`, `/readyz` and `/metrics` are served, without authentication: loopback when absent. */
  readonly host?: string
  /** 9464 when absent; 0 is any free port, and the log says which. */
  readonly port?: number
  /**
   * Serves the receiver over HTTPS, at the path of `receiver.publicUrl`, together with those of other configurations on
   * the same host and port. Nothing is served without it.
   */
  readonly receiver?: Omit<ServeReceiversOptions, 'receivers' | 'onTrouble' | 'clock'>
}

/** How long a kind of sealed parts is kept. */
export type RetentionRule = 'until-settled' | { readonly days: number }

/** One event that the portal is to notify us of. */
export interface SubscriptionDeclaration {
  /** The event's identifier, at most 40 characters. */
  readonly evento: string
  /** An HTTPS address on port 443, at most 500 characters; `receiver.publicUrl` when absent. */
  readonly endpoint?: string
  readonly chaveSecreta?: SecretSource
  readonly chaveAutenticacao?: SecretSource
  /**
   * When the portal has deleted it: `plan`, the default, proposes to create it again; `announce` only tells of it,
   * with the event `subscription.deleted`.
   */
  readonly recreate?: 'announce' | 'plan'
}
