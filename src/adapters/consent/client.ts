import { toInstant } from '../../vocabulary/instant.ts'
import type { Fact, Instant, Json, PendingEffect } from '../../vocabulary/message.ts'
import {
  type EffectClass,
  effectOwner,
  makePerformers,
  type Performer,
  type PerformersOf,
} from '../../vocabulary/performer.ts'
import { type Listing, problemPart, readProblem } from '../http/answer-body.ts'
import { type AnswerReader, type ExchangeOptions, type HttpAnswer, sendRequest, toOutcome } from '../http/exchange.ts'
import {
  type AwarenessSummary,
  type ClearHistoryEntry,
  type ListRecord,
  readAwareness,
  readAwarenessList,
  readChanged,
  readConsent,
  readConsents,
  readLogin,
  readLoginAddress,
  type Summary,
  writeChangeStatus,
  writeListAwareness,
  writeListConsents,
  writeReadAwareness,
  writeReadConsent,
  writeReadLogin,
  writeReadLoginAddress,
} from './protocol.ts'

type OpenedParts = Readonly<Record<string, Json>>

/** The effects of the consent service: their data, and the facts of their outcomes. */
export type ConsentEffects = {
  'consentService.changeStatus': ConsentEffect<'statusChanged', Summary & { asked: string }, { status: string }>
  'consentService.listConsents': ConsentEffect<'consentsListed', Listing<ListRecord<Summary>>, ScheduledReading>
  'consentService.readConsent': ConsentEffect<
    'consentRead',
    Summary & { readonly history: readonly ClearHistoryEntry[] }
  >
  'consentService.listAwareness': ConsentEffect<'awarenessListed', Listing<ListRecord<AwarenessSummary>>>
  'consentService.readAwareness': ConsentEffect<'awarenessRead', { record: string }, { record: string }>
  'consentService.readLogin': ConsentEffect<'loginRead', NonNullable<ReturnType<typeof readLogin>>>
  'consentService.readLoginAddress': ConsentEffect<'loginAddressRead', object>
}

/** What a success shows (`R`), as of the time of the request, and what the call needs to know (`D`). */
interface ConsentEffect<T extends string, R extends object, D = unknown> {
  readonly data: D
  readonly fact: Fact<`consentService.${T}`, R & { readonly askedAt?: Instant }> | Unanswered
}

/** The data of a reading, if it belongs to a schedule. */
interface ScheduledReading {
  readonly everyMs?: number
  readonly schedule?: number
}

type Unanswered =
  | Fact<'consentService.changeDeclined', { readonly asked: string; readonly httpStatus: number }>
  | Fact<'consentService.readDeclined', { readonly operation?: string; readonly httpStatus: number }>
  | Fact<'consentService.changeLost', { readonly status?: string; readonly lostAt: Instant }>
  | Fact<'consentService.readGivenUp', object>

interface ConsentOperation<E extends { readonly data: unknown; readonly fact: Fact<string, object> }> {
  readonly effectClass: EffectClass
  readonly isRoutine?: true
  /** The status that a change asks for. */
  readonly asked?: (data: E['data']) => string
  readonly write: (base: string, opened: OpenedParts, data: E['data']) => Request
  /** The fact of a success; `undefined` when the answer cannot be read. */
  readonly read: (text: string, pending: PendingEffect<string, E['data']>, opened: OpenedParts) => E['fact'] | undefined
  /** The fact that retries have ended, if something waits for the answer. */
  readonly givenUp?: () => Unanswered
}

const operations: { readonly [T in keyof ConsentEffects]: ConsentOperation<ConsentEffects[T]> } = {
  'consentService.changeStatus': {
    effectClass: 'probed',
    asked: ({ status }) => status,
    write: (base, opened, { status }) => writeChangeStatus(base, partText(opened, 'cpf'), recordId(opened), status),
    read(text, { data }, opened) {
      const changed = readChanged(text, recordId(opened))
      return changed && consentFact('statusChanged', { ...changed, asked: data.status })
    },
  },
  'consentService.listConsents': {
    effectClass: 'read',
    isRoutine: true,
    write: (base, opened) => writeListConsents(base, partText(opened, 'cpf')),
    read: text => consentFact('consentsListed', readConsents(text)),
  },
  'consentService.readConsent': {
    effectClass: 'read',
    write: (base, opened) => writeReadConsent(base, partText(opened, 'cpf'), recordId(opened)),
    read(text, pending, opened) {
      const found = readConsent(text, { cpf: partText(opened, 'cpf'), id: recordId(opened) })
      if (!found) return undefined
      const { summary, history, detail } = found
      const parts = { detail: { owner: effectOwner(pending), value: detail } }
      return { type: 'consentService.consentRead', data: { ...summary, history }, parts }
    },
    givenUp: () => ({ type: 'consentService.readGivenUp', data: {} }),
  },
  'consentService.listAwareness': {
    effectClass: 'read',
    write: (base, opened) => writeListAwareness(base, partText(opened, 'cpf')),
    read: text => consentFact('awarenessListed', readAwarenessList(text)),
  },
  'consentService.readAwareness': {
    effectClass: 'read',
    write: (base, opened) => writeReadAwareness(base, partText(opened, 'cpf'), partText(opened, 'id')),
    read(text, pending, opened) {
      const detail = readAwareness(text, { cpf: partText(opened, 'cpf'), id: partText(opened, 'id') })
      return (
        detail && {
          type: 'consentService.awarenessRead',
          data: pending.data,
          parts: { detail: { owner: effectOwner(pending), value: detail } },
        }
      )
    },
  },
  'consentService.readLogin': {
    effectClass: 'read',
    write: (base, opened) => writeReadLogin(base, partText(opened, 'cpf')),
    read: text => consentFact('loginRead', readLogin(text)),
  },
  'consentService.readLoginAddress': {
    effectClass: 'read',
    write: (base, opened) =>
      writeReadLoginAddress(
        base,
        partText(opened, 'cpf'),
        'redirect' in opened ? partText(opened, 'redirect') : undefined,
      ),
    read(text, pending) {
      const address = readLoginAddress(text)
      return address === undefined
        ? undefined
        : {
            type: 'consentService.loginAddressRead',
            data: {},
            parts: { address: { owner: effectOwner(pending), value: address } },
          }
    },
  },
}

/** Creates the performers of the consent service (document 1). */
export function createConsentClient(baseUrl: string, options: ExchangeOptions): PerformersOf<ConsentEffects> {
  return makePerformers<ConsentEffects, Unanswered>(operations, type =>
    toPerformer(type, operations[type], baseUrl, options),
  )
}

function toPerformer<E extends ConsentEffect<string, object>>(
  type: string,
  operation: ConsentOperation<E>,
  baseUrl: string,
  options: ExchangeOptions,
): Performer<E['data'], E['fact'] | Unanswered> {
  const { effectClass, isRoutine, givenUp } = operation
  const now = () => toInstant(options.clock.now())
  const lost = ({ data }: { readonly data: E['data'] }): Unanswered => {
    const status = operation.asked?.(data)
    return { type: 'consentService.changeLost', data: { ...(status !== undefined && { status }), lostAt: now() } }
  }
  return {
    effectClass,
    lostFact: lost,
    ...(isRoutine && { isRoutine }),
    ...(givenUp && { givenUpFact: givenUp }),
    async perform(pending, opened, maySend) {
      // The answer counts as of the time of the request: later changes may not be in it.
      const askedAt = now()
      const write = () => operation.write(baseUrl, opened, pending.data)
      const result = await sendRequest(options, effectClass, write, maySend)
      const reader: AnswerReader<E['fact'] | Unanswered> = {
        service: 'consent service',
        settled(text) {
          const read = operation.read(text, pending, opened)
          return read && timedFacts.has(read.type) ? { ...read, data: { ...read.data, askedAt } } : read
        },
        declined: answer => declinedFact(type, answer, pending, operation.asked?.(pending.data)),
        isSuccess: status => status === 200,
        lost: () => lost(pending),
      }
      return toOutcome(result, effectClass, reader, options.clock)
    },
  }
}

function declinedFact(type: string, answer: HttpAnswer, pending: PendingEffect, asked: string | undefined): Unanswered {
  const { status: httpStatus } = answer
  const problem = problemPart(readProblem(httpStatus, answer.redacted()))
  const parts = { problem: { owner: effectOwner(pending), value: problem } }
  if (asked !== undefined) return { type: 'consentService.changeDeclined', data: { asked, httpStatus }, parts }
  const named = type === 'consentService.readConsent' ? {} : { operation: type.slice('consentService.'.length) }
  return { type: 'consentService.readDeclined', data: { ...named, httpStatus }, parts }
}

function consentFact<T extends string, R extends object>(
  name: T,
  data: R | undefined,
): Fact<`consentService.${T}`, R> | undefined {
  return data && { type: `consentService.${name}`, data }
}

/** The facts that record what the service showed at a time: `askedAt` is added to them. */
const timedFacts: ReadonlySet<string> = new Set(
  ['statusChanged', 'consentsListed', 'consentRead', 'awarenessListed', 'awarenessRead', 'loginRead'].map(
    name => `consentService.${name}`,
  ),
)

function partText(opened: OpenedParts, name: string): string {
  const value = opened[name]
  if (typeof value !== 'string') throw new TypeError(`The part "${name}" is not a text`)
  return value
}

/** The service's id of a consent. */
function recordId(opened: OpenedParts): string {
  const { record } = opened
  const id = typeof record === 'object' && record !== null && 'id' in record ? record.id : undefined
  if (typeof id !== 'string') throw new TypeError('The part "record" holds no id')
  return id
}
