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

const limitOptions = ['requestsPerSecond', 'requestsAtOnceMax']

/**
 * Every option name by group; the top-level options are under the empty name. An unknown name is refused: a misspelt
 * option could silently leave out a secret.
 */
export const optionNames: Readonly<Record<string, readonly string[]>> = {
  '': [
    ...['store', 'actor', 'basis', ...serviceNames, 'receiver', 'subscriptions', 'schedules'],
    ...['highWaterMark', 'anchor', 'clock', 'entropy', 'fetch', 'logger', 'run', 'tracing'],
    ...['keys', 'retention', 'backupRetentionDays', 'recordKeys'],
  ],
  consentService: ['baseUrl', 'certificate', 'ca', 'redirectUrls', 'syncEveryMs', ...limitOptions],
  tokenService: ['url', 'consumerKey', 'consumerSecret', 'credential', 'ca'],
  validationService: [
    ...['baseUrl', 'knownAs', 'service', 'bearer', 'traceHeader', 'paidPerDayMax', 'ca'],
    ...limitOptions,
  ],
  portal: ['baseUrl', 'knownAs', 'authenticate', 'failuresBytesMax', 'ca', ...limitOptions],
  receiver: ['publicUrl', 'trustedProxies', 'sources', 'secretFrom'],
  retention: Object.keys(partKinds),
  subscriptions: ['evento', 'endpoint', 'chaveSecreta', 'chaveAutenticacao', 'recreate'],
  tracing: ['traceparentTo'],
  run: ['host', 'port', 'receiver', 'prepare'],
}

/**
 * Checks the options before anything is opened: missing, misspelt and unusable ones.
 *
 * @throws {AverbaError} `MISCONFIGURED`, and as `checkActor` and `checkBasis` do
 */
export async function checkOptions(options: HostOptions, clock: Clock): Promise<void> {
  checkOptionShape(options)
  // With the host's own fetch, the host presents the certificate.
  const certificate = options.fetch ? undefined : options.consentService?.certificate
  if (typeof certificate === 'object') await loadCertificate(certificate, clock.now())
}

/**
 * The same without reading certificates.
 *
 * @throws {AverbaError} as `checkOptions`
 */
export function checkOptionShape(options: HostOptions): void {
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
    throw optionError('Cannot use the consentService: its certificate is missing', {
      hint: 'Give consentService.certificate: { cert, key } as PEM text, or { pfx, passphrase }',
    })
  }
  if (validationService && !tokenService && validationService.bearer === undefined) {
    throw optionError('Cannot use the validationService: its token is missing', {
      hint: 'Give the option tokenService, or validationService.bearer',
    })
  }
  checkRequiredOptions(options)
  if (tokenService?.credential !== undefined) checkCredential(tokenService.credential)
  if (validationService?.traceHeader !== undefined) checkTraceHeader(validationService.traceHeader)
  const { paidPerDayMax = 0 } = validationService ?? {}
  if (!Number.isSafeInteger(paidPerDayMax) || paidPerDayMax < 0) {
    throw optionError('Cannot use validationService.paidPerDayMax: it must be a whole number, 0 or more')
  }
  const { sources = 'any', trustedProxies = 0 } = receiver ?? {}
  if (sources !== 'any') parseRanges(sources)
  if (!Number.isSafeInteger(trustedProxies) || trustedProxies < 0) {
    throw optionError('Cannot use receiver.trustedProxies: it must be 0 or more')
  }
  checkRunOptions(options)
  checkTracing(options)
}

/** Checks required options: a missing one would be sent as `undefined`, in an address or as a credential. */
function checkRequiredOptions({ consentService, tokenService, validationService, portal }: HostOptions): void {
  const { redirectUrls = [] } = consentService ?? {}
  // A string also has `includes`, which would match every substring.
  if (!Array.isArray(redirectUrls) || redirectUrls.some(each => typeof each !== 'string'))
    throw optionError('Cannot use consentService.redirectUrls: it is not a list of addresses')
  if (portal && !portal.authenticate) {
    throw optionError('Cannot use the portal: its authentication is missing', {
      hint: 'Give portal.authenticate: staticHeaders, portalAccessKeys, portalSession, or a function',
    })
  }
  if (tokenService) {
    checkSecret('tokenService.consumerKey', tokenService.consumerKey)
    checkSecret('tokenService.consumerSecret', tokenService.consumerSecret)
  }
  if (!validationService) return
  checkOptionText('validationService.service', validationService.service)
  if (validationService.bearer !== undefined) checkSecret('validationService.bearer', validationService.bearer)
}

/** Checks a secret; a function is called only when the secret is needed. */
function checkSecret(name: string, source: unknown): void {
  if (typeof source !== 'function') checkOptionText(name, source instanceof Secret ? source.expose() : source)
}

function checkOptionText(name: string, text: unknown): asserts text is string {
  if (typeof text === 'string' && text !== '') return
  throw optionError(`Cannot use ${name}: it is missing, empty, or not a text`, {
    hint: 'Check where it comes from: an environment variable may be unset',
  })
}

/** The credential is part of a stream name, in clear, and precedes a slash in part addresses. */
function checkCredential(credential: string): void {
  checkId(credential, 'tokenService.credential')
  if (credential.includes('/')) throw optionError('Cannot use tokenService.credential: it contains a slash')
}

/** Headers with a meaning for the gateway or the connection. */
const reservedHeaders = new Set([
  ...['accept', 'authorization', 'content-type', 'traceparent', 'tracestate', 'host', 'content-length'],
  ...['transfer-encoding', 'connection', 'keep-alive', 'upgrade', 'expect', 'te', 'trailer'],
])

function checkTraceHeader(name: string): void {
  if (!/^[\w!#$%&'*+.^`|~-]{1,100}$/.test(name)) {
    throw optionError('Cannot use validationService.traceHeader: it is not a header name')
  }
  if (reservedHeaders.has(name.toLowerCase())) {
    throw optionError(`Cannot use validationService.traceHeader: "${name}" is a reserved header`)
  }
}

function checkTracing({ tracing: { traceparentTo = [] } = {} }: HostOptions): void {
  const unknown = traceparentTo.find(name => !serviceNames.includes(name))
  if (unknown === undefined) return
  throw optionError('Cannot use tracing.traceparentTo: it names an unknown service', {
    hint: `Use any of ${serviceNames.join(', ')}`,
  })
}

function checkRunOptions({ run = {}, receiver }: HostOptions): void {
  if (run.receiver && !receiver) {
    throw optionError('Cannot use run.receiver: the option receiver is missing', {
      hint: 'Give the option receiver: it is served at the path of its publicUrl',
    })
  }
  if (run.receiver && run.receiver.certificate === undefined) {
    throw optionError('Cannot use run.receiver: its certificate is missing', {
      hint: 'Give run.receiver.certificate, { cert, key } or { pfx, passphrase }: the portal delivers over TLS only',
    })
  }
  for (const [name, port = 0] of [
    ['run.port', run.port],
    ['run.receiver.port', run.receiver?.port],
  ] as const) {
    if (!Number.isInteger(port) || port < 0 || port > 65_535) {
      throw optionError(`Cannot use ${name}: it is not a port number`)
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
    throw optionError('Cannot open: the option store is missing', {
      hint: 'Give the path of a SQLite file, or :memory:',
    })
  }
  // The message does not repeat the address: it may contain a password.
  if (/^\w+:\/\//.test(store)) {
    throw optionError('Cannot open: the option store is an address, and only SQLite files are supported', {
      hint: 'Give the path of a SQLite file, or :memory:',
    })
  }
}

function checkAddresses({ consentService, tokenService, validationService, portal, receiver }: HostOptions): void {
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
    checkOptionText(name, address)
    const url = URL.parse(address)
    if (url?.protocol !== 'https:') throw optionError(`Cannot use ${name}: it is not an https address`)
    if (url.username !== '' || url.password !== '') {
      throw optionError(`Cannot use ${name}: it contains a user name or a password`)
    }
    if (name.endsWith('.baseUrl') && /[?#]/.test(address)) {
      throw optionError(`Cannot use ${name}: it contains ? or #, and paths are appended to it`)
    }
  }
}

/** Checks the limits: a limit of 0 would silently stop every request. */
function checkLimits({ consentService, validationService, portal }: HostOptions): void {
  if (consentService?.syncEveryMs !== undefined) checkSyncEveryMs(consentService.syncEveryMs)
  for (const [name, service] of Object.entries({ consentService, validationService, portal })) {
    const { requestsPerSecond: perSecond = 1, requestsAtOnceMax: atOnce = 1 } = service ?? {}
    if (!(perSecond > 0)) throw optionError(`Cannot use ${name}.requestsPerSecond: it is not above 0`)
    if (!Number.isInteger(atOnce) || atOnce < 1) {
      throw optionError(`Cannot use ${name}.requestsAtOnceMax: it is not a whole number above 0`)
    }
  }
  const { failuresBytesMax = 1 } = portal ?? {}
  if (!Number.isInteger(failuresBytesMax) || failuresBytesMax < 1 || failuresBytesMax > failuresBytesCap) {
    throw optionError(`Cannot use portal.failuresBytesMax: it is not a whole number from 1 to ${failuresBytesCap}`)
  }
}

/** A larger answer does not fit into one string. */
const failuresBytesCap = 256 * 1_048_576

function checkRetention({ retention = {}, backupRetentionDays = 0 }: HostOptions): void {
  if (!Number.isSafeInteger(backupRetentionDays) || backupRetentionDays < 0)
    throw optionError('Cannot use backupRetentionDays: it must be a whole number, 0 or more')
  for (const [kind, rule] of Object.entries(retention)) {
    if (rule === 'until-settled') continue
    const { days } = rule as { days?: unknown } // Checked here.
    if (Number.isSafeInteger(days) && Number(days) >= 0) continue
    throw optionError(`Cannot use retention["${kind}"]: it is not until-settled or { days }`)
  }
}

function checkRecordKeys({ recordKeys = [] }: HostOptions): void {
  if (Array.isArray(recordKeys) && recordKeys.every(kind => recordKinds.includes(kind))) return
  throw optionError('Cannot use recordKeys: it is not a list of record kinds', {
    hint: `Use any of ${recordKinds.join(', ')}`,
  })
}

function optionError(message: string, options: { hint?: string } = {}): AverbaError {
  return new AverbaError('MISCONFIGURED', message, options)
}
