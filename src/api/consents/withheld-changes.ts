import { type EndWithheldCall, guardEffect } from '../../engine/performing/guarded-performer.ts'
import { heldOf } from '../../machines/consent/chart.ts'
import { consentMachine } from '../../machines/consent/consent.ts'
import type { PendingEffect } from '../../vocabulary/message.ts'
import { ownerOf, type Performers } from '../../vocabulary/performer.ts'
import type { ApiContext } from '../api-context.ts'
import { readConsentEvents } from './event-history.ts'

const changeStatus = 'consentService.changeStatus'

/**
 * Lets a change of a consent that was put off leave only while it has a purpose, by what the log knows right before
 * each request. An approval has none once a reading has shown another status: it would follow the person's own no. A
 * denial or a revocation has one until an end was shown, whoever opened the consent again since: an open status may be
 * that of an older copy. What was shown to be done by then is settled.
 */
export function underAskedChanges({ store }: Pick<ApiContext, 'store'>, performers: Performers): Performers {
  const { [changeStatus]: change } = performers
  if (!change) return performers
  return { ...performers, [changeStatus]: guardEffect(store, change, pending => withhold(store, pending)) }
}

async function withhold(
  store: ApiContext['store'],
  pending: PendingEffect,
): Promise<EndWithheldCall | undefined> {
  const { status } = pending.data as { status: string } // As the machine writes it.
  const { events } = await readConsentEvents(store, pending.stream)
  const state = events.reduce((before, event) => consentMachine.evolve(before, event), consentMachine.initial)
  const held = heldOf(state as Parameters<typeof heldOf>[0]) // Made by this very machine.
  const { asked, reading, statusesSinceRequest, isVanished } = held
  if (asked === status) return undefined
  const reason = `it is ${reading.status} by now`
  // An approval that was taken back since would be told as one that stands.
  const isDone =
    status === 'ATIVO'
      ? reading.status === status && !isVanished
      : statusesSinceRequest.some(each => each === status)
  return sentBefore => {
    const data = { asked: status, ...(sentBefore && { sentBefore }), ...(isDone && { isDone }) }
    if (isDone) return { status: 'settled', reason, fact: { type: 'consent.withholdChange', data } }
    const value = { ...withdrawn, title: sentBefore ? notAgain : neverSent }
    const fact = {
      type: 'consent.withholdChange',
      data,
      parts: { problem: { owner: ownerOf(pending), value } },
    }
    return { status: 'declined', reason, fact }
  }
}

const withdrawn = { status: 0, code: 'WITHDRAWN' }
const neverSent = 'A reading showed another status before it left: nothing was sent'
const notAgain = 'A reading showed another status: it was sent before, and not processed, and not sent again'
