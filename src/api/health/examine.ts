import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { type SecretSource, valueFrom } from '../../adapters/credentials/secret.ts'
import { openSocket } from '../../adapters/http/transport.ts'
import { tryCredentials } from '../../adapters/token/client.ts'
import { diagnoseStore } from '../../operations/upkeep.ts'
import { type Clock, systemClock } from '../../runtime/clock.ts'
import { systemEntropy } from '../../runtime/entropy.ts'
import type { DiagnoseOptions, Diagnosis } from '../../store/checks/diagnose.ts'
import { rows, together } from '../../store/database/connection.ts'
import { keyringOf, type LogPlace, openReading } from '../../store/database/log-place.ts'
import { db } from '../../store/database/schema.ts'
import { isEffectOpen } from '../../store/ledger/ledger.ts'
import { HeaderReader, untaggedHeaders, upcasters } from '../../store/log/header.ts'
import { readOrSearch, readPage } from '../../store/log/read.ts'
import { Tags } from '../../store/log/tags.ts'
import { openPart } from '../../store/parts/parts.ts'
import { holdsRootKey, openKeyring } from '../../vault/keyring.ts'
import { Vault } from '../../vault/vault.ts'
import type { Views } from '../../views/views.ts'
import { deniedFlag, nodeErrorCode } from '../../vocabulary/connection-errors.ts'
import { describeError, errorName } from '../../vocabulary/error-words.ts'
import { AverbaError, hasCode } from '../../vocabulary/errors.ts'
import type { PartAddress } from '../../vocabulary/message.ts'
import { isOnPostgres, keyringPath } from '../../vocabulary/names.ts'
import { requireNode } from '../../vocabulary/node-version.ts'
import type { Recorded } from '../events.ts'
import {
  type CheckResult,
  checkHandlers,
  checkPending,
  type HealthCheck,
  selectTroubled,
  toTroubles,
} from '../health-check.ts'
import { connectionOf } from '../http-clients.ts'
import { checkOptions, type HostOptions } from '../options.ts'
import { createSecrets, DeclaredSubscriptions } from '../subscriptions/declared-subscriptions.ts'
import { checkPortalAddress } from '../subscriptions/portal-address.ts'
import { lastSuccesses } from '../subscriptions/subscriptions.ts'
import { findUnreadAnswer, misunderstood, outlineOf } from '../unread-answer.ts'
import { checkCertificates } from './certificate-checks.ts'
import { checkPorts } from './port-checks.ts'
import { reachServices } from './reach-services.ts'

/** How many events are searched for an answer that was not understood. */
const eventsLooked = 200
const deliveriesShown = 10

/** The result of an examination. */
export interface Examination {
  /** Every check is ok. */
  readonly ok: boolean
  readonly checks: readonly HealthCheck[]
  /** The diagnosis of the store, if it exists. */
  readonly store?: Diagnosis
}

/** See `examine` of src/index.ts. */
export async function examine(
  options: HostOptions,
  {
    token = false,
    isDeep = false,
    onProgress,
  }: Pick<DiagnoseOptions, 'isDeep' | 'onProgress'> & { token?: boolean } = {},
): Promise<Examination> {
  const { clock = systemClock, store, keys } = options
  const configuration = await runCheck('configuration', async () => {
    requireNode()
    checkOptions(options)
    await readSecrets(options)
    return { ok: true, detail: 'the options are valid, and the secrets can be read' }
  })
  // With wrong options, nothing that they name can be checked.
  if (!configuration?.ok) return { ok: false, checks: [configuration].filter(each => each !== undefined) }
  const diagnosis =
    isOnPostgres(store) || existsSync(store)
      ? await diagnoseStore({
          ...placeIn(options),
          ...{ isDeep, isOpening: true, highWaterMark: options.highWaterMark },
          ...(keys && { rootKey: keys }),
          ...(onProgress && { onProgress }),
        }).catch((error: unknown) => (hasCode(error, 'NOT_FOUND') ? undefined : describeError(error)))
      : undefined
  const services = await reachServices(options, clock)
  const isReadable = typeof diagnosis === 'object'
  const checkLog = (...check: Parameters<typeof runCheck>) => (isReadable ? runCheck(...check) : undefined)
  const otherPortal = await checkLog('portal', () => checkPortal(options))
  const checks = [
    configuration,
    ...storeChecks(store, diagnosis),
    await checkLog('answers', () => showUnreadAnswer(options)),
    await checkLog('notifications', () => checkNotifications(options)),
    options.portal && (await checkLog('subscriptions', () => showDeliveries(options))),
    isOnPostgres(store) ? undefined : await runCheck('writing', async () => checkAccess(store)),
    await runCheck('ports', () => checkPorts(options)),
    ...(await checkCertificates(options, clock)),
    ...services.map(each => (otherPortal && each.name === 'portal' ? otherPortal : each)),
    token ? await runCheck('token', () => tryToken(options, clock)) : undefined,
  ].filter(each => each !== undefined)
  return { ok: checks.every(each => each.ok), checks, ...(isReadable && { store: diagnosis }) }
}

function placeIn({ store, pool, keyring }: HostOptions): LogPlace {
  return { store, ...(pool && { pool }), ...(keyring && { keyring }) }
}

async function runCheck(
  name: HealthCheck['name'],
  look: () => Promise<CheckResult | undefined>,
): Promise<HealthCheck | undefined> {
  const result = await look().catch((error: unknown) => ({ ok: false, detail: describeError(error) }))
  return result && { name, ...result }
}

/** Reads every secret from its source and discards it. Throws once, for all that fail. */
async function readSecrets(options: HostOptions): Promise<void> {
  const { tokenService, validationService, portal, receiver } = options
  const sources = {
    'consumer key': tokenService?.consumerKey,
    'consumer secret': tokenService?.consumerSecret,
    'bearer token': validationService?.bearer,
    'receiver.secretFrom': receiver?.secretFrom,
  }
  const declared = new DeclaredSubscriptions(options)
  const { authenticate } = portal ?? {}
  const results = await Promise.allSettled([
    ...Object.entries(sources).map(([what, source]) => readSecret(source, what)),
    ...declared.all.map(async ({ evento, endpoint }) =>
      createSecrets(evento, await declared.readSources(evento), { endpoint, generation: 1 }),
    ),
    ...(portal && typeof authenticate === 'object' ? [authenticate.write(portal.baseUrl)] : []),
  ])
  const failed = results.flatMap(each => (each.status === 'rejected' ? [each.reason] : []))
  if (failed.length === 1) throw failed[0]
  if (failed.length > 1) throw new AverbaError('MISCONFIGURED', [...new Set(failed.map(describeError))].join('; '))
}

async function readSecret(source: SecretSource | undefined, what: string): Promise<void> {
  if (source === undefined) return
  const value = await valueFrom(source, what)
  if (typeof value !== 'string' || value === '')
    throw new AverbaError('MISCONFIGURED', `Cannot use the ${what}: it is empty`)
}

function* storeChecks(store: string, diagnosis: Diagnosis | string | undefined): Iterable<HealthCheck> {
  if (diagnosis === undefined) return yield missingStore(store)
  if (typeof diagnosis === 'string') return yield { name: 'store', ok: false, detail: diagnosis }
  const { problems, position, keys, pending } = diagnosis
  const ofKeys = problems.filter(each => each.startsWith('keys: '))
  const ofErasures = problems.filter(each => each.startsWith('erasures: '))
  const others = problems.filter(each => !ofKeys.includes(each) && !ofErasures.includes(each))
  yield { name: 'store', ok: others.length === 0, detail: others.join('; ') || `it holds ${position} events` }
  const keyring = keys.isPresent
    ? ofKeys.map(each => each.slice('keys: '.length)).join('; ')
    : `${keys.path} is missing: restore it, because the log cannot be opened without it`
  yield { name: 'keyring', ok: ofKeys.length === 0, detail: keyring || (keys.id ?? keys.path) }
  const lost = ofErasures.map(each => each.slice('erasures: '.length)).join('; ')
  yield { name: 'erasures', ok: lost === '', detail: lost || 'no erasure was lost' }
  yield { name: 'effects', ...checkPending(pending) }
}

function missingStore(store: string): HealthCheck {
  const name = 'store'
  if (store === ':memory:') return { name, ok: true, detail: 'it is in memory and ends with the process' }
  if (isOnPostgres(store)) {
    const detail = 'the server is reached, and has no log in this schema yet: opening it creates it'
    return { name, ok: true, detail }
  }
  if (existsSync(keyringPath(store)))
    return { name, ok: false, detail: 'its file is missing but its keyring exists: restore a backup' }
  return { name, ok: true, detail: 'it does not exist yet: opening it creates it' }
}

/** Outlines the last answer that was not understood, if its call has not ended: the operator's first clue. */
async function showUnreadAnswer(options: HostOptions): Promise<CheckResult | undefined> {
  const { keys } = options
  const place = keyringOf(placeIn(options), systemEntropy)
  // Whether the keyring is there is told by another check.
  if (!(await place.read())) return undefined
  if (!keys && !(await holdsRootKey(place))) return undefined
  await using reading = await openReading(placeIn(options))
  const keyring = await openKeyring(place, systemEntropy, keys)
  const headers = new HeaderReader(upcasters, new Tags(keyring))
  const vault = new Vault(keyring, systemEntropy)
  const last = { types: misunderstood, backward: true, limit: eventsLooked }
  const events = await readOrSearch<Recorded<(typeof misunderstood)[number]>>(reading, headers, last)
  const areOpen = await reading.read(() => together(events.map(({ data }) => isEffectOpen(data.effect))))
  // Nobody has said who looks, and why: only `averba effects show --data` opens the text on record.
  const open = async (address: PartAddress) => {
    const text = await reading.read(() => openPart(vault, headers, address))
    return typeof text === 'string' ? outlineOf(text) : undefined
  }
  const waiting = events.filter((_, i) => areOpen[i])
  const effect = waiting.find(({ data }) => 'unread' in data && data.unread)?.data.effect
  const ofCall = waiting.filter(({ data }) => data.effect === effect)
  const found = await findUnreadAnswer(ofCall, open)
  if (!found) return { ok: true, detail: 'no open call waits after an answer that was not understood' }
  const { at, httpStatus, form, text: outline = 'its text is not kept here' } = found
  const call = found.part ? `${effect} --data` : effect
  const which = `the last answer that was not understood, of ${at} (averba effects show ${call})`
  const detail = `${which}: HTTP ${httpStatus}, ${form}: ${outline}`
  return { ok: false, detail }
}

async function checkNotifications(options: HostOptions): Promise<CheckResult> {
  await using reading = await openReading(placeIn(options))
  const query = selectTroubled(db.$extendTables<Pick<Views, 'notifications'>>())
  return checkHandlers(toTroubles(await reading.read(() => rows(query))))
}

/** Says when the portal last delivered to each active subscription, as it was last listed. */
async function showDeliveries(options: HostOptions): Promise<CheckResult> {
  await using reading = await openReading(placeIn(options))
  const found = await reading.read(() => rows(lastSuccesses(db.$extendTables<Pick<Views, 'subscriptions'>>())))
  const each = found.map(({ evento, last_success_at: at }) => `${evento} (${at})`)
  const shown = each.length > deliveriesShown ? [...each.slice(0, deliveriesShown), '...'] : each
  const none = 'no delivery of an active subscription has succeeded, as the portal was last listed'
  return { ok: true, detail: shown.length === 0 ? none : `the portal last delivered ${shown.join(', ')}` }
}

/** Throws when the log belongs to another portal: it cannot be opened with this one. */
async function checkPortal(options: HostOptions): Promise<undefined> {
  await using reading = await openReading(placeIn(options))
  await checkPortalAddress({ read: filter => reading.read(() => readPage(untaggedHeaders, filter)) }, options.portal)
}

/** SQLite creates files next to the store, so the folder must be writable too. */
function checkAccess(store: string): CheckResult {
  if (store === ':memory:') return { ok: true, detail: 'it is in memory' }
  const paths = [dirname(store), store, keyringPath(store)].filter((path, i) => i === 0 || existsSync(path))
  for (const path of paths) {
    try {
      accessSync(path, constants.R_OK | constants.W_OK)
    } catch (error) {
      // Deno looks up the user for this. Opening the log says what else is missing.
      if (deniedFlag(error) === '--allow-sys') continue
      const why = nodeErrorCode(error) || deniedFlag(error) || errorName(error)
      return { ok: false, detail: `this user cannot read and write "${path}", or it does not exist (${why})` }
    }
  }
  return { ok: true, detail: 'this user can write the file and its folder' }
}

async function tryToken(options: HostOptions, clock: Clock): Promise<CheckResult | undefined> {
  const { tokenService, fetch } = options
  if (!tokenService) return undefined
  const socket = openSocket({ clock, ...connectionOf(options, 'tokenService') })
  try {
    return await tryCredentials({ ...tokenService, clock, fetch: fetch ?? socket.fetch })
  } finally {
    await socket.close()
  }
}
