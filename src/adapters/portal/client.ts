import { foreignCodeIn } from '../../vocabulary/foreign-answer.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import {
  type Fact,
  type Instant,
  type PendingEffect,
  type Problem,
  withdrawnProblem,
} from '../../vocabulary/message.ts'
import { storableCode } from '../../vocabulary/outcome.ts'
import { type EffectClass, makePerformers, type Performer, type PerformersOf } from '../../vocabulary/performer.ts'
import { type Listing, readProblem } from '../http/answer-body.ts'
import { type AnswerReader, type ExchangeOptions, type ReadFact, sendRequest, toOutcome } from '../http/exchange.ts'
import { keepHeaders, type PortalAuthentication, type PortalAuthenticator } from './authentication.ts'
import { type ClosedTimes, createClosedTimes } from './closed-times.ts'
import type { PortalLogin } from './login.ts'
import {
  isDeleted,
  type ListedFailure,
  type ListedSubscription,
  readFailures,
  readList,
  readSubscribed,
  type Secrets,
  writeChange,
  writeDelete,
  writeFailures,
  writeList,
  writeSubscribe,
} from './protocol.ts'
import { createSharedSession, type SharedLogin } from './shared-session.ts'
import { type SharedText, shareInMemory } from './shared-text.ts'

export interface PortalClientOptions extends ExchangeOptions {
  readonly baseUrl: string
  readonly authenticate: Exclude<PortalAuthentication, PortalLogin> | SharedLogin
  /** Shared only within this process when absent. */
  readonly closedTimes?: SharedText
  /** How large an answer with failure records may be: 64 MiB when absent. */
  readonly failuresBytesMax?: number
  /** Returns the secrets of a subscription when they are sent. */
  readonly secretsOf: (
    evento: string,
    held: { endpoint: string; generation: number },
    requestedAt: number,
  ) => Promise<Secrets>
}

/** The effects of the portal: their data, and the facts of their outcomes. */
export type PortalEffects = {
  'portal.subscribe': PortalEffect<'subscribed', object, WantedSubscription>
  'portal.changeSubscription': PortalEffect<'subscriptionChanged', object, RegisteredSubscription>
  'portal.deleteSubscription': PortalEffect<'subscriptionDeleted', object, RegisteredSubscription>
  'portal.listSubscriptions': PortalEffect<'subscriptionsListed', Listing<ListedSubscription>>
  'portal.listFailures': PortalEffect<'failuresListed', Listing<ListedFailure>, FailureQuery>
}

/** What a success shows (`R`), and what the call needs to know (`D`). */
interface PortalEffect<T extends string, R extends object, D = unknown> {
  readonly data: D
  readonly fact: Fact<`portal.${T}`, R> | Undone
}

interface WantedSubscription {
  readonly evento: string
  readonly endpoint: string
  readonly generation: number
  /** For a subscription to create: the portal had one for the event before. */
  readonly follows?: boolean
}

interface RegisteredSubscription extends WantedSubscription {
  /** The registration that a call is about: a newer one may exist by now. */
  readonly remoteId: number
}

/** Null means the portal's today. */
interface FailureQuery {
  readonly day: string | null
  readonly recover: boolean
}

type Undone =
  | Fact<'portal.declined', { readonly operation: string; readonly httpStatus: number }>
  | Fact<'portal.lost', { readonly operation: string }>

interface PortalOperation<E extends { readonly data: unknown; readonly fact: Fact }> {
  readonly effectClass: EffectClass
  readonly subscription?: (data: E['data']) => WantedSubscription
  /** What is recorded of a call that was declined or lost. */
  readonly undone?: (data: E['data']) => object
  readonly write: (base: string, headers: Record<string, string>, data: E['data'], secrets: Secrets) => Request
  readonly read: (text: string, data: E['data'], begunAt: Instant) => ReadFact<E['fact']>
}

/** All failures of a day come in one answer. */
const defaultFailuresBytesMax = 64 * 1_048_576
/** Shorter than the lease of an attempt: two processes never query a slow portal at once. */
const failuresBudgetMs = 45_000
/** When to give up a day that is too large: the next answer would be no smaller. */
const oversizedDay = { attemptsMax: 3, why: 'ANSWER_TOO_LARGE: the answer is larger than portal.failuresBytesMax' }

const operations: { readonly [T in keyof PortalEffects]: PortalOperation<PortalEffects[T]> } = {
  'portal.subscribe': {
    effectClass: 'probed',
    subscription: data => data,
    write: (base, headers, { evento, endpoint }, secrets) =>
      writeSubscribe(base, headers, { evento, endpoint, ...secrets }),
    read(text, data, begunAt) {
      const remoteId = readSubscribed(text)
      // The answer has no time: the subscription was created no earlier than this.
      const registration = data.follows === true && { registeredAt: begunAt }
      const subscribed = { remoteId, ...desiredState(data), ...registration }
      return remoteId === undefined ? undefined : portalFact('subscribed', subscribed)
    },
  },
  'portal.changeSubscription': {
    effectClass: 'probed',
    subscription: data => data,
    undone: ({ remoteId }) => ({ remoteId }),
    write: (base, headers, { remoteId, evento, endpoint }, secrets) =>
      writeChange(base, headers, remoteId, { evento, endpoint, ...secrets }),
    read(text, data) {
      // An answer of a proxy in front of the portal is not a change.
      if (readSubscribed(text) !== data.remoteId) return undefined
      return portalFact('subscriptionChanged', { ...desiredState(data), remoteId: data.remoteId })
    },
  },
  'portal.deleteSubscription': {
    effectClass: 'probed',
    subscription: data => data,
    undone: ({ remoteId }) => ({ remoteId }),
    write: (base, headers, { remoteId }) => writeDelete(base, headers, remoteId),
    read: (text, { remoteId }) => (isDeleted(text) ? portalFact('subscriptionDeleted', { remoteId }) : undefined),
  },
  'portal.listSubscriptions': {
    effectClass: 'read',
    write: (base, headers) => writeList(base, headers),
    async read(text) {
      const listing = await readList(text)
      return listing && portalFact('subscriptionsListed', listing)
    },
  },
  'portal.listFailures': {
    effectClass: 'read',
    undone: ({ day, recover }) => (recover && day ? { day } : {}),
    write: (base, headers, { day }) => writeFailures(base, headers, day),
    async read(text) {
      const listing = await readFailures(text)
      return listing && portalFact('failuresListed', listing)
    },
  },
}

/** Creates the performers of the webhook portal (document 3, section 4). */
export function createPortalClient(options: PortalClientOptions): PerformersOf<PortalEffects> {
  const { authenticate, fetch } = options
  const closedTimes = createClosedTimes(options.clock, options.closedTimes ?? shareInMemory())
  const authenticator =
    typeof authenticate === 'function'
      ? keepHeaders(() => authenticate(fetch))
      : createSharedSession({ ...options, ...authenticate, times: closedTimes })
  return makePerformers<PortalEffects, Undone>(operations, type =>
    toPerformer(type, operations[type], options, authenticator, closedTimes),
  )
}

function toPerformer<E extends { readonly data: unknown; readonly fact: Fact }>(
  type: keyof PortalEffects,
  operation: PortalOperation<E>,
  options: PortalClientOptions,
  authenticator: PortalAuthenticator,
  closedTimes: ClosedTimes,
): Performer<E['data'], E['fact'] | Undone> {
  const { effectClass } = operation
  const verb = type.slice('portal.'.length)
  const lost = ({ data }: { readonly data: E['data'] }): Undone =>
    portalFact('lost', { operation: verb, ...operation.undone?.(data) })
  const isFailureList = type === 'portal.listFailures'
  const { failuresBytesMax = defaultFailuresBytesMax } = options
  const limits = { budgetMs: failuresBudgetMs, bodyBytesMax: failuresBytesMax }
  const exchangeOptions = { ...options, ...(isFailureList && { limits }) }
  return {
    effectClass,
    ...(isFailureList && { isRoutine: true }),
    lostFact: lost,
    ...(effectClass !== 'read' && {
      withdrawnFact: pending => declinedFact(verb, withdrawnProblem, pending, operation.undone?.(pending.data)),
    }),
    async perform(pending, _, maySend) {
      const closed = await closedTimes.findClosed(verb)
      if (closed) return closed
      const { data, position } = pending
      const wanted = operation.subscription?.(data)
      const secrets = wanted ? await options.secretsOf(wanted.evento, desiredState(wanted), position) : {}
      const sensitive = Object.values(secrets)
      const begunAt = toInstant(options.clock.now())
      const send = (headers: Record<string, string>) =>
        sendRequest(
          { ...exchangeOptions, sensitive },
          effectClass,
          () => operation.write(options.baseUrl, headers, data, secrets),
          maySend,
        )
      const reader: AnswerReader<E['fact'] | Undone> = {
        service: 'portal',
        settled: text => operation.read(text, data, begunAt),
        declined: ({ status, redacted }) =>
          declinedFact(verb, readProblem(status, redacted()), pending, operation.undone?.(data)),
        isSuccess: status => status >= 200 && status < 300,
        lost: () => lost(pending),
      }
      const result = await authenticator.send(send)
      if (result.status === 'deferred') return result
      const refused = result.status === 'answered' ? await closedTimes.recordClosed(verb, result.answer) : undefined
      if (refused) return refused
      const outcome = await toOutcome(result, effectClass, reader, options, pending)
      const isOversized = result.status === 'lost' && foreignCodeIn(result.reason) === 'ANSWER_TOO_LARGE'
      return outcome.status === 'deferred' && isFailureList && isOversized
        ? { ...outcome, ends: oversizedDay }
        : outcome
    },
  }
}

function declinedFact(verb: string, problem: Problem, { stream }: PendingEffect, undone?: object): Undone {
  const data = { operation: verb, httpStatus: problem.status, code: storableCode(problem), ...undone }
  return { ...portalFact('declined', data), parts: { problem: { owner: stream, value: { ...problem } } } }
}

function portalFact<T extends string, R extends object>(name: T, data: R): Fact<`portal.${T}`, R> {
  return { type: `portal.${name}`, data }
}

function desiredState({ endpoint, generation }: WantedSubscription): { endpoint: string; generation: number } {
  return { endpoint, generation }
}
