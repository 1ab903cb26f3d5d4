import { createConsentClient } from '../../adapters/consent/client.ts'
import type { Performers } from '../../vocabulary/performer.ts'
import type { Area } from '../area.ts'
import { idIn, rowIf } from '../keyed-index.ts'
import { daily, type Module } from '../module.ts'
import { type AwarenessArea, createAwareness, routeAwareness } from './awareness.ts'
import { type Consents, createConsents } from './consents.ts'
import { checkFreshness, readReadings, tellOfLateReadings } from './freshness.ts'
import { lapsesUntil, passTime } from './lapses.ts'
import { createLogins, type Logins } from './logins.ts'
import { routeConsents } from './routes.ts'
import { againAfterDecline } from './sync-schedule.ts'
import { tellOfUnmadeChanges } from './unmade-changes.ts'
import { underAskedChanges } from './withheld-changes.ts'

/** What is asked of the consent service (document 1). */
export interface ConsentMethods {
  readonly consents: Consents
  readonly awareness: AwarenessArea
  readonly logins: Logins
}

/** Makes the module of the consent service. */
export function createConsentModule(area: Area): Module<ConsentMethods> {
  const { clock, options } = area
  const { consentService } = options
  tellOfUnmadeChanges(area)
  return {
    methods: { consents: createConsents(area), awareness: createAwareness(area), logins: createLogins(area) },
    ...(consentService && {
      performers: createPerformers(area, consentService),
      limits: { consentService },
      jobs: [
        { name: 'lapses', look: () => passTime(area) },
        { name: 'freshness', look: daily(clock, () => tellOfLateReadings(area)) },
      ],
      checks: { consents: () => checkFreshness(area) },
    }),
    routers: {
      'consentService.consentsListed': (owed, fact, since) => routeConsents(area, owed, fact, since),
      'consentService.readDeclined': async (owed, fact, since) => ({
        targets: [{ stream: owed.stream, message: againAfterDecline(area, owed, fact), since }],
      }),
      'consentService.awarenessListed': (owed, fact, since) => routeAwareness(area, owed, fact, since),
    },
    due: until => lapsesUntil(area, until),
    figures: async () => ({ readings: await readReadings(area) }),
    indexRows: () => ({
      'consent.appeared': async ({ data }, open) => {
        const { consent, subject } = data
        return rowIf('consent', idIn(await open('record')), consent, id => `${subject}\0${id}`)
      },
      'subject.awarenessAppeared': async ({ data }, open) => {
        const { record, subject } = data
        return rowIf('awareness', idIn(await open('record')), record, id => `${subject}\0${id}`)
      },
    }),
  }
}

function createPerformers(
  area: Area,
  { baseUrl, ca, certificate }: NonNullable<Area['options']['consentService']>,
): Performers {
  const { clock, http } = area
  const fetch = http.open('consentService', { ca, certificate })
  return underAskedChanges(area, createConsentClient(baseUrl, { clock, fetch }))
}
