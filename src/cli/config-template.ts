/**
 * The configuration that `averba init` writes: every option with its meaning and the source of its value. It is a text
 * and not a file, so that it is in the built package, and is not compiled with it.
 */
export const configTemplate = `/**
 * The configuration of averba: one object for your program and for the command line.
 *
 *   import { openAverba } from 'averba'
 *   import config from './averba.config.ts'
 *   const averba = await openAverba(config)
 *
 * Each service is optional: delete its block, and calls that need it are refused with SERVICE_NOT_CONFIGURED. Options
 * behind // are optional too. Put no secret into this file: read secrets from the environment or from your vault, and
 * private keys from files that only your program can read.
 */
import { readFileSync } from 'node:fs'
import { defineConfig } from 'averba'

/** Reads an environment variable. The error for a missing variable names it. */
function env(name: string): string {
  const value = process.env[name]
  if (value === undefined || value === '') throw new Error('The environment variable ' + name + ' is not set')
  return value
}

/** Reads the file that an environment variable names. */
const textOf = (name: string) => readFileSync(env(name), 'utf8')

/**
 * The certificate authority of the services, when the system does not trust it, such as that of "averba simulate".
 * Without the variable AVERBA_CA the authorities of the system are trusted.
 */
const ca = process.env['AVERBA_CA'] ? { ca: textOf('AVERBA_CA') } : {}

export default defineConfig({
  // The SQLite file of the log; it is created when it is missing. A relative path starts at the working directory of
  // the program. The keyring that opens its personal data is created once beside it, as "<store>.keys": back it up,
  // apart from the file. ":memory:" creates a log that ends with the process.
  store: 'averba.sqlite',

  // Holds the root key of the log instead of the keyring file: for instance the variable AVERBA_ROOT_KEY.
  // keys: (await import('averba')).environmentKeys(),
  // How many days you keep backups of the store and of its keyring: until then a backup can open erased data.
  // backupRetentionDays: 30,
  // Kinds of records that you may have to disclose one by one: averba prove --disclose.
  // recordKeys: ['validation', 'consent', 'notification'],
  // How long kinds of sealed parts are kept, in days or 'until-settled'; for ever by default.
  retention: {
    // 'validation.claims': 'until-settled',
    // 'validation.result': { days: 365 },
    // 'notification.body': { days: 90 },
    // 'consent.detail': 'until-settled',
  },

  // The default actor and basis of calls that give none. Both are kept in clear with every event: use no CPF, no name,
  // nothing that identifies a person. The kind is 'subject', 'person' or 'system'.
  actor: { kind: 'system', ref: 'host' },
  // basis: { purpose: 'credit analysis', legalBasis: 'LGPD 7 I' },

  // ---- The consent service: consents, awareness records, login state. Delete the block if you do not use it.
  consentService: {
    // Its address, without /consentimento.
    baseUrl: env('AVERBA_CONSENT_URL'),
    // Your client certificate and its key, as PEM files. The function is called again from time to time, so replaced
    // files need no restart.
    certificate: () => ({
      cert: textOf('AVERBA_CONSENT_CERT'),
      key: textOf('AVERBA_CONSENT_KEY'),
      // passphrase: env('AVERBA_CONSENT_PASSPHRASE'), // when the key is encrypted
    }),
    // Or a PKCS#12 file, such as an A1 certificate; the old RC2-40 encryption works too:
    // certificate: () => ({
    //   pfx: readFileSync(env('AVERBA_CONSENT_PFX')),
    //   passphrase: env('AVERBA_CONSENT_PASSPHRASE'),
    // }),
    ...ca, // ca: the authority to trust instead of the system's, as PEM text
    // The only addresses that a login may return to, compared as whole texts.
    // redirectUrls: ['https://app.example/back'],
    // How often the consents of each person are read, in milliseconds, unless consents.enrol gives another interval.
    // syncEveryMs: 24 * 60 * 60 * 1_000,
    // The most calls that begin within a second, and that are under way at the same time, in this process.
    // requestsPerSecond: 5,
    // requestsAtOnceMax: 8,
  },

  // ---- The token gateway. Delete the block if you do not use the validation service, or receive its tokens otherwise.
  tokenService: {
    // The full address of the token endpoint.
    url: env('AVERBA_TOKEN_URL'),
    // From the customer area. Functions are called each time, so a rotated secret needs no restart.
    consumerKey: () => env('AVERBA_CONSUMER_KEY'),
    consumerSecret: () => env('AVERBA_CONSUMER_SECRET'),
    // The name of this credential in the log.
    // credential: 'default',
    ...ca, // ca: as above
  },

  // ---- The validation service, which is paid per call. Delete the block if you do not use it.
  validationService: {
    // Its address, and the name of the service in the path: <baseUrl>/<service>/v2/validate/pf
    baseUrl: env('AVERBA_VALIDATION_URL'),
    service: env('AVERBA_VALIDATION_SERVICE'),
    // The address that this log began with, when the same service has moved since.
    // knownAs: 'https://validacao.exemplo.br',
    // A token from elsewhere, such as for the demonstration environment; then tokenService is not needed.
    // bearer: () => env('AVERBA_VALIDATION_BEARER'),
    // The header for our id of a validation, if the gateway reports one.
    // traceHeader: 'x-trace-id',
    // The most validations in a day of Brasilia. Further ones are refused, and not sent.
    // paidPerDayMax: 1000,
    // requestsPerSecond: 5, // as above
    // requestsAtOnceMax: 8,
    ...ca, // ca: as above
  },

  // ---- The webhook portal: your subscriptions there. Delete the block if you do not use it.
  portal: {
    // Its address, without a path.
    baseUrl: env('AVERBA_PORTAL_URL'),
    // The address that this log began with, when the same portal has moved since.
    // knownAs: 'https://portal.exemplo.br',
    // The portal's contract does not say how to authenticate: a function returns the headers of a call, and is called
    // again when the portal answers 401. Use staticHeaders({ ... }) of averba for headers that do not change, and
    // portalSession({ certificate, roleType }) or portalAccessKeys({ ... }) for the publicly known login.
    authenticate: async () => ({ authorization: env('AVERBA_PORTAL_AUTHORIZATION') }),
    // The largest answer with the failure records of a day. A day with a larger one is parked, and logged.
    // failuresBytesMax: 64 * 1_048_576,
    // requestsPerSecond: 5, // as above
    // requestsAtOnceMax: 8,
    ...ca, // ca: as above
  },

  // ---- The receiver of notifications: put averba.receiver.listener behind an HTTPS server on port 443.
  // Delete the block if you receive no notifications.
  receiver: {
    // The address that the portal sends to: https, on port 443.
    publicUrl: env('AVERBA_RECEIVER_URL'),
    // The number of your own proxies in front that add to X-Forwarded-For.
    // trustedProxies: 1,
    // The addresses that notifications may come from; by default the portal's own ranges. 'any' is for tests.
    // sources: ['127.0.0.0/8'],
    // The master secret of subscriptions without a chaveSecreta, at least 32 characters, such as from
    // "openssl rand -base64 32". Their secrets are derived from it; subscriptions.rotate() makes a new one.
    // secretFrom: () => env('AVERBA_HOOK_MASTER'),
  },

  // ---- Your subscriptions at the portal: plan() shows the changes that they need there, apply() makes them.
  // Delete the block if you receive no notifications.
  subscriptions: [
    {
      // The event's identifier, at most 40 characters.
      evento: 'dimp-situacao-import',
      // The address to send to, if it is not receiver.publicUrl.
      // endpoint: 'https://hooks.example/averba',
      // Secrets by which you recognise the portal, of at most 100 characters: it sends the first in the header Secret,
      // the second in the header Authorization. Set at least the first.
      chaveSecreta: () => env('AVERBA_HOOK_SECRET'),
      // chaveAutenticacao: () => env('AVERBA_HOOK_AUTHORIZATION'),
      // After the portal has deleted the subscription: 'plan' proposes to create it again, 'announce' only reports it.
      // recreate: 'plan',
    },
  ],

  // Whether run and settle do scheduled work: read the portal's failures and list every day, record the expiry of
  // consents, check the client certificate, and apply retention.
  // schedules: true,

  // Keeps the newest checkpoint outside of the log, so that a cut or restored log is detected; by default in the file
  // "<store>.mark". Give functions to keep it on another disk: read returns the last written checkpoint, or undefined
  // before the first. This example only shows the form, and keeps nothing.
  // highWaterMark: { read: async () => undefined, write: async checkpoint => console.log(checkpoint) },
  // Has someone else sign each checkpoint. The answer is kept and exported with it. A time-stamp authority has to stamp
  // exactly the given bytes.
  // anchor: async () => undefined,

  // ---- Traces, if @opentelemetry/api is installed and your program registers a provider. Delete the block if not.
  tracing: {
    // The services that receive the traceparent of a call; by default none.
    // traceparentTo: ['validationService'],
  },

  // ---- The process "averba run", which does all due work and serves. A host that embeds averba can delete the block.
  run: {
    // The address of /healthz, /readyz and /metrics, which need no authentication.
    // host: '127.0.0.1',
    // port: 9464,
    // The receiver over HTTPS, at the path of receiver.publicUrl, by default on port 443. Replaced files need no
    // restart.
    // receiver: { certificate: () => ({ cert: textOf('AVERBA_SERVER_CERT'), key: textOf('AVERBA_SERVER_KEY') }) },
    // Registers your handlers: called once, before anything runs.
    // prepare: averba => averba.notifications.handle('dimp-situacao-import', 'mine', async n => console.log(n.id)),
  },

  // ---- The environment. Only the logger matters outside of tests.
  // Receives log lines for operators, without secrets and personal data.
  logger: line => console.log(JSON.stringify(line)),
  // Time and randomness, for tests: for instance VirtualClock and seededEntropy of averba/simulation.
  // clock: new VirtualClock(),
  // entropy: seededEntropy(1),
  // Sends the requests to all services instead of sockets. It has to do TLS: certificate and ca are then not used.
  // fetch: request => fetch(request),
})
`

/** Lists the environment variables that a configuration made from this template requires. */
export function requiredVariables(config: string = configTemplate): string[] {
  const active = config.split('\n').filter(line => !/^\s*\/\//.test(line) && !line.startsWith('const '))
  return [...active.join('\n').matchAll(/(?:env|textOf)\('(\w+)'\)/g)].map(([, name = '']) => name)
}
