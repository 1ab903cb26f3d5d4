import type { Carried, Outcome, Owed } from '../../message.ts'
import { type Answer, conclude, type ExchangeOptions, exchange } from '../exchange.ts'
import { ownerOf, type Performers } from '../performer.ts'
import { clearCode, problemPart, readProblem } from '../problem.ts'
import { readResult, writeValidatePerson } from './protocol.ts'
import { type Claims, claimsSchema } from './wire.ts'

/** A token to call with, or why there is none. */
export type TokenAnswer =
  | { readonly status: 'held'; readonly value: string; readonly generation: number }
  | { readonly status: 'deferred'; readonly because: string; readonly afterMs?: number }
  | { readonly status: 'locked'; readonly httpStatus: number }

/** Where tokens come from. */
export interface TokenSource {
  current(): Promise<TokenAnswer>
  /** A token newer than the one that an operation answered 401 to. */
  renew(rejected: { generation: number; value: string }): Promise<TokenAnswer>
}

/** Where validations are made, and with whose tokens. */
export interface ValidationClientOptions extends ExchangeOptions {
  readonly baseUrl: string
  /** The name of the service in the path. */
  readonly service: string
  readonly tokens: TokenSource
  /** The header that carries our id of the validation, where the gateway reports one. */
  readonly traceHeader?: string
}

/** The validation operation over a way out (document 2, section 4.2). It may cost money: sent once. */
export function createValidationClient(options: ValidationClientOptions): Performers {
  const lost = (): Carried => ({ type: 'validationService.lost', data: {} })
  return {
    'validationService.validatePerson': {
      effectClass: 'once',
      lost,
      async perform(owed, opened): Promise<Outcome> {
        const { validation } = owed.data as { validation: string } // As the machine writes it.
        const claims = claimsSchema.parse(opened.claims)
        const send = (bearer: string) =>
          exchange(options, 'once', () =>
            writeValidatePerson(options, {
              bearer,
              cpf: String(opened.cpf),
              claims: opened.claims ?? null,
              ...(options.traceHeader !== undefined && {
                trace: { header: options.traceHeader, id: validation },
              }),
            }),
          )
        let token = await options.tokens.current()
        if (token.status !== 'held') return without(token)
        let result = await send(token.value)
        // 401 says that the token is not valid, so nothing was validated: once more with a newer one.
        if (result.status === 'answered' && result.answer.status === 401) {
          token = await options.tokens.renew(token)
          if (token.status !== 'held') return without(token)
          result = await send(token.value)
        }
        const reading = {
          service: 'validation service',
          settled: (text: string) => answered(text, claims, owed),
          declined: (answer: Answer) => declined(answer, owed),
          isSuccess: (status: number) => status === 200,
          lost,
        }
        return conclude(result, 'once', reading, options.clock)
      },
    },
  }
}

function answered(text: string, claims: Claims, owed: Owed): Carried | undefined {
  const result = readResult(text, claims)
  if (!result) return undefined
  const evaluated = Object.values(result.fields).filter(field => field.result !== 'not-evaluated').length
  const parts = { result: { owner: ownerOf(owed), value: JSON.parse(JSON.stringify(result)) } }
  return { type: 'validationService.answered', data: { evaluated }, parts }
}

/** Without a token nothing was sent. Once the credentials are corrected, it goes. */
function without(token: Exclude<TokenAnswer, { status: 'held' }>): Outcome {
  if (token.status === 'deferred') return token
  const because = `CREDENTIALS_REFUSED: the gateway answered ${token.httpStatus} to the consumer key and secret`
  return { status: 'deferred', because }
}

function declined(answer: Answer, owed: Owed): Carried {
  const problem = readProblem(answer.status, answer.text)
  return {
    type: 'validationService.declined',
    data: { httpStatus: answer.status, code: clearCode(problem) },
    parts: { problem: { owner: ownerOf(owed), value: problemPart(problem) } },
  }
}
