import { type EndWithheldCall, guardEffect } from '../../engine/performing/guarded-performer.ts'
import { heldOf } from '../../machines/consent/chart.ts'
import { consentMachine } from '../../machines/consent/consent.ts'
import type { PendingEffect } from '../../vocabulary/message.ts'
import { effectOwner, type Performers } from '../../vocabulary/performer.ts'
import type { ApiContext } from '../api-context.ts'
import { readConsentEvents } from './consent-events.ts'

const changeStatus = 'consentService.changeStatus'

/**
 * Sends a deferred change of a consent only while it has a purpose, by the log right before each attempt. An approval
 * has none once a reading showed another status: it would override the person's denial. A denial or revocation has one
 * until an end was shown: an open status may come from an older copy. A change that readings show to be made is
 * settled.
 */
export function guardChanges({ store }: Pick<ApiContext, 'store'>, performers: Performers): Performers {
  const { [changeStatus]: change } = performers
  if (!change) return performers
  const guarded = guardEffect(store, change, pending => endIfObsolete(store, pending))
  return { ...performers, [changeStatus]: guarded }
}

async function endIfObsolete(store: ApiContext['store'], pending: PendingEffect): Promise<EndWithheldCall | undefined> {
  const { status } = pending.data as { status: string } // As the machine writes it.
  const { events } = await readConsentEvents(store, pending.stream)
  const state = events.reduce((before, event) => consentMachine.evolve(before, event), consentMachine.initial)
  const held = heldOf(state as Parameters<typeof heldOf>[0]) // This machine made it.
  const { asked, reading, statusesSinceRequest, isVanished } = held
  if (asked === status) return undefined
  const reason = `the consent is now ${reading.status}`
  // An approval that was revoked since would be reported as effective.
  const isDone =
    status === 'ATIVO' ? reading.status === status && !isVanished : statusesSinceRequest.some(each => each === status)
  return sentBefore => {
    const data = { asked: status, ...(sentBefore && { sentBefore }), ...(isDone && { isDone }) }
    if (isDone) return { status: 'settled', reason, fact: { type: 'consent.withholdChange', data } }
    const value = { ...withdrawn, title: sentBefore ? notRepeated : neverSent }
    const fact = {
      type: 'consent.withholdChange',
      data,
      parts: { problem: { owner: effectOwner(pending), value } },
    }
    return { status: 'declined', reason, fact }
  }
}

const withdrawn = { status: 0, code: 'WITHDRAWN' }
const neverSent = 'A reading showed another status before the request was sent'
const notRepeated = 'A reading showed another status: the request was sent once, not processed, and is not sent again'
