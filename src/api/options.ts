import { z } from 'zod'
import { type Certificate, loadCertificate } from '../adapters/credentials/certificate.ts'
import type { Source } from '../adapters/credentials/secret.ts'
import type { PortalAuthentication } from '../adapters/portal/authentication.ts'
import { parseRanges } from '../adapters/receiver/sender.ts'
import type { ServeReceiversOptions } from '../adapters/receiver/serve-receivers.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Entropy } from '../runtime/entropy.ts'
import type { PostgresPool } from '../store/database/postgres-pool.ts'
import type { Anchor, HighWaterMark } from '../store/store-options.ts'
import type { Keys } from '../vault/keys.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import type { Fetch } from '../vocabulary/fetch.ts'
import type { LogLine } from '../vocabulary/log-line.ts'
import type { Actor, Basis } from '../vocabulary/message.ts'
import { checkKnownNames, isOnPostgres, serviceNames } from '../vocabulary/names.ts'
import { recordKinds } from '../vocabulary/part-kinds.ts'
import { isCnpj } from '../vocabulary/tax-numbers.ts'
import { checkActor, checkBasis, checkId, checkSyncEveryMs } from './arguments.ts'
import { checkDeclarations } from './check-declarations.ts'
import {
  accepted,
  baseAddress,
  checked,
  consentAddress,
  group,
  hostFunction,
  httpsAddress,
  listOf,
  listOptions,
  optional,
  pem,
  refuseBy,
  required,
  secret,
  shown,
  text,
  wholeNumber,
  withFunctions,
  withHint,
} from './option.ts'
import { keyringPlace, storePath } from './store-place.ts'

/** A larger answer does not fit into one string. */
const answerBytesCap = 256 * 1_048_576

/** Headers with a meaning for the gateway or the connection. */
const reservedHeaders = new Set([
  ...['accept', 'authorization', 'content-type', 'traceparent', 'tracestate', 'host', 'content-length'],
  ...['transfer-encoding', 'connection', 'keep-alive', 'upgrade', 'expect', 'te', 'trailer'],
])

/** How long a kind of sealed parts is kept. */
export type RetentionRule = 'until-settled' | { readonly days: number }

const retentionRule = accepted<RetentionRule>(
  rule => rule === 'until-settled' || wholeNumber(0).safeParse(Object(rule).days).success,
  'it is not until-settled or { days }',
)

const port = wholeNumber(0, 65_535)

/** How long each kind of `partKinds` is kept. */
class RetentionRules {
  /** The claims that were validated. */
  readonly 'validation.claims'? = optional(retentionRule, "'until-settled'")
  /** The results of validations. */
  readonly 'validation.result'? = optional(retentionRule, '{ days: 365 }')
  /** The bodies of notifications, and what failure records say of them. */
  readonly 'notification.body'? = optional(retentionRule, '{ days: 90 }')
  /** The details of consents. */
  readonly 'consent.detail'? = optional(retentionRule, "'until-settled'")
  /** The answers to calls that were not understood. */
  readonly 'call.answer'? = optional(retentionRule, '{ days: 90 }')
}

/** A form that you know a service to answer in, and what it means for the call. */
class AnswerDeclaration {
  /** The status of the answer. */
  readonly status = required(wholeNumber(300, 599), '404')
  /** A text in its body; any body when absent. */
  readonly contains? = optional(text, "'registro inexistente'")
  /** `declined`: certainly not done; `deferred`: not done, and sent again, a paid call too; `unknown`: perhaps done. */
  readonly means = required(
    z.enum(['declined', 'deferred', 'unknown'], 'it is not declined, deferred or unknown'),
    "'declined'",
  )
}

class ServiceOptions {
  /** The certificate authority to trust instead of the system's, as PEM text. */
  readonly ca?: string | undefined = shown(pem, 'authority')
  /**
   * The proxy that connections go through, by `CONNECT`: its address, which may have a user name and a password, or
   * `environment` for `HTTPS_PROXY` and `NO_PROXY`. None when absent.
   */
  readonly proxy? = optional(
    text.refine(
      proxy => proxy === 'environment' || /^https?:$/.test(URL.parse(proxy)?.protocol ?? ''),
      withHint(
        'it is no address of http or https',
        'Give an address such as http://proxy.example:3128, or environment',
      ),
    ),
    "'environment'",
  )
  /**
   * The largest answer, such as a list, in bytes: 4 MiB by default. A larger one is not read: the call waits, and
   * `health` says so; a paid one is in doubt. Parsing holds up the process for tens of milliseconds a megabyte.
   */
  readonly answerBytesMax? = optional(wholeNumber(1, answerBytesCap), '4 * 1_048_576')
  /**
   * How long a request may take, its answer included, in milliseconds: 10 seconds by default. A paid answer that comes
   * later is in doubt, and so is one that has not come 15 seconds after `close`.
   */
  readonly timeoutMs? = optional(wholeNumber(1_000, 120_000), '30_000')
  /** Answers that averba does not know, such as a 404 in HTML that is the service's own. They come before the table. */
  readonly answers?: readonly AnswerDeclaration[] = optional(
    z.array(group(AnswerDeclaration), 'it is not a list'),
    "[{ status: 404, contains: 'registro inexistente', means: 'declined' }]",
  )
}

class LimitedServiceOptions extends ServiceOptions {
  /** How many calls of all processes begin per second; as many may begin at once. Unlimited when absent. */
  readonly requestsPerSecond? = optional(
    accepted<number>(perSecond => typeof perSecond === 'number' && perSecond > 0, 'it is not above 0'),
    '5',
  )
  /** Calls of one process in progress at the same time, 8 by default. */
  readonly requestsAtOnceMax? = optional(wholeNumber(1), '8')
}

class ConsentServiceOptions extends LimitedServiceOptions {
  /** The address of the service, without `/consentimento`. */
  readonly baseUrl = required(consentAddress, "env('AVERBA_CONSENT_URL')")
  /** The `baseUrl` that the log began with, when the same service has moved: a log belongs to one environment. */
  readonly knownAs? = optional(consentAddress, "'https://consentimento.exemplo.br'")
  /**
   * Your client certificate with its key, as PEM text or PKCS#12 bytes, also with the old RC2-40 encryption. A function
   * is called again from time to time, so replaced files need no restart.
   */
  readonly certificate = required(
    accepted<Source<Certificate>>(
      given => typeof given === 'function' || (typeof given === 'object' && given !== null),
      'it is missing',
      'Give consentService.certificate: { cert, key } as PEM text, or { pfx, passphrase }',
    ),
    `() => ({ cert: textOf('AVERBA_CONSENT_CERT'),
  key: textOf('AVERBA_CONSENT_KEY'),
  // pfx: readFileSync(env('AVERBA_CONSENT_PFX')), // a PKCS#12 file instead, such as an A1 certificate
  // passphrase: env('AVERBA_CONSENT_PASSPHRASE'), // when the key is encrypted
})`,
  )
  /**
   * The CNPJ of the only controller that you read for: lists of consents and awareness records are limited to its own,
   * unless `sync` names another one. All controllers when absent.
   */
  readonly cnpj? = optional(
    text.refine(
      (cnpj): boolean => isCnpj(cnpj),
      withHint('it is not a CNPJ', 'Give it without punctuation, such as 12ABC34501DE35'),
    ),
    "'12ABC34501DE35'",
  )
  /** The addresses that a login may return to, compared exactly. */
  readonly redirectUrls? = optional(
    z.array(z.string('it is not a text'), 'it is not a list of addresses').readonly(),
    "['https://app.example/back']",
  )
  /** How long an approval that was not made is asked for again; a day by default. A person decides then. */
  readonly approvalMaxMs? = optional(wholeNumber(0), '24 * 60 * 60 * 1_000')
  /** How often consents are read for new data subjects, unless `enrol` or `schedule` sets another interval. */
  readonly syncEveryMs? = optional(checked<number>(checkSyncEveryMs), '24 * 60 * 60 * 1_000')
}

class TokenServiceOptions extends ServiceOptions {
  /** The whole address of the token endpoint. */
  readonly url = required(httpsAddress, "env('AVERBA_TOKEN_URL')")
  /** The consumer key of the customer area. A function is called each time, so a rotated secret needs no restart. */
  readonly consumerKey = required(secret, "() => env('AVERBA_CONSUMER_KEY')")
  /** The consumer secret of the customer area. */
  readonly consumerSecret = required(secret, "() => env('AVERBA_CONSUMER_SECRET')")
  /** The name of this credential in the log, in clear: nothing personal, and no slash. */
  readonly credential? = optional(
    checked<string>(name => checkId(name, 'tokenService.credential')).refine(
      // It precedes a slash in the addresses of parts.
      name => !name.includes('/'),
      'it contains a slash',
    ),
    "'default'",
  )
}

class ValidationServiceOptions extends LimitedServiceOptions {
  /** The address of the service: it is called at `<baseUrl>/<service>/v2/validate/pf`. */
  readonly baseUrl = required(baseAddress, "env('AVERBA_VALIDATION_URL')")
  /**
   * The `baseUrl` that the log began with, when the same service has moved. Pending calls go to the new address, and
   * earlier answers are reused.
   */
  readonly knownAs? = optional(httpsAddress, "'https://validacao.exemplo.br'")
  /** The name of the service in the path. */
  readonly service = required(text, "env('AVERBA_VALIDATION_SERVICE')")
  /** A fixed token, such as the demonstration's, instead of one from the token service. */
  readonly bearer? = optional(secret, "() => env('AVERBA_VALIDATION_BEARER')")
  /** The request header for our id of a validation, when the gateway reports one. */
  readonly traceHeader? = optional(
    accepted<string>(
      name => typeof name === 'string' && /^[\w!#$%&'*+.^`|~-]{1,100}$/.test(name),
      'it is not a header name',
    ).refine(name => !reservedHeaders.has(name.toLowerCase()), 'it is a reserved header'),
    "'x-trace-id'",
  )
  /** How many validations may be requested in a day in Brasilia. Over it they throw `BUDGET_SPENT`. */
  readonly paidPerDayMax? = optional(wholeNumber(0), '1000')
}

class PortalOptions extends LimitedServiceOptions {
  /** `https://<url>`, without a path. A log belongs to one portal; another one is refused with `MISCONFIGURED`. */
  readonly baseUrl = required(baseAddress, "env('AVERBA_PORTAL_URL')")
  /** The `baseUrl` that the log began with, when the same portal has moved. */
  readonly knownAs? = optional(httpsAddress, "'https://portal.exemplo.br'")
  /**
   * How calls are authenticated: the portal's contract does not say it. A function returns the headers of a call, and
   * is called again when the portal answers 401. `staticHeaders` is for headers that do not change; `portalSession` and
   * `portalAccessKeys` are the publicly known login.
   */
  readonly authenticate = required(
    accepted<PortalAuthentication>(
      given => typeof given === 'function' || typeof Object(given).write === 'function',
      'it is missing',
      'Give portal.authenticate: staticHeaders, portalAccessKeys, portalSession, or a function',
    ),
    "async () => ({ authorization: env('AVERBA_PORTAL_AUTHORIZATION') })",
  )
  /**
   * The largest answer with the failure records of a day, 64 MiB by default. The reading of a larger day is parked
   * after three attempts; `effects.retry` repeats it.
   */
  readonly failuresBytesMax? = optional(wholeNumber(1, answerBytesCap), '64 * 1_048_576')
}

class ReceiverOptions {
  /** The address that the portal notifies, https on port 443: the default endpoint of subscriptions. */
  readonly publicUrl = required(httpsAddress, "env('AVERBA_RECEIVER_URL')")
  /** How many of your proxies are in front and add to `X-Forwarded-For`. */
  readonly trustedProxies? = optional(wholeNumber(0), '1')
  /** The IP ranges that notifications may come from; the portal's by default. `any` is for tests. */
  readonly sources? = optional(
    checked<readonly string[] | 'any'>(sources => sources === 'any' || parseRanges(sources)),
    "['127.0.0.0/8']",
  )
  /** The largest body of a notification, in bytes: 1 MiB by default. `health` says what was answered 413 for it. */
  readonly bodyBytesMax? = optional(wholeNumber(1, 64 * 1_048_576), '1_048_576')
  /**
   * How many bytes an hour this process stores of notifications that anybody in the ranges can send: of events that you
   * do not declare, or declare without secrets. 256 MiB by default, each counted with 4 KiB more; over it they are
   * answered 503, and the portal keeps a failure record.
   */
  readonly unprovenBytesPerHourMax? = optional(wholeNumber(0), '256 * 1_048_576')
  /**
   * The master secret, at least 32 characters, for subscriptions without a `chaveSecreta`. Theirs is derived from it
   * with the event, the endpoint and a generation, which `subscriptions.rotate` raises. `openssl rand -base64 32` makes
   * one.
   */
  readonly secretFrom? = optional(secret, "() => env('AVERBA_HOOK_MASTER')")
}

/** One event that the portal notifies us of. */
export class SubscriptionDeclaration {
  /** The event's identifier, at most 40 characters. */
  readonly evento = required(text, "'dimp-situacao-import'")
  /** An HTTPS address on port 443, at most 500 characters; `receiver.publicUrl` by default. */
  readonly endpoint? = optional(text, "'https://hooks.example/averba'")
  /** The secret that the portal sends in the header `Secret`, by which you recognise it: at most 100 characters. */
  readonly chaveSecreta? = shown(secret, "() => env('AVERBA_HOOK_SECRET')")
  /** The secret that the portal sends in the header `Authorization`, at most 100 characters. */
  readonly chaveAutenticacao? = optional(secret, "() => env('AVERBA_HOOK_AUTHORIZATION')")
  /**
   * After the portal has deleted it: `plan` (the default) proposes to create it again, `announce` only records the
   * event `subscription.deleted`.
   */
  readonly recreate? = optional(z.enum(['announce', 'plan'], 'it is not announce or plan'), "'plan'")
}

/** Which trace data is sent to services. */
export class TracingOptions {
  /**
   * The services that receive the `traceparent` of the attempt (W3C Trace Context); none by default. No other trace
   * data is ever sent.
   */
  readonly traceparentTo? = optional(listOf(serviceNames, 'services'), "['validationService']")
}

type ServedReceiverOptions = Omit<ServeReceiversOptions, 'receivers' | 'onTrouble' | 'clock'>

/** What `averba run` serves. */
export class ServingOptions {
  /** The host of `/healthz`, `/readyz` and `/metrics`, served without authentication; loopback by default. */
  readonly host? = optional(text, "'127.0.0.1'")
  /** The port of these pages, 9464 by default; 0 takes any free port, which the log names. */
  readonly port? = optional(port, '9464')
  /**
   * Serves the receiver over HTTPS at the path of `receiver.publicUrl`, together with the receivers of other
   * configurations on the same host and port. When absent, the receiver is not served.
   */
  readonly receiver? = optional(
    accepted<ServedReceiverOptions>(
      given => Object(given).certificate !== undefined,
      'its certificate is missing',
      'Give run.receiver.certificate, { cert, key } or { pfx, passphrase }: the portal delivers over TLS only',
    ).refine(given => port.optional().safeParse(given.port).success, {
      path: ['port'],
      error: 'it is not a port number',
    }),
    "{ certificate: () => ({ cert: textOf('AVERBA_SERVER_CERT'), key: textOf('AVERBA_SERVER_KEY') }) }",
  )
  /** Called once before anything runs: registers handlers with `notifications.handle` and `log.follow`. */
  readonly prepare? = optional(
    hostFunction<(averba: never) => void | Promise<void>>(),
    "averba => averba.notifications.handle('dimp-situacao-import', 'mine', async n => console.log(n.id))",
  )
}

/** The options of averba. Only `store` is required; calls that need a service without options are refused. */
export class HostOptions {
  /**
   * The path of the SQLite file, or `:memory:` for a log that ends with the process. The file is created when it is
   * missing, and its keyring beside it as `<store>.keys`: back that up, apart from the file. For processes on several
   * machines, the address of a PostgreSQL database, such as `postgres://app@db.example/averba?schema=averba`: this
   * needs the package `pg`, and the option `keyring`.
   */
  readonly store = required(storePath, "'averba.sqlite'")
  /** Your own pool of the package `pg` for a store on PostgreSQL, instead of one made from its address. Not closed. */
  readonly pool? = optional(
    withFunctions<Pick<PostgresPool, 'connect' | 'options'>>('connect'),
    "{ connect: () => Promise.reject(new Error('your pool')) }",
  )
  /**
   * Where the keyring of a log on PostgreSQL is kept: the path of a file that every machine reaches and no backup of
   * the database contains, or an object that reads and replaces it, such as one over your secret store.
   */
  readonly keyring? = optional(keyringPlace, "'/mnt/keys/averba.keys'")
  /**
   * What holds the root key of the log: `environmentKeys()`, or your key management service. When absent, a keyring
   * file is created beside a new store, and a log line says so.
   */
  readonly keys? = optional(
    withFunctions<Keys>('wrap', 'unwrap', 'destroyEpoch'),
    "(await import('averba')).environmentKeys()",
  )
  /**
   * How many days you keep backups of the store and of its keyring, 30 by default. Until then a backup still opens what
   * was erased; each erasure receipt states it.
   */
  readonly backupRetentionDays? = optional(wholeNumber(0), '30')
  /**
   * The kinds of records whose parts are sealed under one key per event from now on, derived from the owner's key.
   * `audit.disclose` can disclose such a key, which opens nothing else. None by default.
   */
  readonly recordKeys? = optional(listOf(recordKinds, 'record kinds'), "['validation', 'consent', 'notification']")
  /**
   * How long kinds of sealed parts are kept: some days from their event, or until their record is settled. Checked
   * every day while `run` or `settle` works. Without a rule, or with `schedules: false`, they are kept for ever. Parts
   * that a call or a handler still needs, or that `subjects.hold` holds, are not destroyed.
   */
  readonly retention? = optional(group(RetentionRules))
  /**
   * Who acts in calls that name no `actor`. It is kept in clear with every event: give no CPF, no name, nothing that
   * identifies a person. The kind is `subject`, `person` or `system`.
   */
  readonly actor? = shown(
    checked<Actor>(actor => checkActor(Object(actor))),
    "{ kind: 'system', ref: 'host' }",
  )
  /** Why personal data is processed in calls that name no `basis`. It is kept in clear too. */
  readonly basis? = optional(
    checked<Basis>(basis => checkBasis(Object(basis))),
    "{ purpose: 'credit analysis', legalBasis: 'LGPD 7 I' }",
  )
  /** Who answers to data subjects, as their reports say: your name, and how to reach your data protection officer. */
  readonly organisation? = optional(
    z.strictObject({ name: text, contact: text }, 'it is not { name, contact }'),
    "{ name: 'Exemplo Ltda.', contact: 'privacidade@exemplo.br' }",
  )
  /** The consent service: consents, awareness records and login state. */
  readonly consentService? = optional(group(ConsentServiceOptions))
  /** The token gateway, for the tokens of the validation service. */
  readonly tokenService? = optional(group(TokenServiceOptions))
  /** The validation service, which is paid per call. It needs `tokenService`, or a `bearer`. */
  readonly validationService? = optional(group(ValidationServiceOptions))
  /** The webhook portal: your subscriptions there. */
  readonly portal? = optional(group(PortalOptions))
  /** The receiver of notifications: put `averba.receiver.listener` behind an HTTPS server on port 443. */
  readonly receiver? = optional(group(ReceiverOptions))
  /** The events that the portal notifies us of. `subscriptions.plan` shows the changes that this needs. */
  readonly subscriptions?: readonly SubscriptionDeclaration[] = optional(
    z.array(group(SubscriptionDeclaration), 'it is not a list'),
  )
  /**
   * Whether this process runs the scheduled work during `run` or `settle`: reads the portal's failures and list every
   * day, notices expired consents, checks the client certificate and applies `retention`. True by default. If it is
   * false in every process, none of this happens, and sealed data stays past its retention.
   */
  readonly schedules? = optional(z.boolean('it is not true or false'), 'true')
  /**
   * Keeps the newest checkpoint outside the store, so that a cut or restored log is detected; in the file
   * `<store>.mark` by default. `read` returns the last written checkpoint, or undefined before the first.
   */
  readonly highWaterMark? = optional(
    withFunctions<HighWaterMark>('read', 'write'),
    '{ read: async () => undefined, write: async checkpoint => console.log(checkpoint) }',
  )
  /**
   * Has a third party sign each checkpoint. A witness answers with the note and its own signature. A time-stamping
   * authority must stamp exactly the bytes that it receives: the whole signed note, to its last newline. The answer is
   * kept and exported with the checkpoint. A time stamp of other bytes does not count; answers over 64 kB are not kept.
   */
  readonly anchor? = optional(hostFunction<Anchor>(), 'async () => undefined')
  /** Traces, when `@opentelemetry/api` is installed and your program registers a provider. */
  readonly tracing? = optional(group(TracingOptions))
  /** The process `averba run`, which does all due work and serves. A host that embeds averba leaves it out. */
  readonly run? = optional(group(ServingOptions))
  /** Receives what an operator should know, with allow-listed fields only. */
  readonly logger? = shown(hostFunction<(line: LogLine) => void>(), 'line => console.log(JSON.stringify(line))')
  /** Tells the time; the system's clock by default. For tests, such as a `VirtualClock` of `averba/simulation`. */
  readonly clock? = optional(withFunctions<Clock>('now', 'sleep'), 'new VirtualClock()')
  /** Gives random bytes; the system's by default. For tests, such as `seededEntropy` of `averba/simulation`. */
  readonly entropy? = optional(withFunctions<Entropy>('bytes'), 'seededEntropy(1)')
  /**
   * Sends the requests to every service, over TLS; by default averba's own sockets do, with `certificate` and `ca`. The
   * signal of a request aborts after the `timeoutMs` of its service; under a `clock` of yours nothing ends it.
   */
  readonly fetch? = optional(hostFunction<Fetch>(), 'request => fetch(request)')
}

/** The schema of all options. It refuses unknown names: a misspelt option could silently leave out a secret. */
export const optionsSchema = group(HostOptions)
  .refine(
    ({ validationService, tokenService }) =>
      !validationService || tokenService !== undefined || validationService.bearer !== undefined,
    {
      path: ['validationService', 'bearer'],
      ...withHint('it is missing, and so is tokenService', 'Give the option tokenService, or validationService.bearer'),
    },
  )
  .refine(({ run, receiver }) => !run?.receiver || receiver !== undefined, {
    path: ['run', 'receiver'],
    ...withHint(
      'the option receiver is missing',
      'Give the option receiver: it is served at the path of its publicUrl',
    ),
  })
  .refine(({ store, keyring }) => isOnPostgres(store) === (keyring !== undefined), {
    path: ['keyring'],
    ...withHint(
      'a store on PostgreSQL needs it, and a file has its own',
      'Give the path of a file, or an object over your secret store, for a store on PostgreSQL only. To look into a backup, restore it',
    ),
  })
  .refine(({ store, pool }) => isOnPostgres(store) || pool === undefined, {
    path: ['pool'],
    ...withHint(
      'the store is a file',
      'Give the store an address such as postgres:?schema=averba, or leave out the pool',
    ),
  })
  .superRefine(refuseBy(checkDeclarations))

/** Checks the certificate in the options before anything is opened. With the host's own fetch, the host presents it. */
export async function checkCertificate({ fetch, consentService }: HostOptions, clock: Clock): Promise<void> {
  const certificate = fetch ? undefined : consentService?.certificate
  if (typeof certificate === 'object') await loadCertificate(certificate, clock.now())
}

/**
 * Checks the options before anything is opened: missing, misspelt and unusable ones. Throws `MISCONFIGURED`, and as
 * `checkActor` and `checkBasis` do.
 */
export function checkOptions(options: HostOptions): void {
  const issues = optionsSchema.safeParse(options).error?.issues ?? []
  // A misspelt name explains why the right one is missing.
  for (const issue of issues) if (issue.code === 'unrecognized_keys') refuseNames(issue)
  for (const issue of issues) throw toError(issue)
}

function refuseNames({ keys, path }: z.core.$ZodIssueUnrecognizedKeys): void {
  const of = path.filter(each => typeof each === 'string').join('.')
  const given = Object.fromEntries(keys.map(name => [name, true]))
  const names = listOptions(path.reduce(schemaIn, optionsSchema)).map(each => each.name)
  checkKnownNames(given, names, { noun: 'option', code: 'MISCONFIGURED', ...(of !== '' && { of }) })
}

function schemaIn(schema: z.core.$ZodType, key: PropertyKey): z.core.$ZodType {
  const found =
    schema instanceof z.ZodArray ? schema.element : schema instanceof z.ZodObject && schema.shape[String(key)]
  return found instanceof z.ZodOptional ? found.unwrap() : found || schema
}

/** No issue holds the value: it may be a secret. */
function toError(issue: z.core.$ZodIssue): AverbaError {
  const { error, hint } = (issue.code === 'custom' && issue.params) || {}
  if (error instanceof AverbaError) return error
  const where = issue.path.length === 0 ? 'the options' : z.core.toDotPath(issue.path)
  return new AverbaError('MISCONFIGURED', `Cannot use ${where}: ${issue.message}`, hint === undefined ? {} : { hint })
}
