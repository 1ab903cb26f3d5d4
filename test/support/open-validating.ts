import { expect } from 'vitest'
import type { Averba, AverbaOptions } from '../../src/index.ts'
import { samples, type World, type WorldOptions } from '../../src/simulation/index.ts'
import { holdingAnswer } from './answers.ts'
import { openEngine, openWorld, validationServiceWith } from './world.ts'

export const isToken = ({ url }: Request) => url.endsWith('/token')

export const isValidation = ({ url }: Request) => url.includes('/validate/pf')

/** The consumer key and secret that a request presents, as `key:secret`, or its bearer token. */
export function credentialsOf({ headers }: Request): string {
  const [scheme, value = ''] = (headers.get('authorization') ?? '').split(' ')
  return scheme === 'Basic' ? Buffer.from(value, 'base64').toString() : value
}

/** Validates the sample person. */
export const validate = (averba: Averba, id: string, ask?: Parameters<Averba['validations']['validate']>[1]) =>
  averba.validations.validate({ id, cpf: samples.cpf, claims: { nome: 'Maria de Exemplo Souza' } }, ask)

/** What to match the outcome of a call with whose token cannot be had, since the credentials were refused. */
export const locked = { status: 'deferred', reason: expect.stringMatching(/^CREDENTIALS_REFUSED: /) }

/** Opens an engine that validates, by default with the credentials of the simulated gateway. */
export function openValidating(
  options: Partial<AverbaOptions>,
  credentials: Partial<NonNullable<AverbaOptions['tokenService']>> = {},
): Promise<Averba> {
  const [consumerKey, consumerSecret] = ['chave-de-exemplo', 'segredo-de-exemplo']
  return openEngine({
    ...{ store: ':memory:', schedules: false },
    tokenService: { url: 'https://gateway.exemplo.br/token', consumerKey, consumerSecret, ...credentials },
    validationService: validationServiceWith({}),
    ...options,
  })
}

/** Another engine at the token and validation services of a world. */
export function openValidatingBeside(
  { clock, reach }: World,
  options: Partial<AverbaOptions>,
  credentials?: Partial<NonNullable<AverbaOptions['tokenService']>>,
): Promise<Averba> {
  const fetch = (request: Request) => reach[isToken(request) ? 'tokenService' : 'validationService'](request)
  return openValidating({ clock, fetch, ...options }, credentials)
}

/** A world whose validation service is `left` with a request, and gives its answer only after `answer()`. */
export async function openWaiting(
  options: WorldOptions = {},
): Promise<World & { left: Promise<void>; answer(): void }> {
  const { intercept, given, release } = holdingAnswer(isValidation)
  return Object.assign(await openWorld({ ...options, intercept }), { left: given, answer: release })
}
