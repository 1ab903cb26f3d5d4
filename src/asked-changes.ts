import { ownerOf, type Performers } from './adapters/performer.ts'
import type { Area } from './area.ts'
import { readConsentEvents } from './consent-story.ts'
import { holdBack, type Withhold } from './hold-back.ts'
import { consentMachine } from './machines/consent.ts'
import { heldOf } from './machines/consent-chart.ts'
import type { Owed } from './message.ts'

const changeStatus = 'consentService.changeStatus'

/**
 * Lets a change of a consent leave only while it is still asked for, by what the log knows right before each request. A
 * change that was put off is no longer asked for once a reading has shown another status: nobody knows what a service
 * makes of a move that its table does not have.
 */
export function underAskedChanges({ store }: Pick<Area, 'store'>, performers: Performers): Performers {
  const { [changeStatus]: change } = performers
  if (!change) return performers
  return { ...performers, [changeStatus]: holdBack(store, change, owed => withhold(store, owed)) }
}

async function withhold(store: Area['store'], owed: Owed): Promise<Withhold | undefined> {
  const { status } = owed.data as { status: string } // As the machine writes it.
  const { events } = await readConsentEvents(store, owed.stream)
  const state = events.reduce((before, event) => consentMachine.evolve(before, event), consentMachine.initial)
  const { asked, reading } = heldOf(state as Parameters<typeof heldOf>[0]) // Made by this very machine.
  if (asked === status) return undefined
  return sentBefore => {
    const data = { asked: status, ...(sentBefore && { sentBefore }) }
    const value = { ...withdrawn, title: sentBefore ? notAgain : neverSent }
    const fact = { type: 'consent.withholdChange', data, parts: { problem: { owner: ownerOf(owed), value } } }
    return { status: 'declined', because: `it is ${reading.status} by now`, fact }
  }
}

const withdrawn = { status: 0, code: 'WITHDRAWN' }
const neverSent = 'A reading showed another status before it left: nothing was sent'
const notAgain = 'A reading showed another status: it was sent before, and not processed, and not sent again'
