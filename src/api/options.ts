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

/** The options of averba. Only `store` is required; calls that need a service without options are refused. */
export interface HostOptions {
  /** The path of the SQLite file, or `:memory:` for a log that ends with the process. */
  readonly store: string
  /**
   * What holds the root key of the log: `environmentKeys()`, or your key management service. When absent, a keyring
   * file is created beside a new store, and a log line says so.
   */
  readonly keys?: Keys
  /**
   * How many days you keep backups of the store and of its keyring, 30 by default. Until then a backup still opens what
   * was erased; each erasure receipt states it.
   */
  readonly backupRetentionDays?: number
  /**
   * How long kinds of sealed parts are kept: some days from their event, or until their record is settled. Checked
   * every day while `run` or `settle` works. Without a rule, or with `schedules: false`, they are kept for ever. Parts
   * that a call or a handler still needs, or that `subjects.hold` holds, are not destroyed.
   */
  readonly retention?: Readonly<Partial<Record<PartKind, RetentionRule>>>
  /**
   * The kinds of records whose parts are sealed under one key per event from now on, derived from the owner's key.
   * `audit.disclose` can disclose such a key, which opens nothing else. None by default.
   */
  readonly recordKeys?: readonly RecordKind[]
  readonly actor?: Actor
  readonly basis?: Basis
  readonly consentService?: ServiceLimits & {
    readonly baseUrl: string
    readonly certificate: Source<Certificate>
    /** The certificate authority to trust instead of the system's, as PEM text. */
    readonly ca?: string
    /** The addresses that a login may return to, compared exactly. */
    readonly redirectUrls?: readonly string[]
    /** How often consents are read for new data subjects, unless `enrol` or `schedule` sets another interval. */
    readonly syncEveryMs?: number
  }
  readonly tokenService?: {
    /** The whole address of the token endpoint. */
    readonly url: string
    readonly consumerKey: SecretSource
    readonly consumerSecret: SecretSource
    /** The name of this credential in the log, in clear: nothing personal, and no slash. */
    readonly credential?: string
    readonly ca?: string
  }
  readonly validationService?: ServiceLimits & {
    readonly baseUrl: string
    /**
     * The `baseUrl` that the log began with, when the same service has moved. Pending calls go to the new address, and
     * earlier answers are reused.
     */
    readonly knownAs?: string
    /** The name of the service in the path. */
    readonly service: string
    /** A fixed token, such as the demonstration's, instead of one from the token service. */
    readonly bearer?: SecretSource
    /** The request header for our id of a validation, when the gateway reports one. */
    readonly traceHeader?: string
    /** How many validations may be requested in a day in Brasilia. Over it they throw `BUDGET_SPENT`. */
    readonly paidPerDayMax?: number
    readonly ca?: string
  }
  readonly portal?: ServiceLimits & {
    /** `https://<url>`, without a path. A log belongs to one portal; another one is refused with `MISCONFIGURED`. */
    readonly baseUrl: string
    /** The `baseUrl` that the log began with, when the same portal has moved. */
    readonly knownAs?: string
    readonly authenticate: PortalAuthentication
    /**
     * The largest answer with the failure records of a day, 64 MiB by default. The reading of a larger day is parked
     * after three attempts; `effects.retry` repeats it.
     */
    readonly failuresBytesMax?: number
    readonly ca?: string
  }
  readonly receiver?: {
    /** The address that the portal notifies: the default endpoint of subscriptions. */
    readonly publicUrl: string
    /** How many of your proxies are in front and add to `X-Forwarded-For`. */
    readonly trustedProxies?: number
    /** The IP ranges that notifications may come from; the portal's by default. */
    readonly sources?: readonly string[] | 'any'
    /**
     * The master secret, at least 32 characters, for subscriptions without a `chaveSecreta`. Theirs is derived from it
     * with the event, the endpoint and a generation, which `subscriptions.rotate` raises.
     */
    readonly secretFrom?: SecretSource
  }
  /** The events that the portal notifies us of. `subscriptions.plan` shows the changes that this needs. */
  readonly subscriptions?: readonly SubscriptionDeclaration[]
  /**
   * Whether this process runs the scheduled work during `run` or `settle`: reads the portal's failures and list every
   * day, notices expired consents, checks the client certificate and applies `retention`. True by default. If it is
   * false in every process, none of this happens, and sealed data stays past its retention.
   */
  readonly schedules?: boolean
  /** Keeps the newest checkpoint outside the store; in the file `<store>.mark` by default. */
  readonly highWaterMark?: HighWaterMark
  /**
   * Has a third party sign each checkpoint. A witness answers with the note and its own signature. A time-stamping
   * authority must stamp exactly the bytes that it receives: the whole signed note, to its last newline. The answer is
   * kept and exported with the checkpoint. A time stamp of other bytes does not count; answers over 64 kB are not kept.
   */
  readonly anchor?: Anchor
  readonly clock?: Clock
  readonly entropy?: Entropy
  /** Sends the requests to every service; over averba's own sockets by default. */
  readonly fetch?: Fetch
  /** Receives what an operator should know, with allow-listed fields only. */
  readonly logger?: (line: LogLine) => void
  /** For your own telemetry, when `@opentelemetry/api` is installed. */
  readonly tracing?: TracingOptions
  /** What `averba run` serves. A host that embeds averba leaves it out. */
  readonly run?: ServingOptions
}

/** Which trace data is sent to services. */
export interface TracingOptions {
  /**
   * The services that receive the `traceparent` of the attempt (W3C Trace Context); none by default. No other trace
   * data is ever sent.
   */
  readonly traceparentTo?: readonly ServiceName[]
}

/** What `averba run` serves. */
export interface ServingOptions {
  /** The host of `/healthz`, `/readyz` and `/metrics`, served without authentication; loopback by default. */
  readonly host?: string
  /** 9464 by default; 0 takes any free port, which the log names. */
  readonly port?: number
  /**
   * Serves the receiver over HTTPS at the path of `receiver.publicUrl`, together with the receivers of other
   * configurations on the same host and port. When absent, the receiver is not served.
   */
  readonly receiver?: Omit<ServeReceiversOptions, 'receivers' | 'onTrouble' | 'clock'>
}

/** How long a kind of sealed parts is kept. */
export type RetentionRule = 'until-settled' | { readonly days: number }

/** One event that the portal notifies us of. */
export interface SubscriptionDeclaration {
  /** The event's identifier, at most 40 characters. */
  readonly evento: string
  /** An HTTPS address on port 443, at most 500 characters; `receiver.publicUrl` by default. */
  readonly endpoint?: string
  readonly chaveSecreta?: SecretSource
  readonly chaveAutenticacao?: SecretSource
  /**
   * After the portal has deleted it: `plan` (the default) proposes to create it again, `announce` only records the
   * event `subscription.deleted`.
   */
  readonly recreate?: 'announce' | 'plan'
}
