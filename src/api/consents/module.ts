import { createConsentClient } from '../../adapters/consent/client.ts'
import { undefinedIfStopped } from '../../store/views/view-reader.ts'
import { type ApiContext, recordKey } from '../api-context.ts'
import { daily, indexRow, type Module, remoteIdIn } from '../module.ts'
import { addressOf, checkAddress, guardByAddress } from '../service-address.ts'
import { type AwarenessArea, createAwareness, routeAwareness } from './awareness.ts'
import { countWantedEnds, guardChanges, logUnmadeChanges } from './changes.ts'
import { type Consents, createConsents } from './consents.ts'
import { addNextSync } from './enrolments.ts'
import { checkFreshness, logLatePlan, planSync, readReadingFigures } from './freshness.ts'
import { expireConsents, lapsesUntil, nextLapseAt } from './lapses.ts'
import { createLogins, type Logins } from './logins.ts'
import { routeConsents } from './routes.ts'

export type { AwarenessArea } from './awareness.ts'
export type { Consents } from './consents.ts'
export type { Logins } from './logins.ts'

/** Names the address of the first call to the consent service, which is sealed beside the log. */
const addressName = 'consent-service-address'

export function createConsentModule(
  context: ApiContext,
): Module<{ consents: Consents; awareness: AwarenessArea; logins: Logins }> {
  const { clock, http, log, options, store } = context
  const { consentService } = options
  const address = consentService ? addressOf(consentService) : ''
  const findAddress = async () => (await store.secrets.find(addressName))?.value
  logUnmadeChanges(context)
  const logWhatWaits = async () => {
    const plan = await undefinedIfStopped(planSync(context))
    if (plan) logLatePlan(context, plan)
    const ends = await undefinedIfStopped(countWantedEnds(context))
    if (ends?.wanted) log({ level: 'warn', message: 'denials or revocations are not made yet', times: ends.wanted })
  }
  return {
    methods: { consents: createConsents(context), awareness: createAwareness(context), logins: createLogins(context) },
    ...(consentService && {
      checkLog: async () => checkAddress('consentService', address, await findAddress()),
      performers: guardByAddress(
        guardChanges(context, createConsentClient({ ...consentService, clock, fetch: http.open('consentService') })),
        address,
        findAddress,
        () => store.secrets.change(addressName, async known => (known === undefined ? address : undefined)),
      ),
      limits: { consentService },
      jobs: [
        { name: 'lapses', runDue: () => expireConsents(context), nextAt: () => nextLapseAt(context) },
        { name: 'freshness', runDue: daily(clock, logWhatWaits) },
      ],
    }),
    // An end that is wanted blocks its consent in every process, also where no service is configured.
    checks: { consents: () => checkFreshness(context) },
    routers: {
      'consentService.consentsListed': (pending, fact, since) => routeConsents(context, pending, fact, since),
      'consentService.readDeclined': async (pending, fact, since) => ({
        targets: [{ stream: pending.stream, message: addNextSync(context, pending, fact), since }],
      }),
      'consentService.awarenessListed': (pending, fact, since) => routeAwareness(context, pending, fact, since),
    },
    due: until => lapsesUntil(context, until),
    figures: async () => ({ readings: await readReadingFigures(context) }),
    indexRows: () => ({
      'consent.appeared': async ({ data }, open) => {
        const { consent, subject } = data
        return indexRow('consent', remoteIdIn(await open('record')), consent, id => recordKey(subject ?? '', id))
      },
      'subject.awarenessAppeared': async ({ data }, open) => {
        const { record, subject } = data
        return indexRow('awareness', remoteIdIn(await open('record')), record, id => recordKey(subject ?? '', id))
      },
    }),
  }
}
