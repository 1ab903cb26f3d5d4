import { createConsentClient } from '../adapters/consent/client.ts'
import { createTokenClient } from '../adapters/token/client.ts'
import type { TokenSource } from '../adapters/token/with-token.ts'
import { createValidationClient } from '../adapters/validation/client.ts'
import type { Area } from '../api/area.ts'
import { routeAwareness } from '../api/consents/awareness.ts'
import { routeConsents } from '../api/consents/routes.ts'
import { againAfterDecline } from '../api/consents/sync-schedule.ts'
import { underAskedChanges } from '../api/consents/withheld-changes.ts'
import type { AverbaOptions } from '../api/options.ts'
import { createKeyPerformers } from '../api/subjects/erasure-performers.ts'
import type { Desired } from '../api/subscriptions/declared.ts'
import { takeFailures } from '../api/subscriptions/failures/harvest.ts'
import { portalStream, routeSubscriptions } from '../api/subscriptions/routes.ts'
import type { SecretHistory } from '../api/subscriptions/secrets/history.ts'
import { underNamedConsents } from '../api/validations/named-consents.ts'
import { routeAnswer } from '../api/validations/reuse.ts'
import { givenToken, Tokens } from '../api/validations/tokens.ts'
import type { Prelude, Router } from '../engine/performing/attempts.ts'
import { budgetMachine } from '../machines/budget.ts'
import { certificateMachine } from '../machines/certificate.ts'
import { consentMachine } from '../machines/consent/consent.ts'
import type { Machine } from '../machines/definition/machine.ts'
import { effectMachine } from '../machines/effect.ts'
import { followerMachine } from '../machines/follower.ts'
import { notificationMachine } from '../machines/notification.ts'
import { portalMachine } from '../machines/portal.ts'
import { retentionMachine } from '../machines/retention.ts'
import { revealMachine } from '../machines/reveal.ts'
import { subjectMachine } from '../machines/subject/subject.ts'
import { subscriptionMachine } from '../machines/subscription/subscription.ts'
import { tokenMachine } from '../machines/token.ts'
import { validationMachine } from '../machines/validation.ts'
import { Turns } from '../runtime/keyed-lock.ts'
import { views } from '../views/views.ts'
import type { Performer, Performers } from '../vocabulary/performer.ts'
import type { View } from '../vocabulary/view.ts'
import { createPortalPerformers } from './portal-performers.ts'
import type { WaysOut } from './service-connections.ts'

export { type Views, views } from '../views/views.ts'

/** Every machine. */
export const machines: readonly Machine[] = [
  budgetMachine,
  certificateMachine,
  consentMachine,
  effectMachine,
  followerMachine,
  notificationMachine,
  portalMachine,
  retentionMachine,
  revealMachine,
  subjectMachine,
  subscriptionMachine,
  tokenMachine,
  validationMachine,
]

/** The machines that decide, and the views that show. */
export interface Wiring {
  readonly machines: readonly Machine[]
  readonly views: readonly View[]
}

/** Every machine and view of this version. */
export const wiring: Wiring = { machines, views }

/** Makes the performers of effects, for the services that are configured. */
export function createPerformers(area: Area, desired: Desired, waysOut: WaysOut): Performers {
  const { options, clock } = area
  const { consentService, tokenService, validationService, portal } = options
  const common = { clock }
  const performers: Record<string, Performer> = { ...createKeyPerformers(area) }
  if (consentService) {
    const { baseUrl, certificate } = consentService
    const fetch = waysOut.open('consentService', { certificate, ...caOf(consentService) })
    const client = createConsentClient(baseUrl, { ...common, fetch })
    Object.assign(performers, underAskedChanges(area, client))
  }
  const tokens = tokensOf(area)
  if (validationService && tokens) {
    const fetch = waysOut.open('validationService', caOf(validationService))
    const onForeign = (effect: string) =>
      area.log({
        message: 'a validation that was asked of another service is left as it is: look at validationService',
        detail: `the call ${effect} waits for a process whose baseUrl and service are those that it was asked with`,
      })
    const client = createValidationClient({ ...common, ...validationService, fetch, tokens, onForeign })
    Object.assign(performers, underNamedConsents(area, client))
    if (tokenService && tokens instanceof Tokens) {
      const { keeper } = tokens
      Object.assign(
        performers,
        createTokenClient({
          ...common,
          ...tokenService,
          fetch: waysOut.open('tokenService', caOf(tokenService)),
          keeper,
          onMisdirected: status =>
            area.log({
              message: 'what answers at the token address gives no tokens: look at tokenService.url',
              status,
            }),
        }),
      )
    }
  }
  if (portal) Object.assign(performers, createPortalPerformers(area, desired, portal, waysOut))
  return performers
}

function tokensOf(area: Area): TokenSource | undefined {
  const { tokenService, validationService } = area.options
  if (validationService?.bearer !== undefined) return givenToken(validationService.bearer)
  return tokenService && new Tokens(area, tokenService)
}

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

function caOf({ ca }: { readonly ca?: string }): { ca?: string } {
  return ca === undefined ? {} : { ca }
}

/** How much of each service this process uses at most. */
export function limitsOf({ consentService, validationService, portal }: AverbaOptions) {
  return {
    consentService: consentService ?? {},
    validationService: validationService ?? {},
    portal: portal ?? {},
  }
}
