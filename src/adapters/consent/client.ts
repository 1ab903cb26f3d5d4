import { z } from 'zod'
import { toInstant } from '../../vocabulary/instant.ts'
import type { Fact, Instant, PendingEffect } from '../../vocabulary/message.ts'
import {
  type EffectClass,
  effectOwner,
  makePerformers,
  type Performer,
  type PerformersOf,
} from '../../vocabulary/performer.ts'
import { type Listing, readProblem } from '../http/answer-body.ts'
import {
  type AnswerReader,
  type ExchangeOptions,
  type HttpAnswer,
  type ReadFact,
  sendRequest,
  toOutcome,
} from '../http/exchange.ts'
import {
  type AwarenessSummary,
  type ClearHistoryEntry,
  type ConsentQuery,
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
  writeListing,
  writeReading,
  writeReadLoginAddress,
} from './protocol.ts'

/** The effects of the consent service: their data, and the facts of their outcomes. */
export type ConsentEffects = {
  'consentService.changeStatus': ConsentEffect<'statusChanged', Summary & { asked: string }, { status: string }>
  'consentService.listConsents': ConsentEffect<
    'consentsListed',
    Listing<ListRecord<Summary>> & OfController,
    ScheduledReading & OfController
  >
  'consentService.readConsent': ConsentEffect<
    'consentRead',
    Summary & { readonly history: readonly ClearHistoryEntry[] }
  >
  'consentService.listAwareness': ConsentEffect<
    'awarenessListed',
    Listing<ListRecord<AwarenessSummary>> & OfController,
    OfController
  >
  'consentService.readAwareness': ConsentEffect<'awarenessRead', { record: string }, { record: string }>
  'consentService.readLogin': ConsentEffect<'loginRead', NonNullable<ReturnType<typeof readLogin>>>
  'consentService.readLoginAddress': ConsentEffect<'loginAddressRead', object>
}

/** What a success shows (`R`), as of the time of the request, and what the call needs to know (`D`). */
interface ConsentEffect<T extends string, R extends object, D = unknown> {
  readonly data: D
  readonly fact:
    | Fact<`consentService.${T}`, R & { readonly askedAt?: Instant; readonly answeredAt?: Instant }>
    | Unanswered
}

interface ScheduledReading {
  readonly everyMs?: number
  readonly schedule?: number
}

interface OfController {
  readonly controller?: string
}

type Unanswered =
  | Fact<'consentService.changeDeclined', { readonly asked: string; readonly httpStatus: number }>
  | Fact<'consentService.readDeclined', { readonly operation?: string; readonly httpStatus: number }>
  | Fact<'consentService.changeLost', { readonly status?: string; readonly lostAt: Instant }>
  | Fact<'consentService.readGivenUp', object>

/** The parts that a call opens. The id is that of a consent's record, or of an awareness record. */
const openedSchema = z.object({
  cpf: z.string(),
  record: z.object({ id: z.string() }).optional(),
  id: z.string().optional(),
  redirect: z.string().optional(),
})

/** A call: whom and which record it is about, and the owner of what it reads. The id of a list is empty. */
interface ConsentCall<D> extends ConsentQuery, OfController {
  readonly data: D
  readonly owner: string
  readonly redirect: string | undefined
}

interface ConsentClientOptions extends ExchangeOptions {
  readonly baseUrl: string
  /** The controller that lists are limited to, unless a call names another one. */
  readonly cnpj?: string | undefined
}

interface ConsentOperation<E extends { readonly data: unknown; readonly fact: Fact<string, object> }> {
  readonly effectClass: EffectClass
  readonly isRoutine?: true
  readonly asked?: (data: E['data']) => string
  readonly write: (base: string, call: ConsentCall<E['data']>) => Request
  readonly read: (text: string, call: ConsentCall<E['data']>) => ReadFact<E['fact']>
  /** The fact that retries have ended, if something waits for the answer. */
  readonly givenUp?: () => Unanswered
}

const operations: { readonly [T in keyof ConsentEffects]: ConsentOperation<ConsentEffects[T]> } = {
  'consentService.changeStatus': {
    effectClass: 'probed',
    asked: ({ status }) => status,
    write: (base, { cpf, id, data }) => writeChangeStatus(base, cpf, id, data.status),
    read(text, { id, data }) {
      const changed = readChanged(text, id)
      return changed && consentFact('statusChanged', { ...changed, asked: data.status })
    },
  },
  'consentService.listConsents': {
    effectClass: 'read',
    isRoutine: true,
    write: (base, { cpf, ...call }) => writeListing(base, 'consentimentos', cpf, controllerOf(call)),
    read: async (text, call) => consentFact('consentsListed', limitedTo(controllerOf(call), await readConsents(text))),
  },
  'consentService.readConsent': {
    effectClass: 'read',
    write: (base, { cpf, id }) => writeReading(base, 'consentimentos', cpf, id),
    read(text, call) {
      const found = readConsent(text, call)
      if (!found) return undefined
      const { summary, history, detail } = found
      const parts = { detail: { owner: call.owner, value: detail } }
      return { type: 'consentService.consentRead', data: { ...summary, history }, parts }
    },
    givenUp: () => ({ type: 'consentService.readGivenUp', data: {} }),
  },
  'consentService.listAwareness': {
    effectClass: 'read',
    write: (base, { cpf, ...call }) => writeListing(base, 'ciencias', cpf, controllerOf(call)),
    read: async (text, call) =>
      consentFact('awarenessListed', limitedTo(controllerOf(call), await readAwarenessList(text))),
  },
  'consentService.readAwareness': {
    effectClass: 'read',
    write: (base, { cpf, id }) => writeReading(base, 'ciencias', cpf, id),
    read(text, call) {
      const value = readAwareness(text, call)
      const { data, owner } = call
      return value && { type: 'consentService.awarenessRead', data, parts: { detail: { owner, value } } }
    },
  },
  'consentService.readLogin': {
    effectClass: 'read',
    write: (base, { cpf }) => writeReading(base, 'autenticacao', cpf),
    read: text => consentFact('loginRead', readLogin(text)),
  },
  'consentService.readLoginAddress': {
    effectClass: 'read',
    write: (base, { cpf, redirect }) => writeReadLoginAddress(base, cpf, redirect),
    read(text, { owner }) {
      const value = readLoginAddress(text)
      if (value === undefined) return undefined
      return { type: 'consentService.loginAddressRead', data: {}, parts: { address: { owner, value } } }
    },
  },
}

/** The end of a consent counts from when it was learned. */
const showConsents: ReadonlySet<string> = new Set([
  'consentService.consentsListed',
  'consentService.consentRead',
  'consentService.statusChanged',
])

export function createConsentClient(options: ConsentClientOptions): PerformersOf<ConsentEffects> {
  return makePerformers<ConsentEffects, Unanswered>(operations, type => toPerformer(type, operations[type], options))
}

function toPerformer<E extends ConsentEffect<string, object>>(
  type: string,
  operation: ConsentOperation<E>,
  options: ConsentClientOptions,
): Performer<E['data'], E['fact'] | Unanswered> {
  const { effectClass, isRoutine, givenUp } = operation
  const { baseUrl, cnpj } = options
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
      const { record, id = record?.id ?? '', ...parts } = openedSchema.parse(opened)
      const query = { cpf: parts.cpf, id, redirect: parts.redirect, ...(cnpj !== undefined && { controller: cnpj }) }
      const call = { ...query, data: pending.data, owner: effectOwner(pending) }
      const result = await sendRequest(options, effectClass, () => operation.write(baseUrl, call), maySend)
      const reader: AnswerReader<E['fact'] | Unanswered> = {
        service: 'consentService',
        async settled(text) {
          const read = await operation.read(text, call)
          // An address is no state that the service shows as of a time.
          if (!read || read.type === 'consentService.loginAddressRead') return read
          const isOfConsents = showConsents.has(read.type)
          return { ...read, data: { ...read.data, askedAt, ...(isOfConsents && { answeredAt: now() }) } }
        },
        declined: answer => declinedFact(type, answer, pending, operation.asked?.(pending.data)),
        lost: () => lost(pending),
      }
      return await toOutcome(result, effectClass, reader, options, pending)
    },
  }
}

function declinedFact(type: string, answer: HttpAnswer, pending: PendingEffect, asked: string | undefined): Unanswered {
  const { status: httpStatus } = answer
  const parts = { problem: { owner: effectOwner(pending), value: { ...readProblem(httpStatus, answer.redacted()) } } }
  if (asked !== undefined) return { type: 'consentService.changeDeclined', data: { asked, httpStatus }, parts }
  const named = type === 'consentService.readConsent' ? {} : { operation: type.slice('consentService.'.length) }
  return { type: 'consentService.readDeclined', data: { ...named, httpStatus }, parts }
}

/** A call's own controller comes before that of the client. */
function controllerOf({ data, controller }: OfController & { readonly data: OfController }): string | undefined {
  return data.controller ?? controller
}

/** A record of a list that was limited to a controller is that controller's, even if the record does not say so. */
function limitedTo<T extends { readonly controller: string | null }>(
  controller: string | undefined,
  list: Listing<ListRecord<T>> | undefined,
): (Listing<ListRecord<T>> & OfController) | undefined {
  if (!list || controller === undefined) return list
  const items = list.items.map(({ summary, ...item }) => {
    return { ...item, summary: { ...summary, controller: summary.controller ?? controller } }
  })
  return { ...list, items, controller }
}

function consentFact<T extends string, R extends object>(
  name: T,
  data: R | undefined,
): Fact<`consentService.${T}`, R> | undefined {
  return data && { type: `consentService.${name}`, data }
}
