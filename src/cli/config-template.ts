/**
 * What `averba init` writes: every option with what it is and where its value comes from. Here as text, and not as a
 * file of its own, so that it is in the built package and holds nothing that this package would have to compile.
 */
export const configTemplate = `/**
 * The configuration of averba: one object for your program and for the command line.
 *
 *   import { openAverba } from 'averba'
 *   import config from './averba.config.ts'
 *   const averba = await openAverba(config)
 *
 * Each service is optional: delete its block, and a call that needs it is refused with SERVICE_NOT_CONFIGURED. What
 * stands behind // is optional too. No secret belongs into this file: secrets come from the environment or from a
 * vault of yours, private keys from files that only your program can read.
 */
import { readFileSync } from 'node:fs'
import { defineConfig } from 'averba'

/** A value from the environment; where it is missing, its name is said. */
function env(name: string): string {
  const value = process.env[name]
  if (value === undefined || value === '') throw new Error('The environment variable ' + name + ' is not set')
  return value
}

/** The file that an environment variable names, as text. */
const textOf = (name: string) => readFileSync(env(name), 'utf8')

/**
 * The authority that signed the services' own certificates, for services whose authority the system does not know,
 * such as those of "averba simulate". Without the variable AVERBA_CA the system's authorities are trusted.
 */
const ca = process.env['AVERBA_CA'] ? { ca: textOf('AVERBA_CA') } : {}

export default defineConfig({
  // The SQLite file that keeps everything; it is made when it is not there. A path that is not absolute begins at the
  // folder in which the program is started. The keyring that opens its personal data is made beside it, once, as
  // "<store>.keys": back it up, apart from the file. ":memory:" keeps a log that ends with the process.
  store: 'averba.sqlite',

  // Who holds the root key of the log, in place of the keyring beside it: for instance the variable AVERBA_ROOT_KEY.
  // keys: (await import('averba')).environmentKeys(),
  // How many days you keep backups of the store and of its keyring: until then a backup opens what was erased.
  // backupRetentionDays: 30,
  // Kinds of records of which you may have to disclose one alone: averba prove --disclose.
  // recordKeys: ['validation', 'consent', 'notification'],
  // How long kinds of sealed parts are kept, in days or 'until-settled'; for ever when left out.
  retention: {
    // 'validation.claims': 'until-settled',
    // 'validation.result': { days: 365 },
    // 'notification.body': { days: 90 },
    // 'consent.detail': 'until-settled',
  },

  // Who acts, and for what, where a call does not say so itself. Both are kept in clear with every event: no CPF, no
  // name, nothing that leads to a person. The kind is 'subject', 'person' or 'system'.
  actor: { kind: 'system', ref: 'host' },
  // basis: { purpose: 'credit analysis', legalBasis: 'LGPD 7 I' },

  // ---- The consent service: consents, awareness records, login state. Delete the block if you do not use it.
  consentService: {
    // Its address, without /consentimento.
    baseUrl: env('AVERBA_CONSENT_URL'),
    // Your client certificate and its key, as PEM files. The function is asked again from time to time: files that
    // are replaced need no restart.
    certificate: () => ({
      cert: textOf('AVERBA_CONSENT_CERT'),
      key: textOf('AVERBA_CONSENT_KEY'),
      // passphrase: env('AVERBA_CONSENT_PASSPHRASE'), // where the key is encrypted
    }),
    // Or a PKCS#12 file, such as an A1 certificate, also one of the old RC2-40 kind:
    // certificate: () => ({
    //   pfx: readFileSync(env('AVERBA_CONSENT_PFX')),
    //   passphrase: env('AVERBA_CONSENT_PASSPHRASE'),
    // }),
    ...ca, // ca: the authority to trust instead of the system's, as PEM text
    // The addresses that a login may return to, compared as whole texts. Others are refused.
    // redirectUrls: ['https://app.example/back'],
    // How often the consents of each person are read, in milliseconds, where consents.enrol does not say so.
    // syncEveryMs: 24 * 60 * 60 * 1_000,
    // Calls that begin within a second, and calls under way at the same time, at most, in this process.
    // requestsPerSecond: 5,
    // requestsAtOnceMax: 8,
  },

  // ---- The token gateway. Delete the block if you do not use the validation service, or are given its tokens.
  tokenService: {
    // The whole address of the token endpoint.
    url: env('AVERBA_TOKEN_URL'),
    // From the customer area. As functions they are asked each time, so a rotated secret needs no restart.
    consumerKey: () => env('AVERBA_CONSUMER_KEY'),
    consumerSecret: () => env('AVERBA_CONSUMER_SECRET'),
    // What the log calls this credential.
    // credential: 'default',
    ...ca, // ca: as above
  },

  // ---- The validation service, which is paid per call. Delete the block if you do not use it.
  validationService: {
    // Its address, and the name of the service in the path: <baseUrl>/<service>/v2/validate/pf
    baseUrl: env('AVERBA_VALIDATION_URL'),
    service: env('AVERBA_VALIDATION_SERVICE'),
    // Where the same service has moved: the address that this log began with.
    // knownAs: 'https://validacao.exemplo.br',
    // A token that you are given, as for the demonstration environment; then tokenService is not needed.
    // bearer: () => env('AVERBA_VALIDATION_BEARER'),
    // The header that carries our id of a validation, where the gateway reports one.
    // traceHeader: 'x-trace-id',
    // How many validations may be asked for in a day of Brasilia. Over it they are refused, and nothing is sent.
    // paidPerDayMax: 1000,
    // requestsPerSecond: 5, // as above
    // requestsAtOnceMax: 8,
    ...ca, // ca: as above
  },

  // ---- The webhook portal: your subscriptions there. Delete the block if you do not use it.
  portal: {
    // Its address, without a path.
    baseUrl: env('AVERBA_PORTAL_URL'),
    // Where the same portal has moved: the address that this log began with.
    // knownAs: 'https://portal.exemplo.br',
    // How to authenticate is not in the portal's contract: a function gives the headers of a call, and is asked again
    // when the portal answers 401. staticHeaders({ ... }) of averba does for headers that do not change; for the login
    // that is publicly known see portalSession({ certificate, roleType }) and portalAccessKeys({ ... }).
    authenticate: async () => ({ authorization: env('AVERBA_PORTAL_AUTHORIZATION') }),
    // How much the answer with the failure records of a day may have. A day with more is parked, and said.
    // failuresBytesMax: 64 * 1_048_576,
    // requestsPerSecond: 5, // as above
    // requestsAtOnceMax: 8,
    ...ca, // ca: as above
  },

  // ---- The receiver of notifications: put averba.receiver.listener behind an HTTPS server on port 443.
  // Delete the block if nothing is to be received.
  receiver: {
    // The address that the portal shall notify: https, on port 443.
    publicUrl: env('AVERBA_RECEIVER_URL'),
    // How many proxies of yours stand in front and add to X-Forwarded-For.
    // trustedProxies: 1,
    // Where notifications may come from; the portal's own ranges when left out. 'any' is for tests.
    // sources: ['127.0.0.0/8'],
    // The master of the secrets of subscriptions that give no chaveSecreta, of at least 32 characters: from
    // "openssl rand -base64 32". Each is derived from it, and subscriptions.rotate() makes a new one.
    // secretFrom: () => env('AVERBA_HOOK_MASTER'),
  },

  // ---- What the portal shall notify you of: plan() shows what that changes there, apply() does it.
  // Delete the block if nothing is to be received.
  subscriptions: [
    {
      // The event's identifier, at most 40 characters.
      evento: 'dimp-situacao-import',
      // Where to send it, if not to receiver.publicUrl.
      // endpoint: 'https://hooks.example/averba',
      // What the portal sends along, so that you know that it is the portal: in the header Secret, and in the header
      // Authorization. At most 100 characters each, and secret: at least the first should be there.
      chaveSecreta: () => env('AVERBA_HOOK_SECRET'),
      // chaveAutenticacao: () => env('AVERBA_HOOK_AUTHORIZATION'),
      // When the portal has deleted it: 'plan' proposes to create it again, 'announce' only tells of it.
      // recreate: 'plan',
    },
  ],

  // What is done because time has passed, while run or settle does: the portal's failures and list every day, consents
  // that end, the client certificate, and what retention destroys.
  // schedules: true,

  // Where the newest checkpoint of the log is kept outside of it, so that a log that was cut off or put back is seen:
  // the file "<store>.mark" when left out. To have it on another disk: read gives what write was given last, or
  // undefined when nothing ever was. This one keeps nothing, and only shows its form.
  // highWaterMark: { read: async () => undefined, write: async checkpoint => console.log(checkpoint) },
  // Has somebody else sign each checkpoint: what they answer is kept and exported with it. An authority of time stamps
  // has to stamp exactly the bytes that this is given.
  // anchor: async () => undefined,

  // ---- Traces, where @opentelemetry/api is installed and your program registers a provider. Delete the block if not.
  tracing: {
    // The services that are sent the traceparent of a call. None when left out.
    // traceparentTo: ['validationService'],
  },

  // ---- The process "averba run", which does what is due, and serves. A host that embeds averba can delete the block.
  run: {
    // Where /healthz, /readyz and /metrics are served, without authentication.
    // host: '127.0.0.1',
    // port: 9464,
    // The receiver over HTTPS, at the path of receiver.publicUrl, on port 443 unless its port says otherwise. Files
    // that are replaced need no restart.
    // receiver: { certificate: () => ({ cert: textOf('AVERBA_SERVER_CERT'), key: textOf('AVERBA_SERVER_KEY') }) },
    // What your program does with what comes in: called once, before anything runs.
    // prepare: averba => averba.notifications.handle('dimp-situacao-import', 'mine', async n => console.log(n.id)),
  },

  // ---- The surroundings. Only the logger matters outside of tests.
  // Told what an operator should know, as lines without secrets and personal data.
  logger: line => console.log(JSON.stringify(line)),
  // Time and randomness, for tests: a VirtualClock and seededEntropy of averba/simulation, for instance.
  // clock: new VirtualClock(),
  // entropy: seededEntropy(1),
  // The way out to every service, in place of sockets. It takes over TLS: certificate and ca are then not used.
  // fetch: request => fetch(request),
})
`

/** The environment variables that a configuration of this form requires. */
export function requiredVariables(config: string = configTemplate): string[] {
  const active = config.split('\n').filter(line => !/^\s*\/\//.test(line) && !line.startsWith('const '))
  return [...active.join('\n').matchAll(/(?:env|textOf)\('(\w+)'\)/g)].map(([, name = '']) => name)
}
