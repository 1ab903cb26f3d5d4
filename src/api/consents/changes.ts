import type { ConsentEffects } from '../../adapters/consent/client.ts'
import { type EndWithheldCall, guardEffect } from '../../engine/performing/guarded-performer.ts'
import { heldOf } from '../../machines/consent/chart.ts'
import { evolveConsent, initialConsent } from '../../machines/consent/consent.ts'
import { endFrom, isOpen } from '../../machines/consent/status.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { type Json, withdrawnProblem } from '../../vocabulary/message.ts'
import { effectOwner, type PerformersOf } from '../../vocabulary/performer.ts'
import type { ApiContext } from '../api-context.ts'
import { checkText } from '../arguments.ts'
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

/** Reason and evidence as JSON, if any. Throws `INVALID_INPUT`, which quotes neither, if not JSON or too long. */
export function checkEvidence({
  reason,
  evidence,
}: { [K in keyof DecisionEvidence]?: DecisionEvidence[K] | undefined }): Json | undefined {
  if (reason === undefined && evidence === undefined) return undefined
  if (reason !== undefined) checkText(reason, 'reason', evidenceBytesMax)
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
 * while it is wanted, no end was shown, and the recorded status allows it. A change that readings show made is settled.
 */
export function guardChanges(
  { store }: Pick<ApiContext, 'store'>,
  performers: PerformersOf<ConsentEffects>,
): PerformersOf<Pick<EffectTypes, keyof ConsentEffects>> {
  const { [changeStatus]: change } = performers
  const guarded = guardEffect(store, change, pending => endIfObsolete(store, pending), endApproval)
  return { ...performers, [changeStatus]: guarded }
}

/** How an approval ends that a person gives up. A denial or revocation is given up by `consents.withdrawEnd` only. */
function endApproval(
  pending: Pick<PendingOf<typeof changeStatus>, 'data' | 'stream' | 'opens'>,
  sentBefore: boolean,
): WithheldChange | undefined {
  const { status } = pending.data
  if (status !== 'ATIVO') return undefined
  const parts = { problem: { owner: effectOwner(pending), value: { ...withdrawnProblem } } }
  const data = { asked: status, isGivenUp: true, ...(sentBefore && { sentBefore }) } as const
  return { type: 'consent.withholdChange', data, parts }
}

async function endIfObsolete(
  store: ApiContext['store'],
  pending: Pick<PendingOf<typeof changeStatus>, 'data' | 'stream' | 'opens'>,
): Promise<EndWithheldCall<WithheldChange> | undefined> {
  const { status } = pending.data
  const { events } = await readConsentEvents(store, pending.stream)
  const held = heldOf(events.reduce(evolveConsent, initialConsent))
  const { asked, reading, statusesSinceRequest, isEndWanted, isVanished } = held
  // A no came after the approval, or was given up.
  const isContrary = (status === 'ATIVO') === isEndWanted
  const isOtherEnd = status !== 'ATIVO' && isOpen(reading.status) && endFrom(reading.status) !== status
  // An end that is wanted is asked for again once the consent is listed, and after a reading.
  if (asked === status && !isContrary && !isOtherEnd && !isVanished) return undefined
  const contrary = isEndWanted ? 'its end is wanted' : 'the end was given up'
  const obsolete = isContrary ? contrary : `the consent is now ${reading.status}`
  const reason = isVanished ? 'the service no longer lists the consent' : obsolete
  // An approval that was revoked since would be reported as effective.
  const isDone =
    status === 'ATIVO' ? reading.status === status && !isVanished : statusesSinceRequest.some(each => each === status)
  return sentBefore => {
    const data = { asked: status, ...(sentBefore && { sentBefore }), ...(isDone && { isDone }) }
    const fact = { type: 'consent.withholdChange', data } as const
    if (isDone) return { status: 'settled', reason, fact }
    const value = isVanished ? notListed : { ...withdrawn, title: sentBefore ? notRepeated : neverSent }
    const parts = { problem: { owner: effectOwner(pending), value } }
    return { status: 'declined', reason, fact: { ...fact, parts } }
  }
}

const notListed = {
  status: 0,
  code: 'NOT_LISTED',
  title: 'The service no longer lists the consent: nothing is sent for it, and an end that is wanted stays so',
}
const withdrawn = { status: 0, code: 'WITHDRAWN' }
const neverSent = 'It was given up, its contrary was asked for, or a reading showed another status, before it was sent'
const notRepeated =
  'It was given up, its contrary was asked for, or a reading showed another status: it was sent once, not processed, and is not sent again'

/**
 * Counts the consents whose end was asked for and has not been shown, those of them that are not listed, and those of
 * the others without an open request.
 */
export async function countWantedEnds({ views }: Pick<ApiContext, 'views'>) {
  const rows = views.selectFrom('consents').where('end_wanted_at', 'is not', null)
  const counted = await rows
    .select(({ fn }) => [
      fn.countAll<number>().as('wanted'),
      fn.countAll<number>().filterWhere('knowledge', '=', 'vanished').as('unlisted'),
      fn.countAll<number>().filterWhere('knowledge', '!=', 'vanished').filterWhere('asked', 'is', null).as('idle'),
    ])
    .executeTakeFirstOrThrow()
  return { wanted: Number(counted.wanted), unlisted: Number(counted.unlisted), idle: Number(counted.idle) }
}

const logMessages = {
  'consent.changeNotMade': 'a change of a consent was not made: see whether it is asked for again',
  // Perhaps because the person has made it.
  'consent.changeDeclined': 'the service refused a change of a consent: a reading will show its status',
} as const

const givenUp = 'an approval of a consent was not made and is not asked for again: approve it again, or leave it'

/** Logs each change that was refused or turns out not to have been made. */
export function logUnmadeChanges({ engine, log }: Pick<ApiContext, 'engine' | 'log'>): void {
  engine.on('recorded', event => {
    for (const type of ['consent.changeNotMade', 'consent.changeDeclined'] as const)
      if (isOfType(event, type)) {
        const isGivenUp = 'isGivenUp' in event.data && event.data.isGivenUp
        log({
          level: 'warn',
          message: isGivenUp ? givenUp : logMessages[type],
          detail: `${event.stream}: ${event.data.asked}`,
        })
      }
  })
}
