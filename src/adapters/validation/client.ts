import type { AttemptOutcome, Json, MessageWithParts, PendingEffect } from '../../vocabulary/message.ts'
import { effectOwner, type Performers } from '../../vocabulary/performer.ts'
import { clearCode } from '../../vocabulary/problem.ts'
import { conclude, type ExchangeOptions, exchange, type HttpAnswer } from '../http/exchange.ts'
import { problemPart, readProblem } from '../http/problem.ts'
import { type TokenSource, withToken } from '../token/with-token.ts'
import { environmentOf } from './environment.ts'
import { type ValidationProtocol, v2 } from './protocol.ts'
import { type Claims, claimsSchema } from './wire.ts'

/** Where validations are made, and with whose tokens. */
export interface ValidationClientOptions extends ExchangeOptions {
  readonly baseUrl: string
  /** The `baseUrl` that the log began with, where the same service has moved. */
  readonly knownAs?: string
  /** The name of the service in the path. */
  readonly service: string
  readonly tokens: TokenSource
  /** The header that carries our id of the validation, where the gateway reports one. */
  readonly traceHeader?: string
  /** Told once that there is a call of another environment, which is left as it stands. */
  readonly onForeign?: (effect: string) => void
}

const protocol: ValidationProtocol = v2
/** How much of an unreadable answer is kept. */
const unreadableMax = 16_384

/** The validation operation over a way out (document 2, section 4.2). It may cost money, so it is sent once. */
export function createValidationClient(options: ValidationClientOptions): Performers {
  const environment = environmentOf(options)
  let isSaid = false
  return {
    'validationService.validatePerson': {
      effectClass: 'once',
      lostFact: lost,
      undoneFact: undone,
      // Another service would answer it about nobody, or for another price.
      takes({ id, data }) {
        const { environment: asked = environment } = data as { environment?: string } // As the machine writes it.
        if (asked === environment) return true
        if (!isSaid) options.onForeign?.(id)
        isSaid = true
        return false
      },
      async perform(pending, opened, mayLeave): Promise<AttemptOutcome> {
        const { validation } = pending.data as { validation: string } // As the machine writes it.
        const claims = claimsSchema.parse(opened.claims)
        const write = (bearer: string) =>
          protocol.writeValidatePerson(options, {
            bearer,
            cpf: String(opened.cpf),
            claims: opened.claims ?? null,
            ...(options.traceHeader !== undefined && {
              trace: { header: options.traceHeader, id: validation },
            }),
          })
        const through = { ...options, carried: [String(opened.cpf)] }
        const send = (bearer: string) => exchange(through, 'once', () => write(bearer), mayLeave)
        const result = await withToken(options.tokens, send, opened.claims)
        if (result.status === 'deferred') return result
        const reading = {
          service: 'validation service',
          settled: (text: string) => answered(text, claims, pending, environment),
          declined: (answer: HttpAnswer) => declined(answer, pending, opened.claims),
          isSuccess: (status: number) => status === 200,
          lost: (text?: string) => lost(pending, text),
        }
        return conclude(result, 'once', reading, options.clock)
      },
    },
  }
}

function answered(
  text: string,
  claims: Claims,
  pending: PendingEffect,
  environment: string,
): MessageWithParts | undefined {
  const read = protocol.readResult(text, claims)
  if (!read) return undefined
  const { unreadable, ...result } = read
  const evaluated = Object.values(result.fields).filter(field => field.result !== 'not-evaluated').length
  const parts = { result: { owner: effectOwner(pending), value: JSON.parse(JSON.stringify(result)) } }
  const data = { evaluated, environment, ...(unreadable.length > 0 && { unreadable }) }
  return { type: 'validationService.answered', data, parts }
}

/** Perhaps paid: the answer is kept for the person who looks into it. */
function lost(pending: PendingEffect, text = ''): MessageWithParts {
  const fact = { type: 'validationService.lost', data: {} }
  if (text === '') return fact
  const value = text.slice(0, unreadableMax).toWellFormed()
  return { ...fact, parts: { unreadable: { owner: effectOwner(pending), value } } }
}

/** It was called in doubt, but did nothing: it was never sent, or may be sent later. */
function undone(pending: PendingEffect): MessageWithParts {
  const value = { status: 0, code: 'NOT_DONE', title: 'The attempt reported late that it was not done' }
  return {
    type: 'validationService.undone',
    data: {},
    parts: { problem: { owner: effectOwner(pending), value } },
  }
}

function declined(answer: HttpAnswer, pending: PendingEffect, claims: Json | undefined): MessageWithParts {
  const problem = readProblem(answer.status, answer.told())
  return {
    type: 'validationService.declined',
    data: { httpStatus: answer.status, code: clearCode(problem, claims) },
    parts: { problem: { owner: effectOwner(pending), value: problemPart(problem) } },
  }
}
