import { createTokenClient } from '../../adapters/token/client.ts'
import { createValidationClient } from '../../adapters/validation/client.ts'
import type { ApiContext } from '../api-context.ts'
import type { Standings } from '../consents/standings.ts'
import type { Module } from '../module.ts'
import { guardByNamedConsents } from './named-consents.ts'
import { indexValidated, routeAnswer } from './reuse.ts'
import { checkToken, hostToken, Tokens } from './tokens.ts'
import { createValidations, type Validations } from './validations.ts'

export type { Validations } from './validations.ts'

/** Creates the module of validations and of their token. `standings` records the use of named consents. */
export function createValidationModule(
  context: ApiContext,
  standings: Pick<Standings, 'use' | 'standing'>,
): Module<{ validations: Validations }> {
  const { validationService, tokenService } = context.options
  return {
    methods: { validations: createValidations(context, standings) },
    ...(validationService && {
      performers: createPerformers(context, validationService),
      limits: { validationService },
    }),
    routers: { 'validationService.answered': (pending, fact, since) => routeAnswer(context, pending, fact, since) },
    ...(tokenService && { checks: { token: () => checkToken(context, tokenService) } }),
    indexRows: () => ({ 'validation.answered': (event, open) => indexValidated(context, event, open) }),
  }
}

function createPerformers(
  context: ApiContext,
  validationService: NonNullable<ApiContext['options']['validationService']>,
): Module['performers'] & {} {
  const { clock, http, log } = context
  const { tokenService } = context.options
  const { bearer } = validationService
  const onForeign = (effect: string) =>
    log({
      level: 'warn',
      message: 'a pending validation belongs to another service and is not sent: check validationService',
      detail: `the call ${effect} waits for a process with the baseUrl and service of its request`,
    })
  const fetch = http.open('validationService')
  const validatedBy = (tokens: Parameters<typeof createValidationClient>[0]['tokens']) =>
    guardByNamedConsents(context, createValidationClient({ ...validationService, clock, fetch, tokens, onForeign }))
  if (bearer !== undefined) return validatedBy(hostToken(bearer))
  if (!tokenService) return {}
  const tokens = new Tokens(context, tokenService)
  return {
    ...validatedBy(tokens),
    ...createTokenClient({ ...tokenService, clock, fetch: http.open('tokenService'), keeper: tokens.keeper }),
  }
}
