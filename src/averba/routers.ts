import type { Area } from '../api/area.ts'
import { routeAwareness } from '../api/consents/awareness.ts'
import { routeConsents } from '../api/consents/routes.ts'
import { againAfterDecline } from '../api/consents/sync-schedule.ts'
import type { Desired } from '../api/subscriptions/declared.ts'
import { takeFailures } from '../api/subscriptions/failures/harvest.ts'
import { routeSubscriptions } from '../api/subscriptions/routes.ts'
import type { SecretHistory } from '../api/subscriptions/secrets/history.ts'
import { routeAnswer } from '../api/validations/reuse.ts'
import type { Prelude, Router } from '../engine/performing/attempts.ts'
import { Turns } from '../runtime/keyed-lock.ts'
import { portalStream } from '../vocabulary/names.ts'

/** Makes the routers, which send facts to the streams that they concern. */
export function createRouters(area: Area, desired: Desired, history: SecretHistory): Record<string, Router> {
  return {
    'consentService.consentsListed': (owed, fact, since) => routeConsents(area, owed, fact, since),
    'consentService.readDeclined': async (owed, fact, since) => ({
      targets: [{ stream: owed.stream, message: againAfterDecline(area, owed, fact), since }],
    }),
    'consentService.awarenessListed': (owed, fact, since) => routeAwareness(area, owed, fact, since),
    'validationService.answered': (owed, fact, since) => routeAnswer(area, owed, fact, since),
    'portal.subscriptionsListed': async (_, fact, since) => {
      const { delivery, asOurs } = await routeSubscriptions(area, desired, fact, since)
      for (const evento of asOurs) await history.saw(evento)
      return delivery
    },
    'portal.failuresListed': async (_, fact) => ({ targets: [{ stream: portalStream, message: fact }] }),
    'portal.declined': async ({ stream, type }, fact) => {
      // That a list is declined says nothing of the call whose outcome it was to tell: the next list tells it.
      const isList = type === 'portal.listSubscriptions'
      return { targets: [{ stream: isList ? portalStream : stream, message: fact }] }
    },
  }
}

/** Makes what records large answers in portions. */
export function createPreludes(area: Area): Record<string, Prelude> {
  const readings = new Turns()
  return { 'portal.failuresListed': (owed, fact, record) => takeFailures(area, readings, owed, fact, record) }
}
