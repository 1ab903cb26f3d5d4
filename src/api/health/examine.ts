import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { SecretSource } from '../../adapters/credentials/secret.ts'
import { valueFrom } from '../../adapters/credentials/source.ts'
import { openSocket } from '../../adapters/http/transport.ts'
import { tryCredentials } from '../../adapters/token/try-credentials.ts'
import { diagnoseStore } from '../../operations/diagnose.ts'
import { type Clock, systemClock } from '../../runtime/clock.ts'
import type { Diagnosis } from '../../store/checks/diagnose.ts'
import { rows } from '../../store/database/connection.ts'
import { Snapshot } from '../../store/database/snapshot.ts'
import { readPage } from '../../store/log/read.ts'
import { inWords } from '../../vocabulary/error-words.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { keyringPath } from '../../vocabulary/names.ts'
import { type CheckResult, checkHandlers, checkPending, type HealthCheck } from '../check.ts'
import { checkShape } from '../check-options.ts'
import type { HostOptions } from '../options.ts'
import { DeclaredSubscriptions } from '../subscriptions/declared-subscriptions.ts'
import { checkPortalAddress } from '../subscriptions/portal-address.ts'
import { checkCertificates } from './certificate-checks.ts'
import { reachServices } from './reach-services.ts'

/** What an examination found. */
export interface Examination {
  /** Every check is well. */
  readonly ok: boolean
  readonly checks: readonly HealthCheck[]
  /** The store in detail, where there is one. */
  readonly store?: Diagnosis
}

/**
 * Looks at everything that a configuration needs to work, without opening its log and without writing: the options, the
 * secrets and certificates that they give, the store and its keyring, the way to each service, and the clock. A service
 * is sent a `HEAD /` and none of its operations; with `token`, the gateway is asked for a token, once. `isDeep`
 * compares everything in the store with everything else. Never throws: what is wrong is a check that says what to do.
 */
export async function examine(
  options: HostOptions,
  { token = false, isDeep = false }: { readonly token?: boolean; readonly isDeep?: boolean } = {},
): Promise<Examination> {
  const { clock = systemClock } = options
  const configuration = await found('configuration', async () => {
    checkShape(options)
    await askSecrets(options)
    return { ok: true, detail: 'its options can be used, and its secrets can be had' }
  })
  // While the options are wrong, nothing that they name can be looked at.
  if (!configuration?.ok) return { ok: false, checks: [configuration].filter(each => each !== undefined) }
  const diagnosis = existsSync(options.store) ? await diagnosisOf(options.store, isDeep) : undefined
  const reached = await reachServices(options, clock)
  const foreign =
    typeof diagnosis === 'object' ? await found('portal', () => findForeign(options)) : undefined
  const checks = [
    configuration,
    ...storeChecks(options.store, diagnosis),
    typeof diagnosis === 'object'
      ? await found('notifications', () => findTroubled(options.store))
      : undefined,
    await found('writing', async () => checkAccess(options.store)),
    ...(await checkCertificates(options, clock)),
    ...reached.map(each => (foreign && each.name === 'portal' ? foreign : each)),
    token ? await found('token', () => askToken(options, clock)) : undefined,
  ].filter(each => each !== undefined)
  const store = typeof diagnosis === 'object' && { store: diagnosis }
  return { ok: checks.every(each => each.ok), checks, ...store }
}

async function found(
  name: HealthCheck['name'],
  look: () => Promise<CheckResult | undefined>,
): Promise<HealthCheck | undefined> {
  const seen = await look().catch((error: unknown) => ({ ok: false, detail: inWords(error) }))
  return seen && { name, ...seen }
}

/** Asks every source of a secret, and forgets what it gives. Throws once, for all that fail. */
async function askSecrets(options: HostOptions): Promise<void> {
  const { tokenService, validationService, portal, receiver } = options
  const sources = {
    'consumer key': tokenService?.consumerKey,
    'consumer secret': tokenService?.consumerSecret,
    'bearer token': validationService?.bearer,
    'receiver.secretFrom': receiver?.secretFrom,
  }
  const desired = new DeclaredSubscriptions(options)
  const { authenticate } = portal ?? {}
  const asked = await Promise.allSettled([
    ...Object.entries(sources).map(([what, source]) => askSecret(source, what)),
    ...desired.all.map(({ evento, endpoint }) => desired.secretsOf(evento, { endpoint, generation: 1 })),
    ...(portal && typeof authenticate === 'object' ? [authenticate.write(portal.baseUrl)] : []),
  ])
  const failed = asked.flatMap(each => (each.status === 'rejected' ? [each.reason] : []))
  if (failed.length === 1) throw failed[0]
  if (failed.length > 1) throw new AverbaError('MISCONFIGURED', [...new Set(failed.map(inWords))].join('; '))
}

async function askSecret(source: SecretSource | undefined, what: string): Promise<void> {
  if (source === undefined) return
  const value = await valueFrom(source, what)
  if (typeof value !== 'string' || value === '')
    throw new AverbaError('MISCONFIGURED', `Cannot use the ${what}: it is empty`)
}

/** The diagnosis of the store, or why there is none. */
async function diagnosisOf(store: string, isDeep: boolean): Promise<Diagnosis | string> {
  try {
    return await diagnoseStore({ store, isDeep })
  } catch (error) {
    return inWords(error)
  }
}

function* storeChecks(store: string, diagnosis: Diagnosis | string | undefined): Iterable<HealthCheck> {
  if (diagnosis === undefined) return yield missingStore(store)
  if (typeof diagnosis === 'string') return yield { name: 'store', ok: false, detail: diagnosis }
  const { problems, position, keys, owed } = diagnosis
  const ofKeys = problems.filter(each => each.startsWith('keys: '))
  const ofErasures = problems.filter(each => each.startsWith('erasures: '))
  const others = problems.filter(each => !ofKeys.includes(each) && !ofErasures.includes(each))
  yield { name: 'store', ok: others.length === 0, detail: others.join('; ') || `${position} events` }
  const keyring = keys.isPresent
    ? ofKeys.map(each => each.slice('keys: '.length)).join('; ')
    : `${keys.path} is gone: put it back, the log cannot be opened without it`
  yield { name: 'keyring', ok: ofKeys.length === 0, detail: keyring || (keys.id ?? keys.path) }
  const lost = ofErasures.map(each => each.slice('erasures: '.length)).join('; ')
  yield { name: 'erasures', ok: lost === '', detail: lost || 'none is lost' }
  yield { name: 'effects', ...checkPending(owed) }
}

function missingStore(store: string): HealthCheck {
  const name = 'store'
  if (store === ':memory:') return { name, ok: true, detail: 'it is in memory, and ends with the process' }
  if (existsSync(keyringPath(store))) {
    return { name, ok: false, detail: 'its file is gone, and its keyring is there: restore a backup' }
  }
  return { name, ok: true, detail: 'it is not there yet: it is made when it is opened' }
}

async function findTroubled(store: string): Promise<CheckResult> {
  const snapshot = await Snapshot.open(store)
  try {
    const counted = snapshot.run(() =>
      rows<{ trouble: string; count: number }>({ sql: countTroubled, parameters: [] }),
    )
    const of = (trouble: string) => counted.find(each => each.trouble === trouble)?.count ?? 0
    return checkHandlers({ failing: of('failing'), parked: of('parked') })
  } finally {
    snapshot.close()
  }
}

/** Whether the log belongs to another portal: nothing opens it with this one. */
async function findForeign({ store, portal }: HostOptions): Promise<undefined> {
  const snapshot = await Snapshot.open(store)
  try {
    await checkPortalAddress({ read: async filter => snapshot.run(() => readPage({}, filter)) }, portal)
  } finally {
    snapshot.close()
  }
}

const countTroubled = `select trouble, count(*) as count from notifications where trouble is not null
  group by trouble`

/** SQLite makes files beside the store. */
function checkAccess(store: string): CheckResult {
  if (store === ':memory:') return { ok: true, detail: 'it is in memory' }
  const paths = [dirname(store), store, keyringPath(store)].filter((path, i) => i === 0 || existsSync(path))
  for (const path of paths) {
    try {
      accessSync(path, constants.R_OK | constants.W_OK)
    } catch {
      return { ok: false, detail: `this user may not read and write "${path}", or it is not there` }
    }
  }
  return { ok: true, detail: 'this user may write the file and its folder' }
}

async function askToken(options: HostOptions, clock: Clock): Promise<CheckResult | undefined> {
  const { tokenService, fetch } = options
  if (!tokenService) return undefined
  const { ca } = tokenService
  const socket = openSocket({ clock, ...(ca !== undefined && { ca }) })
  try {
    return await tryCredentials({ ...tokenService, clock, fetch: fetch ?? socket.fetch })
  } finally {
    await socket.close()
  }
}
