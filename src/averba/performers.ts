import { hash } from 'node:crypto'
import { createConsentClient } from '../adapters/consent/client.ts'
import { createPortalClient } from '../adapters/portal/client.ts'
import type { LoginShare } from '../adapters/portal/shared-session.ts'
import type { SharedText } from '../adapters/portal/shared-text.ts'
import { createTokenClient } from '../adapters/token/client.ts'
import type { TokenSource } from '../adapters/token/with-token.ts'
import { createValidationClient } from '../adapters/validation/client.ts'
import type { Area } from '../api/area.ts'
import { underAskedChanges } from '../api/consents/withheld-changes.ts'
import type { Options } from '../api/options.ts'
import { createKeyPerformers } from '../api/subjects/erasure-performers.ts'
import type { Desired } from '../api/subscriptions/declared.ts'
import { underOwnPortal } from '../api/subscriptions/portal-address.ts'
import { underNamedConsents } from '../api/validations/named-consents.ts'
import { givenToken, Tokens } from '../api/validations/tokens.ts'
import type { Machine } from '../machines/definition/machine.ts'
import { machines } from '../machines/machines.ts'
import { views } from '../views/views.ts'
import type { Performer, Performers } from '../vocabulary/performer.ts'
import type { View } from '../vocabulary/view.ts'
import type { WaysOut } from './service-connections.ts'

export { type Views, views } from '../views/views.ts'

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

function caOf({ ca }: { readonly ca?: string }): { ca?: string } {
  return ca === undefined ? {} : { ca }
}

/** How much of each service this process uses at most. */
export function limitsOf({ consentService, validationService, portal }: Options) {
  return {
    consentService: consentService ?? {},
    validationService: validationService ?? {},
    portal: portal ?? {},
  }
}

/** Performs the portal's calls: with a login, over connections that present its certificate. */
function createPortalPerformers(
  area: Area,
  desired: Desired,
  portal: NonNullable<Options['portal']>,
  waysOut: WaysOut,
): Performers {
  const { baseUrl, authenticate, ca, failuresBytesMax } = portal
  const login = typeof authenticate === 'object' ? authenticate : undefined
  const { certificate } = login ?? {}
  const sessionOf = (identity: string) => nameOf(area, 'portal-session', baseUrl, identity)
  const client = createPortalClient({
    baseUrl,
    authenticate,
    clock: area.clock,
    fetch: waysOut.open('portal', { ...(ca !== undefined && { ca }), ...(certificate && { certificate }) }),
    secretsOf: desired.secretsOf.bind(desired),
    closedTimes: shareText(area, `portal-closed-${digestOf(baseUrl)}`),
    ...(failuresBytesMax !== undefined && { failuresBytesMax }),
    ...(login && {
      shareOf: identity => shareText(area, sessionOf(identity)),
      logins: shareLogins(area, nameOf(area, 'portal-login', baseUrl, login.roleType), sessionOf),
    }),
  })
  return underOwnPortal(area.store, portal, client)
}

/**
 * Names what the processes of the file share of a portal and of one who logs in there, or of a profile: sealed,
 * disposable, and never in the log.
 */
function nameOf({ store }: Area, kind: string, baseUrl: string, whose: string): string {
  return `${kind}-${Buffer.from(store.digest(kind, `${baseUrl}\0${whose}`)).toString('hex')}`
}

function shareLogins(area: Area, name: string, digestOf: LoginShare['digestOf']): LoginShare {
  const { leases } = area.store.secrets
  const [take, release] = [() => leases.take(name), () => leases.release(name)]
  return { ...shareText(area, name), take, release, digestOf }
}

function shareText({ store: { secrets } }: Area, name: string): SharedText {
  return {
    find: async () => (await secrets.find(name))?.value,
    change: make => secrets.change(name, make),
  }
}

function digestOf(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 16)
}
