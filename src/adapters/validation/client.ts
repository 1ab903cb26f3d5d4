import { foreignCodeIn } from '../../vocabulary/foreign-answer.ts'
import type { Fact, Json, PendingEffect } from '../../vocabulary/message.ts'
import { storableCode } from '../../vocabulary/outcome.ts'
import { effectOwner, type PerformersOf } from '../../vocabulary/performer.ts'
import { readProblem } from '../http/answer-body.ts'
import { declaredMeaning } from '../http/answer-meaning.ts'
import { type AnswerReader, type ExchangeOptions, type HttpAnswer, sendRequest, toOutcome } from '../http/exchange.ts'
import { type TokenSource, withToken } from '../token/with-token.ts'
import { environmentId, readResult, writeValidatePerson } from './protocol.ts'
import { type Claims, claimsSchema } from './wire.ts'

export interface ValidationClientOptions extends ExchangeOptions {
  readonly baseUrl: string
  /** The `baseUrl` that the log began with, if the same service has moved. */
  readonly knownAs?: string
  readonly service: string
  readonly tokens: TokenSource
  /** The header for our id of the validation, if the gateway reports one. */
  readonly traceHeader?: string
  /** Called once for a call recorded for another environment, which is not sent. */
  readonly onForeign?: (effect: string) => void
}

/** The effect of the validation service: its data, and the facts of its outcomes. */
export type ValidationEffects = {
  'validationService.validatePerson': { readonly data: ValidationCall; readonly fact: ValidationFact }
}

interface ValidationCall {
  /** Our id of the validation. */
  readonly validation: string
  readonly environment?: string
  /** Our id of the consent that it was requested under. */
  readonly consent?: string
}

type ValidationFact =
  | Fact<'validationService.answered', { readonly evaluated: number; readonly environment: string }>
  | Fact<'validationService.declined', { readonly httpStatus: number; readonly code: string | null }>
  | Fact<'validationService.lost' | 'validationService.undone', object>

/** How many characters of an unreadable answer are kept. */
const unreadableMax = 16_384

/** Creates the performer of validations (document 2, section 4.2). A validation may cost money, so it is sent once. */
export function createValidationClient(options: ValidationClientOptions): PerformersOf<ValidationEffects> {
  const environment = environmentId(options)
  let isForeignReported = false
  return {
    'validationService.validatePerson': {
      effectClass: 'once',
      lostFact,
      undoneFact,
      // Another environment may answer with sample data, or at another price.
      takes({ id, data }) {
        if ((data.environment ?? environment) === environment) return true
        if (!isForeignReported) options.onForeign?.(id)
        isForeignReported = true
        return false
      },
      async perform(pending, opened, maySend) {
        const claims = claimsSchema.parse(opened.claims)
        const cpf = String(opened.cpf)
        const { traceHeader: header } = options
        const fields = {
          ...{ cpf, claims: opened.claims ?? null },
          ...(header !== undefined && { trace: { header, id: pending.data.validation } }),
        }
        const send = (bearer: string) => {
          const write = () => writeValidatePerson(options, { bearer, ...fields })
          return sendRequest({ ...options, sensitive: [cpf] }, 'once', write, maySend)
        }
        const isMeant = (answer: HttpAnswer) => declaredMeaning(answer, options.answers) !== undefined
        const isRefused = foreignCodeIn(pending.reason) === 'CALL_UNAUTHORIZED'
        const call = { call: pending.id, isRefused, sent: opened.claims ?? null, isMeant }
        const result = await withToken(options.tokens, call, send)
        if (result.status === 'deferred') return result
        const reader: AnswerReader<ValidationFact> = {
          service: 'validationService',
          settled: text => answeredFact(text, claims, pending, environment),
          declined: answer => declinedFact(answer, pending, opened.claims),
          lost: text => lostFact(pending, text),
        }
        return toOutcome(result, 'once', reader, options, pending)
      },
    },
  }
}

function answeredFact(
  text: string,
  claims: Claims,
  pending: PendingEffect,
  environment: string,
): ValidationFact | undefined {
  const read = readResult(text, claims)
  if (!read) return undefined
  const { unreadable, ...result } = read
  const evaluated = Object.values(result.fields).filter(field => field.result !== 'not-evaluated').length
  const parts = { result: { owner: effectOwner(pending), value: JSON.parse(JSON.stringify(result)) } }
  const data = { evaluated, environment, ...(unreadable.length > 0 && { unreadable }) }
  return { type: 'validationService.answered', data, parts }
}

/** The call may have been paid for: the answer is kept for the person who investigates. */
function lostFact(pending: PendingEffect, text = ''): ValidationFact {
  const fact = { type: 'validationService.lost', data: {} } as const
  if (text === '') return fact
  const value = text.slice(0, unreadableMax).toWellFormed()
  return { ...fact, parts: { unreadable: { owner: effectOwner(pending), value } } }
}

/** The outcome was recorded as unknown, but the call did nothing: it was never sent, or may be sent later. */
function undoneFact(pending: PendingEffect): ValidationFact {
  const value = { status: 0, code: 'NOT_DONE', title: 'The attempt reported late that it was not done' }
  return { type: 'validationService.undone', data: {}, parts: { problem: { owner: effectOwner(pending), value } } }
}

function declinedFact(answer: HttpAnswer, pending: PendingEffect, claims?: Json): ValidationFact {
  const problem = readProblem(answer.status, answer.redacted())
  return {
    type: 'validationService.declined',
    data: { httpStatus: answer.status, code: storableCode(problem, claims) },
    parts: { problem: { owner: effectOwner(pending), value: { ...problem } } },
  }
}
