import { assign, type SnapshotFrom, setup } from 'xstate'
import { clocksDifferMaxMs, fromInstant, toInstant } from '../vocabulary/instant.ts'
import type { Event, Instant, Message } from '../vocabulary/message.ts'
import { actionsOf, reports, typesOf } from './definition/chart-rules.ts'
import { defineMachine, record } from './definition/define-machine.ts'
import type { EventCondition, Recording, UnexpectedFact } from './definition/machine.ts'

/**
 * Why a token is requested: the first one is needed, no process has it any more, an operation rejected it, the gateway
 * returned the rejected one again and it has expired since, or the credentials have changed.
 */
export type TokenNeed = 'absent' | 'lost' | 'rejected' | 'repeated' | 'changed'

export type TokenEvent =
  | Event<'token.requested', TokenRequest>
  /** The log does not hold the token itself, only its generation and the digests of its credentials. */
  | Event<'token.renewed', TokenRequestRef & Lifetime & { scope?: string }>
  /** The `times`-th token in a row that was rejected soon after its issue: no request before `until`. */
  | Event<'token.rejected', RejectionCounts>
  /** The gateway returned the rejected token again: no request before `until`. */
  | Event<'token.repeated', TokenRequestRef & { until: Instant; code?: string }>
  | Event<'token.locked', TokenRequestRef & { httpStatus: number }>
  | Event<'token.requestFailed', { generation: number }>
  /** A late answer: another process had made a request as well. */
  | Event<'token.unexpected', UnexpectedFact>

/** The credentials of a token, as digests under a key of the log, to notice when they change. */
export interface Holder {
  /** The digest of the consumer key, which identifies the contract: all its processes share a token. */
  readonly contract: string
  /** The digest of key and secret, which the gateway may refuse. */
  readonly credential: string
}

interface Lifetime {
  readonly issuedAt: Instant
  readonly expiresAt: Instant
}

/** The answered request and its credentials: another process may have made it. */
interface TokenRequestRef extends Holder {
  readonly generation: number
}

type TokenMessage =
  | Message<'token.request', TokenRequest>
  | Message<'token.reject', TokenRejected>
  | Message<'tokenService.issued', TokenRequestRef & Lifetime & { scope?: string }>
  | Message<'tokenService.repeated', TokenRequestRef & { issuedAt: Instant; until: Instant }>
  | Message<'tokenService.credentialsRefused', TokenRequestRef & { httpStatus: number }>
  | Message<'tokenService.requestLost', { generation: number }>

interface TokenRequest extends Holder {
  readonly need: TokenNeed
  readonly askedAt: Instant
}

interface RejectionCounts extends TokenRequestRef {
  readonly times: number
  /** The token worked in an earlier call. */
  readonly hasServed?: boolean
  /** It had expired by its own expiry time, within a minute of its issue. */
  readonly isOver?: boolean
  readonly until?: Instant
  readonly policy?: string
  readonly code?: string
}

interface TokenRejected {
  readonly generation: number
  readonly at: Instant
  /** Whether the token worked in a call of this process. */
  readonly hasServed: boolean
  readonly code?: string
}

interface TokenContext extends Holder, Lifetime {
  /** The token in use, and the latest request. */
  readonly generation: number
  readonly asked: number
  /** How many tokens in a row were rejected: those that never worked, and those that worked but were rejected soon. */
  readonly rejections: number
  readonly servedRejections: number
  /** The token that was rejected last had worked. */
  readonly hadServed: boolean
  readonly code: string
  readonly until: Instant
}

/** An answer to an older request says nothing about the current token. */
const late = { refused: 'another process had asked as well' }
const notRejected = { refused: 'the current token has not been rejected' }
const notCorrected = { refused: 'the gateway refused this consumer key and secret: correct them first' }
const repeatedBefore = {
  refused: 'the gateway returned the rejected token again: the next request waits until it expires',
}
const requested = { target: 'requesting', actions: 'keepRequest' } as const

const keep = actionsOf<TokenEvent, TokenContext>()

const chart = setup({
  types: typesOf<TokenEvent, TokenContext>(),
  guards: {
    reports,
    isCurrent: ({ context, event }) => event.type === 'token.rejected' && event.data.generation === context.generation,
    isAwaited: ({ context, event }) => 'generation' in event.data && event.data.generation === context.asked,
    isCorrected: ({ context, event }) => holderIn(event, context).credential !== context.credential,
    // Another contract's rejections say nothing about this one's.
    isWaitOver: ({ context, event }) =>
      event.type === 'token.requested' &&
      (event.data.contract !== context.contract || remainingMs(context.until, event.data.askedAt) === 0),
    isOtherContract: ({ context, event }, params: EventCondition) =>
      reports({ event }, params) && holderIn(event, context).contract !== context.contract,
  },
  actions: {
    keepRequest: assign(({ context, event }) => {
      const holder = holderIn(event, context)
      const counts = holder.contract === context.contract ? {} : { rejections: 0, servedRejections: 0 }
      return { asked: context.asked + 1, ...holder, ...counts }
    }),
    keepHolder: assign(({ context, event }) => holderIn(event, context)),
    keepGeneration: keep('token.renewed', ({ data: { generation, issuedAt, expiresAt } }) => ({
      ...{ generation, issuedAt, expiresAt },
    })),
    keepRejection: keep('token.rejected', ({ data }, context) => {
      const { hasServed = false, isOver, times, code = '', until = '' } = data
      const last = { code, until, hadServed: hasServed }
      if (isOver) return { ...last, servedRejections: times }
      // A token that worked restarts the count of those that never worked.
      if (hasServed) return { ...last, rejections: 1, servedRejections: times }
      return { ...last, rejections: times, servedRejections: times === 1 ? 0 : context.servedRejections }
    }),
    keepRepetition: keep('token.repeated', ({ data }) => ({ until: data.until })),
  },
}).createMachine({
  id: 'token',
  description: 'The bearer token of one credential, which all processes on the store share.',
  context: {
    ...{ generation: 0, asked: 0, contract: '', credential: '', issuedAt: '', expiresAt: '' },
    ...{ rejections: 0, servedRejections: 0, hadServed: false, code: '', until: '' },
  },
  initial: 'absent',
  on: { 'token.unexpected': {} },
  meta: {
    refuses: Object.fromEntries(
      ['token.renewed', 'token.repeated', 'token.locked', 'token.requestFailed'].map(type => [type, late]),
    ),
  },
  states: {
    absent: {
      description: 'There is no token: none was requested, or a request failed.',
      on: { 'token.requested': requested },
    },
    requesting: {
      description: 'One process requests a token, and the others wait for it.',
      on: {
        'token.renewed': { guard: 'isAwaited', target: 'valid', actions: ['keepGeneration', 'keepHolder'] },
        'token.repeated': { guard: 'isAwaited', target: 'repeated', actions: ['keepRepetition', 'keepHolder'] },
        'token.locked': { guard: 'isAwaited', target: 'locked', actions: 'keepHolder' },
        'token.requestFailed': { guard: 'isAwaited', target: 'absent' },
      },
      meta: { refuses: { 'token.requested': { refused: 'a token request has not been answered yet' } } },
    },
    valid: {
      description: 'A token is in use.',
      on: {
        'token.rejected': { guard: 'isCurrent', target: 'rejected', actions: 'keepRejection' },
        // No process has the token, or the contract is another one.
        'token.requested': [
          { guard: { type: 'reports', params: { need: 'lost' } }, ...requested },
          { guard: { type: 'isOtherContract', params: { need: 'changed' } }, ...requested },
        ],
      },
      meta: { refuses: { 'token.requested': notRejected } },
    },
    rejected: {
      description: 'A service answered 401 to the token: a newer one is requested.',
      on: { 'token.requested': { guard: 'isWaitOver', ...requested } },
      meta: { refuses: { 'token.requested': { refused: 'the new tokens are rejected: the next request waits' } } },
    },
    repeated: {
      description: 'The gateway returned the rejected token again: the next request waits until it expires.',
      on: { 'token.requested': { guard: 'isWaitOver', ...requested } },
      meta: { refuses: { 'token.requested': repeatedBefore } },
    },
    locked: {
      description: 'The gateway refused the consumer key and secret: only corrected ones are tried.',
      on: { 'token.requested': { guard: 'isCorrected', ...requested } },
      meta: { refuses: { 'token.requested': notCorrected } },
    },
  },
})

function holderIn({ data }: TokenEvent, before: Holder): Holder {
  const { contract, credential } = 'contract' in data ? data : before
  return { contract, credential }
}

function decide(state: SnapshotFrom<typeof chart>, message: TokenMessage): Recording<TokenEvent> {
  switch (message.type) {
    case 'token.request': {
      const data = { generation: state.context.asked + 1, need: message.data.need }
      const effects = [{ type: 'tokenService.requestToken', data }]
      return record({ type: 'token.requested', data: message.data, effects })
    }
    case 'token.reject': {
      const rejected = { type: 'token.rejected', data: countRejection(state.context, message.data) } as const
      // A late 401 for an older token says nothing about the current one.
      return state.can(rejected) ? record(rejected) : record()
    }
    case 'tokenService.issued':
      return record({ type: 'token.renewed', data: message.data })
    case 'tokenService.repeated': {
      const { code, hadServed } = state.context
      const { issuedAt, until, ...asked } = message.data
      // The gateway holds to it, and other calls were answered with it: it is tried once more, by another call.
      if (hadServed) return record({ type: 'token.renewed', data: { ...asked, issuedAt, expiresAt: until } })
      return record({ type: 'token.repeated', data: { ...asked, until, ...(code !== '' && { code }) } })
    }
    case 'tokenService.credentialsRefused':
      return record({ type: 'token.locked', data: message.data })
    case 'tokenService.requestLost':
      // No process has the token or can get it, so another one is requested.
      return record({
        type: 'token.requestFailed',
        data: message.data,
        resolves: { effect: 'tokenService.requestToken', as: 'declined' },
      })
  }
}

/**
 * How long to wait when new tokens are rejected soon. The first is replaced at once, as the contract says. If the
 * tokens never worked, each further wait doubles. If they worked, because something else on the contract ends them, ten
 * are replaced at once, and then one a minute.
 */
const rejectionPolicy = { name: 'rejection-1', baseMs: 60_000, maxMs: 3_600_000, servedMax: 10 }

/** A token rejected within this time was rejected soon: a new token is used at once. */
const freshMs = 60_000

/** Returns the remaining wait. One beyond the maximum came from a clock that was ahead, and does not count. */
export function remainingMs(until: Instant, now: Instant): number {
  const ms = until === '' ? 0 : fromInstant(until) - fromInstant(now)
  return ms > 0 && ms <= rejectionPolicy.maxMs + clocksDifferMaxMs ? ms : 0
}

function countRejection(
  { rejections, servedRejections, issuedAt, expiresAt, contract, credential }: TokenContext,
  { generation, at, hasServed, code }: TokenRejected,
): RejectionCounts {
  // An older token has worked, maybe in another process, or something else ended it.
  const ageMs = tokenAgeMs(issuedAt, at)
  const isEnded = at >= expiresAt
  const isEarly = ageMs < freshMs && !(isEnded && hasServed)
  // Whether it would have worked is unknown: the gateway's tokens are this short, or it was the rest of an older one.
  const isOver = isEarly && isEnded
  const countsAsServed = hasServed || isOver
  const times = isEarly ? (countsAsServed ? servedRejections : rejections) + 1 : 1
  const details = { ...(hasServed && { hasServed }), ...(isOver && { isOver }), ...(code !== undefined && { code }) }
  const rejected = { generation, contract, credential, times, ...details }
  const { name, baseMs, maxMs, servedMax } = rejectionPolicy
  if (times <= (countsAsServed ? servedMax : 1)) return rejected
  const waitMs = countsAsServed ? baseMs : Math.min(baseMs * 2 ** (times - 2), maxMs)
  return { ...rejected, until: toInstant(fromInstant(at) + waitMs), policy: name }
}

/** Returns a token's age. A negative one means that clocks differ, or that a clock was set back by a lot. */
function tokenAgeMs(issuedAt: Instant, at: Instant): number {
  const ms = fromInstant(at) - fromInstant(issuedAt)
  return ms < -clocksDifferMaxMs ? -ms : Math.max(0, ms)
}

/** The bearer token of one credential (document 2, sections 4.1 and 5). */
export const tokenMachine = defineMachine({
  name: 'token',
  version: 1,
  chart,
  decide,
  commands: { 'token.request': ['token.requested'] },
  facts: {
    'token.reject': ['token.rejected'],
    'tokenService.issued': ['token.renewed'],
    'tokenService.repeated': ['token.repeated', 'token.renewed'],
    'tokenService.credentialsRefused': ['token.locked'],
    'tokenService.requestLost': ['token.requestFailed'],
  },
  effects: { 'token.requested': ['tokenService.requestToken'] },
})
