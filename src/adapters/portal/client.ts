import { toInstant } from '../../vocabulary/instant.ts'
import type { AttemptOutcome, Instant, MessageWithParts, PendingEffect } from '../../vocabulary/message.ts'
import type { EffectClass, Performer, Performers } from '../../vocabulary/performer.ts'
import { clearCode } from '../../vocabulary/problem.ts'
import { conclude, type Exchange, type ExchangeOptions, exchange, type HttpAnswer } from '../http/exchange.ts'
import { problemPart, readProblem } from '../http/problem.ts'
import { type Authenticated, GivenHeaders, type PortalAuthentication } from './authentication.ts'
import { ClosedTimes } from './closed-times.ts'
import {
  isDeleted,
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
import { type LoginShare, SharedSession } from './shared-session.ts'
import { type SharedText, shareInMemory } from './shared-text.ts'

/** Where the portal is, and how to authenticate there. */
export interface PortalClientOptions extends ExchangeOptions {
  readonly baseUrl: string
  readonly authenticate: PortalAuthentication
  /** Where the session of one who logs in is kept for all processes; in this one when absent. */
  readonly shareOf?: (identity: string) => SharedText
  /** Where it is kept for all processes when somebody logged in last; in this one when absent. */
  readonly logins?: LoginShare
  /** Where it is kept for all processes when the portal is closed; in this one when absent. */
  readonly closedTimes?: SharedText
  /** How large an answer with failure records may be: 64 MiB when absent. */
  readonly failuresBytesMax?: number
  /** The secrets of a subscription, asked for when they are sent. */
  readonly secretsOf: (
    evento: string,
    held: { endpoint: string; generation: number },
    owedAt: number,
  ) => Promise<Secrets>
}

/** What a subscription's machine writes into its effects. */
interface SubscriptionData {
  readonly evento: string
  readonly endpoint: string
  /** The generation of our secrets. */
  readonly generation: number
  readonly remoteId: number
  /** Of a subscription to create: the portal had one for the event before. */
  readonly follows?: boolean
}

/** One of the five operations. */
interface PortalOperation {
  readonly effectClass: EffectClass
  readonly isRoutine?: true
  readonly write: (
    base: string,
    headers: Record<string, string>,
    pending: PendingEffect,
    secrets: Secrets,
  ) => Request
  /** The fact that a success makes; `undefined` when the answer cannot be read. */
  readonly read: (text: string, pending: PendingEffect, begunAt: Instant) => MessageWithParts | undefined
  /** Ends the tries for an answer that is too large: the next one would be no smaller. */
  readonly oversized?: { readonly attemptsMax: number; readonly why: string }
}

/** The failures of a bad day come in one answer without pages, and in no other. */
const failuresBytesMaxDefault = 64 * 1_048_576
/** Shorter than the lease of an attempt: a portal that is slow is not asked by two processes at once. */
const failuresBudgetMs = 45_000

const operations: Readonly<Record<string, PortalOperation>> = {
  subscribe: {
    effectClass: 'probed',
    write(base, headers, pending, secrets) {
      const { evento, endpoint } = dataOf(pending)
      return writeSubscribe(base, headers, { evento, endpoint, ...secrets })
    },
    read(text, pending, begunAt) {
      const remoteId = readSubscribed(text)
      // The answer has no time of its own: it was made no earlier than this.
      const isDated = dataOf(pending).follows === true && { registeredAt: begunAt }
      const data = { remoteId, ...heldIn(pending), ...isDated }
      return remoteId === undefined ? undefined : fact('subscribed', data)
    },
  },
  changeSubscription: {
    effectClass: 'probed',
    write(base, headers, pending, secrets) {
      const { remoteId, evento, endpoint } = dataOf(pending)
      return writeChange(base, headers, remoteId, { evento, endpoint, ...secrets })
    },
    read(text, pending) {
      // A page that something in front of the portal gives changed nothing there.
      if (readSubscribed(text) !== dataOf(pending).remoteId) return undefined
      return fact('subscriptionChanged', { ...heldIn(pending), ...registrationOf(pending) })
    },
  },
  deleteSubscription: {
    effectClass: 'probed',
    write: (base, headers, pending) => writeDelete(base, headers, dataOf(pending).remoteId),
    read: (text, pending) =>
      isDeleted(text) ? fact('subscriptionDeleted', registrationOf(pending)) : undefined,
  },
  listSubscriptions: {
    effectClass: 'read',
    write: (base, headers) => writeList(base, headers),
    read(text) {
      const listing = readList(text)
      return listing && fact('subscriptionsListed', listing)
    },
  },
  listFailures: {
    effectClass: 'read',
    isRoutine: true,
    // As the machine writes it.
    write: (base, headers, pending) =>
      writeFailures(base, headers, (pending.data as { day: string | null }).day),
    oversized: { attemptsMax: 3, why: 'the answer is larger than portal.failuresBytesMax' },
    read(text) {
      const listing = readFailures(text)
      return listing && fact('failuresListed', listing)
    },
  },
}

/** The webhook portal over a way out (document 3, section 4). */
export function createPortalClient(options: PortalClientOptions): Performers {
  const times = new ClosedTimes(options.clock, options.closedTimes ?? shareInMemory())
  const session = authenticatedBy(options, times)
  return Object.fromEntries(
    Object.entries(operations).map(([verb, operation]) => {
      return [`portal.${verb}`, toPerformer(verb, operation, options, session, times)]
    }),
  )
}

function toPerformer(
  verb: string,
  operation: PortalOperation,
  options: PortalClientOptions,
  session: Authenticated,
  times: ClosedTimes,
): Performer {
  const { effectClass, isRoutine } = operation
  const lost = (pending: PendingEffect): MessageWithParts =>
    fact('lost', { operation: verb, ...registrationOf(pending) })
  const isLarge = operation === operations.listFailures
  const { failuresBytesMax = failuresBytesMaxDefault } = options
  const limits = { budgetMs: failuresBudgetMs, bodyBytesMax: failuresBytesMax }
  const through = { ...options, ...(isLarge && { limits }) }
  return {
    effectClass,
    ...(isRoutine && { isRoutine }),
    lostFact: lost,
    async perform(pending, _, mayLeave) {
      const closed = await times.before(verb)
      if (closed) return closed
      const secrets =
        effectClass === 'read'
          ? {}
          : await options.secretsOf(dataOf(pending).evento, heldIn(pending), pending.position)
      const carried = Object.values(secrets)
      const begunAt = toInstant(options.clock.now())
      const send = (headers: Record<string, string>) =>
        exchange(
          { ...through, carried },
          effectClass,
          () => operation.write(options.baseUrl, headers, pending, secrets),
          mayLeave,
        )
      const reading = {
        service: 'portal',
        settled: (text: string) => operation.read(text, pending, begunAt),
        declined: (answer: HttpAnswer) => declined(verb, answer, pending),
        isSuccess: (status: number) => status >= 200 && status < 300,
        lost: () => lost(pending),
      }
      const result = await session.send(send)
      if (result.status === 'deferred') return result
      const refused = result.status === 'answered' ? await times.after(verb, result.answer) : undefined
      return refused ?? withEnd(conclude(result, effectClass, reading, options.clock), result, operation)
    },
  }
}

function withEnd(outcome: AttemptOutcome, result: Exchange, { oversized }: PortalOperation): AttemptOutcome {
  const isOversized = result.status === 'lost' && result.isOversized
  if (outcome.status !== 'deferred' || !isOversized || !oversized) return outcome
  return { ...outcome, ends: oversized }
}

function authenticatedBy(options: PortalClientOptions, times: ClosedTimes): Authenticated {
  const { authenticate, fetch, shareOf = sharesInMemory(), logins = loginsInMemory() } = options
  return typeof authenticate === 'function'
    ? new GivenHeaders(() => authenticate(fetch))
    : new SharedSession({ ...options, login: authenticate, shareOf, logins, times })
}

function loginsInMemory(): LoginShare {
  return {
    ...shareInMemory(),
    take: async () => true,
    release: async () => undefined,
    digestOf: identity => identity,
  }
}

function sharesInMemory(): (identity: string) => SharedText {
  const shares = new Map<string, SharedText>()
  return identity => {
    const share = shares.get(identity) ?? shareInMemory()
    shares.set(identity, share)
    return share
  }
}

function declined(verb: string, answer: HttpAnswer, pending: PendingEffect): MessageWithParts {
  const problem = readProblem(answer.status, answer.told())
  const { day, recover } = pending.data as { day?: string | null; recover?: boolean } // Of a reading of failures alone.
  const data = {
    ...{ operation: verb, httpStatus: answer.status, code: clearCode(problem) },
    ...(recover && day && { day }),
    ...registrationOf(pending),
  }
  return {
    ...fact('declined', data),
    parts: { problem: { owner: pending.stream, value: problemPart(problem) } },
  }
}

function fact(name: string, data: object): MessageWithParts {
  return { type: `portal.${name}`, data }
}

/** What the portal is to hold. */
function heldIn(pending: PendingEffect): { endpoint: string; generation: number } {
  const { endpoint, generation } = dataOf(pending)
  return { endpoint, generation }
}

/**
 * The registration that a call is about: another may have come since. A registration itself and a reading have none.
 */
function registrationOf(pending: PendingEffect): Pick<Partial<SubscriptionData>, 'remoteId'> {
  const { remoteId } = pending.data as Partial<SubscriptionData> // As the machines write it.
  return remoteId === undefined ? {} : { remoteId }
}

function dataOf(pending: PendingEffect): SubscriptionData {
  return pending.data as SubscriptionData // As the subscription's machine writes it.
}
