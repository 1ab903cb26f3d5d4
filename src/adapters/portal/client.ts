import { toInstant } from '../../vocabulary/instant.ts'
import type { Carried, Instant, Outcome, Owed } from '../../vocabulary/message.ts'
import type { EffectClass, Performer, Performers } from '../../vocabulary/performer.ts'
import { clearCode } from '../../vocabulary/problem.ts'
import { type Answer, conclude, type Exchange, type ExchangeOptions, exchange } from '../http/exchange.ts'
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
interface Operation {
  readonly effectClass: EffectClass
  readonly isRoutine?: true
  readonly write: (base: string, headers: Record<string, string>, owed: Owed, secrets: Secrets) => Request
  /** The fact that a success makes; `undefined` when the answer cannot be read. */
  readonly read: (text: string, owed: Owed, begunAt: Instant) => Carried | undefined
  /** Ends the tries for an answer that is too large: the next one would be no smaller. */
  readonly oversized?: { readonly attemptsMax: number; readonly why: string }
}

/** The failures of a bad day come in one answer without pages, and in no other. */
const failuresBytesMaxDefault = 64 * 1_048_576
/** Shorter than the lease of an attempt: a portal that is slow is not asked by two processes at once. */
const failuresBudgetMs = 45_000

const operations: Readonly<Record<string, Operation>> = {
  subscribe: {
    effectClass: 'probed',
    write(base, headers, owed, secrets) {
      const { evento, endpoint } = dataOf(owed)
      return writeSubscribe(base, headers, { evento, endpoint, ...secrets })
    },
    read(text, owed, begunAt) {
      const remoteId = readSubscribed(text)
      // The answer has no time of its own: it was made no earlier than this.
      const isDated = dataOf(owed).follows === true && { registeredAt: begunAt }
      const data = { remoteId, ...heldIn(owed), ...isDated }
      return remoteId === undefined ? undefined : fact('subscribed', data)
    },
  },
  changeSubscription: {
    effectClass: 'probed',
    write(base, headers, owed, secrets) {
      const { remoteId, evento, endpoint } = dataOf(owed)
      return writeChange(base, headers, remoteId, { evento, endpoint, ...secrets })
    },
    read(text, owed) {
      // A page that something in front of the portal gives changed nothing there.
      if (readSubscribed(text) !== dataOf(owed).remoteId) return undefined
      return fact('subscriptionChanged', { ...heldIn(owed), ...registrationOf(owed) })
    },
  },
  deleteSubscription: {
    effectClass: 'probed',
    write: (base, headers, owed) => writeDelete(base, headers, dataOf(owed).remoteId),
    read: (text, owed) => (isDeleted(text) ? fact('subscriptionDeleted', registrationOf(owed)) : undefined),
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
    write: (base, headers, owed) => writeFailures(base, headers, (owed.data as { day: string | null }).day),
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
  operation: Operation,
  options: PortalClientOptions,
  session: Authenticated,
  times: ClosedTimes,
): Performer {
  const { effectClass, isRoutine } = operation
  const lost = (owed: Owed): Carried => fact('lost', { operation: verb, ...registrationOf(owed) })
  const isLarge = operation === operations.listFailures
  const { failuresBytesMax = failuresBytesMaxDefault } = options
  const limits = { budgetMs: failuresBudgetMs, bodyBytesMax: failuresBytesMax }
  const through = { ...options, ...(isLarge && { limits }) }
  return {
    effectClass,
    ...(isRoutine && { isRoutine }),
    lost,
    async perform(owed, _, mayLeave) {
      const closed = await times.before(verb)
      if (closed) return closed
      const secrets =
        effectClass === 'read'
          ? {}
          : await options.secretsOf(dataOf(owed).evento, heldIn(owed), owed.position)
      const carried = Object.values(secrets)
      const begunAt = toInstant(options.clock.now())
      const send = (headers: Record<string, string>) =>
        exchange(
          { ...through, carried },
          effectClass,
          () => operation.write(options.baseUrl, headers, owed, secrets),
          mayLeave,
        )
      const reading = {
        service: 'portal',
        settled: (text: string) => operation.read(text, owed, begunAt),
        declined: (answer: Answer) => declined(verb, answer, owed),
        isSuccess: (status: number) => status >= 200 && status < 300,
        lost: () => lost(owed),
      }
      const result = await session.send(send)
      if (result.status === 'deferred') return result
      const refused = result.status === 'answered' ? await times.after(verb, result.answer) : undefined
      return refused ?? withEnd(conclude(result, effectClass, reading, options.clock), result, operation)
    },
  }
}

function withEnd(outcome: Outcome, result: Exchange, { oversized }: Operation): Outcome {
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

function declined(verb: string, answer: Answer, owed: Owed): Carried {
  const problem = readProblem(answer.status, answer.told())
  const { day, recover } = owed.data as { day?: string | null; recover?: boolean } // Of a reading of failures alone.
  const data = {
    ...{ operation: verb, httpStatus: answer.status, code: clearCode(problem) },
    ...(recover && day && { day }),
    ...registrationOf(owed),
  }
  return {
    ...fact('declined', data),
    parts: { problem: { owner: owed.stream, value: problemPart(problem) } },
  }
}

function fact(name: string, data: object): Carried {
  return { type: `portal.${name}`, data }
}

/** What the portal is to hold. */
function heldIn(owed: Owed): { endpoint: string; generation: number } {
  const { endpoint, generation } = dataOf(owed)
  return { endpoint, generation }
}

/**
 * The registration that a call is about: another may have come since. A registration itself and a reading have none.
 */
function registrationOf(owed: Owed): Pick<Partial<SubscriptionData>, 'remoteId'> {
  const { remoteId } = owed.data as Partial<SubscriptionData> // As the machines write it.
  return remoteId === undefined ? {} : { remoteId }
}

function dataOf(owed: Owed): SubscriptionData {
  return owed.data as SubscriptionData // As the subscription's machine writes it.
}
