import { createTokenClient } from '../../adapters/token/client.ts'
import { createValidationClient } from '../../adapters/validation/client.ts'
import type { Performers } from '../../vocabulary/performer.ts'
import type { ApiContext } from '../api-context.ts'
import type { Standings } from '../consents/effectiveness.ts'
import type { Module } from '../module.ts'
import { underNamedConsents } from './named-consents.ts'
import { indexValidated, routeAnswer } from './reuse.ts'
import { checkToken } from './token-check.ts'
import { givenToken, Tokens } from './tokens.ts'
import { createValidations, type Validations } from './validations.ts'

/** What is asked of the validation service (document 2). */
export interface ValidationMethods {
  readonly validations: Validations
}

/** Makes the module of validations and of the token that they need. `standings` records uses of named consents. */
export function createValidationModule(
  context: ApiContext,
  standings: Pick<Standings, 'use' | 'standing'>,
): Module<ValidationMethods> {
  const { validationService, tokenService } = context.options
  return {
    methods: { validations: createValidations(context, standings) },
    ...(validationService && {
      performers: createPerformers(context, validationService),
      limits: { validationService },
    }),
    routers: {
      'validationService.answered': (pending, fact, since) => routeAnswer(context, pending, fact, since),
    },
    ...(tokenService && { checks: { token: () => checkToken(context, tokenService) } }),
    indexRows: () => ({ 'validation.answered': (event, open) => indexValidated(context, event, open) }),
  }
}

/** With a token of the gateway, or with the bearer that the host gives. */
function createPerformers(
  context: ApiContext,
  validationService: NonNullable<ApiContext['options']['validationService']>,
): Performers {
  const { clock, http, log } = context
  const { tokenService } = context.options
  const { bearer, ca } = validationService
  const onForeign = (effect: string) =>
    log({
      message: 'a validation that was asked of another service is left as it is: look at validationService',
      detail: `the call ${effect} waits for a process whose baseUrl and service are those that it was asked with`,
    })
  const fetch = http.open('validationService', { ca })
  const validatedBy = (tokens: Parameters<typeof createValidationClient>[0]['tokens']) =>
    underNamedConsents(
      context,
      createValidationClient({ ...validationService, clock, fetch, tokens, onForeign }),
    )
  if (bearer !== undefined) return validatedBy(givenToken(bearer))
  if (!tokenService) return {}
  const tokens = new Tokens(context, tokenService)
  const onMisdirected = (status: number) =>
    log({ message: 'what answers at the token address gives no tokens: look at tokenService.url', status })
  return {
    ...validatedBy(tokens),
    ...createTokenClient({
      ...tokenService,
      clock,
      fetch: http.open('tokenService', { ca: tokenService.ca }),
      keeper: tokens.keeper,
      onMisdirected,
    }),
  }
}
