import { toInstant } from '../../vocabulary/instant.ts'
import type { AttemptOutcome, Instant, MessageWithParts, PendingEffect } from '../../vocabulary/message.ts'
import type { EffectClass, Performer, Performers } from '../../vocabulary/performer.ts'
import { storableCode } from '../../vocabulary/problem.ts'
import { type Exchange, type ExchangeOptions, type HttpAnswer, sendRequest, toOutcome } from '../http/exchange.ts'
import { problemPart, readProblem } from '../http/problem.ts'
import { GivenHeaders, type PortalAuthentication, type PortalAuthenticator } from './authentication.ts'
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

/** The address of the portal, and how to authenticate there. */
export interface PortalClientOptions extends ExchangeOptions {
  readonly baseUrl: string
  readonly authenticate: PortalAuthentication
  /** The shared session of an identity; shared only within this process when absent, like the next two. */
  readonly shareOf?: (identity: string) => SharedText
  readonly logins?: LoginShare
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

/** The data of a subscription's effects, as its machine writes it. */
interface SubscriptionData {
  readonly evento: string
  readonly endpoint: string
  readonly generation: number
  readonly remoteId: number
  /** For a subscription to create: the portal had one for the event before. */
  readonly follows?: boolean
}

interface PortalOperation {
  readonly effectClass: EffectClass
  readonly isRoutine?: true
  readonly write: (base: string, headers: Record<string, string>, pending: PendingEffect, secrets: Secrets) => Request
  /** The fact of a success; `undefined` when the answer cannot be read. */
  readonly read: (text: string, pending: PendingEffect, begunAt: Instant) => MessageWithParts | undefined
  /** Limits the retries after an answer that is too large: the next one would be no smaller. */
  readonly oversized?: { readonly attemptsMax: number; readonly why: string }
}

/** All failures of a day come in one answer. */
const defaultFailuresBytesMax = 64 * 1_048_576
/** Shorter than the lease of an attempt: two processes never query a slow portal at once. */
const failuresBudgetMs = 45_000

const operations: Readonly<Record<string, PortalOperation>> = {
  subscribe: {
    effectClass: 'probed',
    write(base, headers, pending, secrets) {
      const { evento, endpoint } = effectData(pending)
      return writeSubscribe(base, headers, { evento, endpoint, ...secrets })
    },
    read(text, pending, begunAt) {
      const remoteId = readSubscribed(text)
      // The answer has no time: the subscription was created no earlier than this.
      const registration = effectData(pending).follows === true && { registeredAt: begunAt }
      const data = { remoteId, ...desiredState(pending), ...registration }
      return remoteId === undefined ? undefined : portalFact('subscribed', data)
    },
  },
  changeSubscription: {
    effectClass: 'probed',
    write(base, headers, pending, secrets) {
      const { remoteId, evento, endpoint } = effectData(pending)
      return writeChange(base, headers, remoteId, { evento, endpoint, ...secrets })
    },
    read(text, pending) {
      // An answer of a proxy in front of the portal is not a change.
      if (readSubscribed(text) !== effectData(pending).remoteId) return undefined
      return portalFact('subscriptionChanged', { ...desiredState(pending), ...remoteIdOf(pending) })
    },
  },
  deleteSubscription: {
    effectClass: 'probed',
    write: (base, headers, pending) => writeDelete(base, headers, effectData(pending).remoteId),
    read: (text, pending) => (isDeleted(text) ? portalFact('subscriptionDeleted', remoteIdOf(pending)) : undefined),
  },
  listSubscriptions: {
    effectClass: 'read',
    write: (base, headers) => writeList(base, headers),
    read(text) {
      const listing = readList(text)
      return listing && portalFact('subscriptionsListed', listing)
    },
  },
  listFailures: {
    effectClass: 'read',
    isRoutine: true,
    // As the machine writes it.
    write: (base, headers, pending) => writeFailures(base, headers, (pending.data as { day: string | null }).day),
    oversized: { attemptsMax: 3, why: 'the answer is larger than portal.failuresBytesMax' },
    read(text) {
      const listing = readFailures(text)
      return listing && portalFact('failuresListed', listing)
    },
  },
}

/** Creates the performers of the webhook portal (document 3, section 4). */
export function createPortalClient(options: PortalClientOptions): Performers {
  const closedTimes = new ClosedTimes(options.clock, options.closedTimes ?? shareInMemory())
  const authenticator = createAuthenticator(options, closedTimes)
  return Object.fromEntries(
    Object.entries(operations).map(([verb, operation]) => {
      return [`portal.${verb}`, toPerformer(verb, operation, options, authenticator, closedTimes)]
    }),
  )
}

function toPerformer(
  verb: string,
  operation: PortalOperation,
  options: PortalClientOptions,
  authenticator: PortalAuthenticator,
  closedTimes: ClosedTimes,
): Performer {
  const { effectClass, isRoutine } = operation
  const lost = (pending: PendingEffect): MessageWithParts =>
    portalFact('lost', { operation: verb, ...remoteIdOf(pending) })
  const isFailureList = operation === operations.listFailures
  const { failuresBytesMax = defaultFailuresBytesMax } = options
  const limits = { budgetMs: failuresBudgetMs, bodyBytesMax: failuresBytesMax }
  const exchangeOptions = { ...options, ...(isFailureList && { limits }) }
  return {
    effectClass,
    ...(isRoutine && { isRoutine }),
    lostFact: lost,
    async perform(pending, _, maySend) {
      const closed = await closedTimes.findClosed(verb)
      if (closed) return closed
      const secrets =
        effectClass === 'read'
          ? {}
          : await options.secretsOf(effectData(pending).evento, desiredState(pending), pending.position)
      const sensitive = Object.values(secrets)
      const begunAt = toInstant(options.clock.now())
      const send = (headers: Record<string, string>) =>
        sendRequest(
          { ...exchangeOptions, sensitive },
          effectClass,
          () => operation.write(options.baseUrl, headers, pending, secrets),
          maySend,
        )
      const reader = {
        service: 'portal',
        settled: (text: string) => operation.read(text, pending, begunAt),
        declined: (answer: HttpAnswer) => declinedFact(verb, answer, pending),
        isSuccess: (status: number) => status >= 200 && status < 300,
        lost: () => lost(pending),
      }
      const result = await authenticator.send(send)
      if (result.status === 'deferred') return result
      const refused = result.status === 'answered' ? await closedTimes.recordClosed(verb, result.answer) : undefined
      return refused ?? limitRetries(toOutcome(result, effectClass, reader, options.clock), result, operation)
    },
  }
}

function limitRetries(outcome: AttemptOutcome, result: Exchange, { oversized }: PortalOperation): AttemptOutcome {
  const isOversized = result.status === 'lost' && result.isOversized
  if (outcome.status !== 'deferred' || !isOversized || !oversized) return outcome
  return { ...outcome, ends: oversized }
}

function createAuthenticator(options: PortalClientOptions, closedTimes: ClosedTimes): PortalAuthenticator {
  const { authenticate, fetch, shareOf = sharesInMemory(), logins = loginsInMemory() } = options
  return typeof authenticate === 'function'
    ? new GivenHeaders(() => authenticate(fetch))
    : new SharedSession({ ...options, login: authenticate, shareOf, logins, times: closedTimes })
}

function loginsInMemory(): LoginShare {
  return {
    ...shareInMemory(),
    takeLease: async () => true,
    releaseLease: async () => undefined,
    digestIdentity: identity => identity,
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

function declinedFact(verb: string, answer: HttpAnswer, pending: PendingEffect): MessageWithParts {
  const problem = readProblem(answer.status, answer.redacted())
  const { day, recover } = pending.data as { day?: string | null; recover?: boolean } // In failure queries only.
  const data = {
    ...{ operation: verb, httpStatus: answer.status, code: storableCode(problem) },
    ...(recover && day && { day }),
    ...remoteIdOf(pending),
  }
  return {
    ...portalFact('declined', data),
    parts: { problem: { owner: pending.stream, value: problemPart(problem) } },
  }
}

function portalFact(name: string, data: object): MessageWithParts {
  return { type: `portal.${name}`, data }
}

function desiredState(pending: PendingEffect): { endpoint: string; generation: number } {
  const { endpoint, generation } = effectData(pending)
  return { endpoint, generation }
}

/** The registration that a call is about: a newer one may exist by now. A creation and a read have none. */
function remoteIdOf(pending: PendingEffect): Pick<Partial<SubscriptionData>, 'remoteId'> {
  const { remoteId } = pending.data as Partial<SubscriptionData> // As the machines write it.
  return remoteId === undefined ? {} : { remoteId }
}

function effectData(pending: PendingEffect): SubscriptionData {
  return pending.data as SubscriptionData // As the subscription's machine writes it.
}
