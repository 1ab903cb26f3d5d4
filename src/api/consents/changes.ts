import type { ConsentEffects } from '../../adapters/consent/client.ts'
import { type EndWithheldCall, guardEffect } from '../../engine/performing/guarded-performer.ts'
import { heldOf } from '../../machines/consent/chart.ts'
import { evolveConsent, initialConsent } from '../../machines/consent/consent.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { Json } from '../../vocabulary/message.ts'
import { effectOwner, type PerformersOf } from '../../vocabulary/performer.ts'
import type { ApiContext } from '../api-context.ts'
import type { EffectTypes, PendingOf, WithheldChange } from '../effect-types.ts'
import { isOfType } from '../events.ts'
import { readConsentEvents } from './consent-events.ts'

/** Why someone decided, sealed under the data subject's key: what the person saw and did, login state, channel. */
export interface DecisionEvidence {
  readonly reason?: string
  /** Any JSON value, up to 64 KiB. */
  readonly evidence?: unknown
}

const evidenceBytesMax = 65_536

/**
 * Converts reason and evidence to JSON; `undefined` when both are absent. Throws `INVALID_INPUT` when they are not JSON
 * or too long; the message does not quote them.
 */
export function checkEvidence({
  reason,
  evidence,
}: { [K in keyof DecisionEvidence]?: DecisionEvidence[K] | undefined }): Json | undefined {
  if (reason === undefined && evidence === undefined) return undefined
  if (reason !== undefined && (typeof reason !== 'string' || !reason.isWellFormed()))
    throw invalidEvidence('the reason is not a text')
  const text = stringifyEvidence({ reason, evidence })
  if (Buffer.byteLength(text) > evidenceBytesMax)
    throw invalidEvidence(`they are longer than ${evidenceBytesMax} bytes`)
  return JSON.parse(text)
}

function stringifyEvidence(why: object): string {
  try {
    return JSON.stringify(why)
  } catch {
    throw invalidEvidence('they are not JSON')
  }
}

function invalidEvidence(reason: string): AverbaError {
  return new AverbaError('INVALID_INPUT', `Cannot record reason and evidence: ${reason}`)
}

const changeStatus = 'consentService.changeStatus'

/**
 * Sends a deferred change of a consent only while it has a purpose, by the log right before each attempt. An approval
 * has none once a reading showed another status: it would override the person's denial. A denial or revocation has one
 * until an end was shown: an open status may come from an older copy. A change that readings show to be made is
 * settled.
 */
export function guardChanges(
  { store }: Pick<ApiContext, 'store'>,
  performers: PerformersOf<ConsentEffects>,
): PerformersOf<Pick<EffectTypes, keyof ConsentEffects>> {
  const { [changeStatus]: change } = performers
  const guarded = guardEffect(store, change, pending => endIfObsolete(store, pending))
  return { ...performers, [changeStatus]: guarded }
}

async function endIfObsolete(
  store: ApiContext['store'],
  pending: Pick<PendingOf<typeof changeStatus>, 'data' | 'stream' | 'opens'>,
): Promise<EndWithheldCall<WithheldChange> | undefined> {
  const { status } = pending.data
  const { events } = await readConsentEvents(store, pending.stream)
  const { asked, reading, statusesSinceRequest, isVanished } = heldOf(events.reduce(evolveConsent, initialConsent))
  if (asked === status) return undefined
  const reason = `the consent is now ${reading.status}`
  // An approval that was revoked since would be reported as effective.
  const isDone =
    status === 'ATIVO' ? reading.status === status && !isVanished : statusesSinceRequest.some(each => each === status)
  return sentBefore => {
    const data = { asked: status, ...(sentBefore && { sentBefore }), ...(isDone && { isDone }) }
    const fact = { type: 'consent.withholdChange', data } as const
    if (isDone) return { status: 'settled', reason, fact }
    const value = { ...withdrawn, title: sentBefore ? notRepeated : neverSent }
    const parts = { problem: { owner: effectOwner(pending), value } }
    return { status: 'declined', reason, fact: { ...fact, parts } }
  }
}

const withdrawn = { status: 0, code: 'WITHDRAWN' }
const neverSent = 'A reading showed another status before the request was sent'
const notRepeated = 'A reading showed another status: the request was sent once, not processed, and is not sent again'

/**
 * Counts the active consents whose end we requested in vain: it was refused, or its answer was lost or said otherwise.
 */
export async function countActiveUnmade({ views, clock }: Pick<ApiContext, 'views' | 'clock'>): Promise<number> {
  const counted = await views
    .selectFrom('consents')
    .select(eb => eb.fn.countAll<number>().as('count'))
    .where('unmade', 'in', ['NEGADO', 'REVOGADO'])
    .where('status', '=', 'ATIVO')
    // No change of an unlisted consent can be requested.
    .where('knowledge', '!=', 'vanished')
    .where(eb => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', toInstant(clock.now()))]))
    .executeTakeFirst()
  return Number(counted?.count ?? 0)
}

const logMessages = {
  'consent.changeNotMade': 'a change of a consent was not made: request it again',
  // Perhaps because the person has made it.
  'consent.changeDeclined': 'the service refused a change of a consent: a reading will show its status',
} as const

/** Logs each change that was refused or turns out not to have been made. It is not repeated automatically. */
export function logUnmadeChanges({ engine, log }: Pick<ApiContext, 'engine' | 'log'>): void {
  engine.on('recorded', event => {
    for (const type of ['consent.changeNotMade', 'consent.changeDeclined'] as const)
      if (isOfType(event, type)) log({ message: logMessages[type], detail: `${event.stream}: ${event.data.asked}` })
  })
}
