import { loadCertificate } from '../adapters/credentials/certificate.ts'
import { Secret } from '../adapters/credentials/secret.ts'
import { parseRanges } from '../adapters/receiver/source-ranges.ts'
import type { Clock } from '../runtime/clock.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { checkKnownNames } from '../vocabulary/known-names.ts'
import { partKinds, recordKinds } from '../vocabulary/part-kinds.ts'
import { serviceNames } from '../vocabulary/service-name.ts'
import { checkActor, checkBasis, checkId, checkSyncEveryMs } from './arguments.ts'
import type { HostOptions } from './options.ts'

/** How much of a service is used at most. */
const limits = ['requestsPerSecond', 'requestsAtOnceMax']

/**
 * Every option by its name, in groups: those at the top under the empty name. A name that is not here is a slip, and
 * could leave out a secret in silence.
 */
export const optionNames: Readonly<Record<string, readonly string[]>> = {
  '': [
    ...['store', 'actor', 'basis', ...serviceNames],
    ...[
      'receiver',
      'subscriptions',
      'schedules',
      'highWaterMark',
      'anchor',
      'clock',
      'entropy',
      'fetch',
      'logger',
      'run',
      'tracing',
    ],
    ...['keys', 'retention', 'backupRetentionDays', 'recordKeys'],
  ],
  consentService: ['baseUrl', 'certificate', 'ca', 'redirectUrls', 'syncEveryMs', ...limits],
  tokenService: ['url', 'consumerKey', 'consumerSecret', 'credential', 'ca'],
  validationService: [
    ...['baseUrl', 'knownAs', 'service', 'bearer', 'traceHeader', 'paidPerDayMax', 'ca'],
    ...limits,
  ],
  portal: ['baseUrl', 'knownAs', 'authenticate', 'failuresBytesMax', 'ca', ...limits],
  receiver: ['publicUrl', 'trustedProxies', 'sources', 'secretFrom'],
  retention: Object.keys(partKinds),
  subscriptions: ['evento', 'endpoint', 'chaveSecreta', 'chaveAutenticacao', 'recreate'],
  tracing: ['traceparentTo'],
  run: ['host', 'port', 'receiver', 'prepare'],
}

/**
 * Says what is missing, misspelt or cannot work, before anything is opened.
 *
 * @throws {AverbaError} `MISCONFIGURED`, and as `actor` and `basis` are checked
 */
export async function checkOptions(options: HostOptions, clock: Clock): Promise<void> {
  checkShape(options)
  // With a way out of the host's own, certificates are the host's business.
  const certificate = options.fetch ? undefined : options.consentService?.certificate
  if (typeof certificate === 'object') await loadCertificate(certificate, clock.now())
}

/**
 * The same without a look into certificates.
 *
 * @throws {AverbaError} as `checkOptions`
 */
export function checkShape(options: HostOptions): void {
  checkNames(options)
  checkStore(options.store)
  checkAddresses(options)
  checkLimits(options)
  checkRetention(options)
  checkRecordKeys(options)
  if (options.actor) checkActor(options.actor)
  if (options.basis) checkBasis(options.basis)
  const { consentService, tokenService, validationService, receiver } = options
  if (consentService && !consentService.certificate) {
    throw misconfigured('Cannot use the consentService: its certificate is missing', {
      hint: 'Give consentService.certificate: { cert, key } as PEM text, or { pfx, passphrase }',
    })
  }
  if (validationService && !tokenService && validationService.bearer === undefined) {
    throw misconfigured('Cannot use the validationService: there is no token for it', {
      hint: 'Give the option tokenService, or validationService.bearer',
    })
  }
  checkGiven(options)
  if (tokenService?.credential !== undefined) checkCredential(tokenService.credential)
  if (validationService?.traceHeader !== undefined) checkTraceHeader(validationService.traceHeader)
  const { paidPerDayMax = 0 } = validationService ?? {}
  if (!Number.isSafeInteger(paidPerDayMax) || paidPerDayMax < 0) {
    throw misconfigured('Cannot use validationService.paidPerDayMax: it must be a whole number, 0 or more')
  }
  const { sources = 'any', trustedProxies = 0 } = receiver ?? {}
  if (sources !== 'any') parseRanges(sources)
  if (!Number.isSafeInteger(trustedProxies) || trustedProxies < 0) {
    throw misconfigured('Cannot use receiver.trustedProxies: it must be 0 or more')
  }
  checkRun(options)
  checkTracing(options)
}

/** What is missing would be sent as `undefined`, in an address or as a credential. */
function checkGiven({ consentService, tokenService, validationService, portal }: HostOptions): void {
  const { redirectUrls = [] } = consentService ?? {}
  // Of one text, every piece would count as listed.
  if (!Array.isArray(redirectUrls) || redirectUrls.some(each => typeof each !== 'string'))
    throw misconfigured('Cannot use consentService.redirectUrls: it is not a list of addresses')
  if (portal && !portal.authenticate) {
    throw misconfigured('Cannot use the portal: its authentication is missing', {
      hint: 'Give portal.authenticate: staticHeaders, portalAccessKeys, portalSession, or a function',
    })
  }
  if (tokenService) {
    checkSecret('tokenService.consumerKey', tokenService.consumerKey)
    checkSecret('tokenService.consumerSecret', tokenService.consumerSecret)
  }
  if (!validationService) return
  checkText('validationService.service', validationService.service)
  if (validationService.bearer !== undefined)
    checkSecret('validationService.bearer', validationService.bearer)
}

/** A function is asked when the secret is needed. */
function checkSecret(name: string, source: unknown): void {
  if (typeof source !== 'function') checkText(name, source instanceof Secret ? source.expose() : source)
}

function checkText(name: string, text: unknown): asserts text is string {
  if (typeof text === 'string' && text !== '') return
  throw misconfigured(`Cannot use ${name}: it is missing, empty, or not a text`, {
    hint: 'Look at where it is read: a variable that is not set gives nothing',
  })
}

/** The credential names a stream, in clear, and stands before a slash in the addresses of parts. */
function checkCredential(credential: string): void {
  checkId(credential, 'tokenService.credential')
  if (credential.includes('/')) throw misconfigured('Cannot use tokenService.credential: it holds a slash')
}

/** Headers that mean something to the gateway, or to the connection. */
const takenHeaders = new Set([
  ...['accept', 'authorization', 'content-type', 'traceparent', 'tracestate', 'host', 'content-length'],
  ...['transfer-encoding', 'connection', 'keep-alive', 'upgrade', 'expect', 'te', 'trailer'],
])

function checkTraceHeader(name: string): void {
  if (!/^[\w!#$%&'*+.^`|~-]{1,100}$/.test(name)) {
    throw misconfigured('Cannot use validationService.traceHeader: it is not a name of a header')
  }
  if (takenHeaders.has(name.toLowerCase())) {
    throw misconfigured(`Cannot use validationService.traceHeader: "${name}" has another meaning`)
  }
}

function checkTracing({ tracing: { traceparentTo = [] } = {} }: HostOptions): void {
  const unknown = traceparentTo.find(name => !serviceNames.includes(name))
  if (unknown === undefined) return
  throw misconfigured('Cannot use tracing.traceparentTo: it names no service', {
    hint: `Use any of ${serviceNames.join(', ')}`,
  })
}

function checkRun({ run = {}, receiver }: HostOptions): void {
  if (run.receiver && !receiver) {
    throw misconfigured('Cannot use run.receiver: there is no receiver to serve', {
      hint: 'Give the option receiver, with the publicUrl at whose path it is served',
    })
  }
  if (run.receiver && run.receiver.certificate === undefined) {
    throw misconfigured('Cannot use run.receiver: its certificate is missing', {
      hint: 'Give run.receiver.certificate, { cert, key } or { pfx, passphrase }: the portal delivers over TLS only',
    })
  }
  for (const [name, port = 0] of [
    ['run.port', run.port],
    ['run.receiver.port', run.receiver?.port],
  ] as const) {
    if (!Number.isInteger(port) || port < 0 || port > 65_535) {
      throw misconfigured(`Cannot use ${name}: it is not a port`)
    }
  }
}

function checkNames(options: HostOptions): void {
  const groups = new Map<string, object>([['', options]])
  for (const [name, value] of Object.entries(options)) {
    if (name === 'subscriptions' || typeof value !== 'object' || value === null) continue
    if (name in optionNames) groups.set(name, value)
  }
  for (const [group, value] of groups) checkGroup(group, value)
  for (const each of options.subscriptions ?? []) checkGroup('subscriptions', each)
}

function checkGroup(group: string, value: object): void {
  const of = group === '' ? {} : { of: group }
  checkKnownNames(value, optionNames[group] ?? [], { noun: 'option', code: 'MISCONFIGURED', ...of })
}

function checkStore(store: unknown): void {
  if (typeof store !== 'string' || store === '') {
    throw misconfigured('Cannot open: the option store is missing', {
      hint: 'Give the path of a SQLite file, or :memory:',
    })
  }
  // An address may hold a password: it is not repeated.
  if (/^\w+:\/\//.test(store)) {
    throw misconfigured('Cannot open: the option store is an address, and only SQLite files are supported', {
      hint: 'Give the path of a SQLite file, or :memory:',
    })
  }
}

function checkAddresses({
  consentService,
  tokenService,
  validationService,
  portal,
  receiver,
}: HostOptions): void {
  const addresses: Readonly<Record<string, unknown>> = {
    ...(consentService && { 'consentService.baseUrl': consentService.baseUrl }),
    ...(tokenService && { 'tokenService.url': tokenService.url }),
    ...(validationService && { 'validationService.baseUrl': validationService.baseUrl }),
    ...(validationService?.knownAs !== undefined && {
      'validationService.knownAs': validationService.knownAs,
    }),
    ...(portal && { 'portal.baseUrl': portal.baseUrl }),
    ...(portal?.knownAs !== undefined && { 'portal.knownAs': portal.knownAs }),
    ...(receiver && { 'receiver.publicUrl': receiver.publicUrl }),
  }
  for (const [name, address] of Object.entries(addresses)) {
    checkText(name, address)
    const url = URL.parse(address)
    if (url?.protocol !== 'https:') throw misconfigured(`Cannot use ${name}: it is not an https address`)
    if (url.username !== '' || url.password !== '') {
      throw misconfigured(`Cannot use ${name}: it holds a user name or a password`)
    }
    if (name.endsWith('.baseUrl') && /[?#]/.test(address)) {
      throw misconfigured(`Cannot use ${name}: paths are added to it, and behind ? or # they would be none`)
    }
  }
}

/** A bound that lets nothing through would stop everything in silence. */
function checkLimits({ consentService, validationService, portal }: HostOptions): void {
  if (consentService?.syncEveryMs !== undefined) checkSyncEveryMs(consentService.syncEveryMs)
  for (const [name, service] of Object.entries({ consentService, validationService, portal })) {
    const { requestsPerSecond: perSecond = 1, requestsAtOnceMax: atOnce = 1 } = service ?? {}
    if (!(perSecond > 0)) throw misconfigured(`Cannot use ${name}.requestsPerSecond: it is not above 0`)
    if (!Number.isInteger(atOnce) || atOnce < 1) {
      throw misconfigured(`Cannot use ${name}.requestsAtOnceMax: it is not a whole number above 0`)
    }
  }
  const { failuresBytesMax = 1 } = portal ?? {}
  if (!Number.isInteger(failuresBytesMax) || failuresBytesMax < 1 || failuresBytesMax > failuresBytesCap) {
    throw misconfigured(
      `Cannot use portal.failuresBytesMax: it is not a whole number from 1 to ${failuresBytesCap}`,
    )
  }
}

/** A larger answer could not be read as one text. */
const failuresBytesCap = 256 * 1_048_576

function checkRetention({ retention = {}, backupRetentionDays = 0 }: HostOptions): void {
  if (!Number.isSafeInteger(backupRetentionDays) || backupRetentionDays < 0)
    throw misconfigured('Cannot use backupRetentionDays: it must be a whole number, 0 or more')
  for (const [kind, rule] of Object.entries(retention)) {
    if (rule === 'until-settled') continue
    const { days } = rule as { days?: unknown } // Checked here.
    if (Number.isSafeInteger(days) && Number(days) >= 0) continue
    throw misconfigured(`Cannot use retention["${kind}"]: it is neither until-settled nor { days }`)
  }
}

function checkRecordKeys({ recordKeys = [] }: HostOptions): void {
  if (Array.isArray(recordKeys) && recordKeys.every(kind => recordKinds.includes(kind))) return
  throw misconfigured('Cannot use recordKeys: it is not a list of kinds of records', {
    hint: `Use any of ${recordKinds.join(', ')}`,
  })
}

function misconfigured(message: string, options: { hint?: string } = {}): AverbaError {
  return new AverbaError('MISCONFIGURED', message, options)
}
