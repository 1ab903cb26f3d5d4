import { assign, type SnapshotFrom, setup } from 'xstate'
import { clocksDifferMaxMs, fromInstant, toInstant } from '../vocabulary/instant.ts'
import type { Event, Instant, Message } from '../vocabulary/message.ts'
import { defineMachine } from './definition/define-machine.ts'
import { type Decision, type Machine, record, refuse } from './definition/machine.ts'

// Events

/**
 * Why a token is asked for: there is none, nobody holds it any longer, an operation refused it, the gateway gave the
 * refused one again and its stated time is over, or the credentials have changed.
 */
export type TokenNeed = 'absent' | 'lost' | 'rejected' | 'repeated' | 'changed'

/** What is recorded of the token of one credential. */
export type TokenEvent =
  | Event<'token.requested', { need: TokenNeed } & Holder>
  /** The token itself is nowhere in the log: it is known by a generation, and by the credentials of its request. */
  | Event<'token.renewed', TokenRequestRef & Lifetime>
  /** The `times`-th token in a row that was refused soon after it was given: no request before `until`. */
  | Event<'token.rejected', RejectionCounts>
  /** The gateway gave the rejected token again: no request before `until`. */
  | Event<'token.repeated', TokenRequestRef & { until: Instant; code?: string }>
  | Event<'token.locked', TokenRequestRef & { httpStatus: number }>
  | Event<'token.requestFailed', { generation: number }>

/** Whose token it is: digests under a key of the log, which tell when something was changed. */
export interface Holder {
  /** Of the consumer key, which names the contract: its processes share a token, also while its secret is changed. */
  readonly contract: string
  /** Of key and secret, which the gateway may refuse. */
  readonly credential: string
}

interface Lifetime {
  readonly issuedAt: Instant
  readonly expiresAt: Instant
}

/** The request that was answered, and its credentials: another process may have taken it over. */
interface TokenRequestRef extends Holder {
  readonly generation: number
}

// Commands, and facts from outside

type TokenMessage =
  /** `at` is the time of the request. */
  | Message<'token.request', TokenRequest>
  | Message<'token.reject', TokenRejected>
  | Message<'tokenService.issued', TokenRequestRef & Lifetime>
  | Message<'tokenService.repeated', TokenRequestRef & { until: Instant }>
  | Message<'tokenService.credentialsRefused', TokenRequestRef & { httpStatus: number }>
  | Message<'tokenService.requestLost', { generation: number }>

interface TokenRequest extends Holder {
  readonly need: TokenNeed
  readonly at: Instant
}

interface RejectionCounts extends TokenRequestRef {
  readonly times: number
  /** A call with it got another answer before. */
  readonly hasServed?: boolean
  /** It had ended by what it said of itself, within a minute of its issue. */
  readonly isOver?: boolean
  readonly until?: Instant
  readonly policy?: string
  /** The code in the 401, where there was one: all that says why. */
  readonly code?: string
}

interface TokenRejected {
  readonly generation: number
  readonly at: Instant
  /** Whether a call with it got any answer but a refusal, as far as the process knows. */
  readonly hasServed: boolean
  readonly code?: string
}

// Effects

/** What a token request is for: the generation that it makes, and why. */
interface RequestToken {
  readonly generation: number
  readonly need: TokenNeed
}

const requestTokenEffect = (data: RequestToken) => ({ type: 'tokenService.requestToken', data })

// Chart

interface TokenContext extends Holder, Lifetime {
  /** The token in use, and the request that was made last. */
  readonly generation: number
  readonly asked: number
  /** How many tokens were refused in a row that never served, and how many that served were refused soon. */
  readonly rejections: number
  readonly servedRejections: number
  /** Why the last one was, as its code said. */
  readonly code: string
  /** Until when the gateway is not asked. */
  readonly until: Instant
}

const chart = setup({
  types: { context: {} as TokenContext, events: {} as TokenEvent },
  guards: {
    isCurrent: ({ context, event }) =>
      event.type === 'token.rejected' && event.data.generation === context.generation,
    isAwaited: ({ context, event }) =>
      event.type !== 'token.requested' && event.data.generation === context.asked,
  },
  actions: {
    keepRequest: assign({
      asked: ({ context }) => context.asked + 1,
      // Refusals count per contract.
      rejections: ({ context, event }) =>
        holderIn(event, context).contract === context.contract ? context.rejections : 0,
      servedRejections: ({ context, event }) =>
        holderIn(event, context).contract === context.contract ? context.servedRejections : 0,
      contract: ({ context, event }) => holderIn(event, context).contract,
      credential: ({ context, event }) => holderIn(event, context).credential,
    }),
    keepHolder: assign({
      contract: ({ context, event }) => holderIn(event, context).contract,
      credential: ({ context, event }) => holderIn(event, context).credential,
    }),
    keepGeneration: assign({
      generation: ({ context, event }) =>
        event.type === 'token.renewed' ? event.data.generation : context.generation,
      issuedAt: ({ context, event }) =>
        event.type === 'token.renewed' ? event.data.issuedAt : context.issuedAt,
      expiresAt: ({ context, event }) =>
        event.type === 'token.renewed' ? event.data.expiresAt : context.expiresAt,
    }),
    keepRejection: assign({
      // One that served says that the gateway's tokens work: it is the first again, for those that do not.
      rejections: ({ context, event }) => {
        if (event.type !== 'token.rejected') return context.rejections
        if (event.data.isOver) return context.rejections
        return event.data.hasServed ? 1 : event.data.times
      },
      servedRejections: ({ context, event }) => {
        if (event.type !== 'token.rejected') return context.servedRejections
        const { hasServed, isOver, times } = event.data
        if (hasServed || isOver) return times
        return times === 1 ? 0 : context.servedRejections
      },
      code: ({ event }) => (event.type === 'token.rejected' && event.data.code) || '',
      until: ({ event }) => (event.type === 'token.rejected' && event.data.until) || '',
    }),
    keepRepetition: assign({
      until: ({ context, event }) => (event.type === 'token.repeated' ? event.data.until : context.until),
    }),
  },
}).createMachine({
  id: 'token',
  context: {
    ...{ generation: 0, asked: 0, contract: '', credential: '', issuedAt: '', expiresAt: '' },
    ...{ rejections: 0, servedRejections: 0, code: '', until: '' },
  },
  initial: 'absent',
  states: {
    absent: { on: { 'token.requested': { target: 'requesting', actions: 'keepRequest' } } },
    requesting: {
      on: {
        'token.renewed': { guard: 'isAwaited', target: 'valid', actions: ['keepGeneration', 'keepHolder'] },
        'token.repeated': {
          guard: 'isAwaited',
          target: 'repeated',
          actions: ['keepRepetition', 'keepHolder'],
        },
        'token.locked': { guard: 'isAwaited', target: 'locked', actions: 'keepHolder' },
        'token.requestFailed': { guard: 'isAwaited', target: 'absent' },
      },
    },
    valid: {
      on: {
        'token.rejected': { guard: 'isCurrent', target: 'rejected', actions: 'keepRejection' },
        'token.requested': { target: 'requesting', actions: 'keepRequest' },
      },
    },
    rejected: { on: { 'token.requested': { target: 'requesting', actions: 'keepRequest' } } },
    repeated: { on: { 'token.requested': { target: 'requesting', actions: 'keepRequest' } } },
    locked: { on: { 'token.requested': { target: 'requesting', actions: 'keepRequest' } } },
  },
})

function holderIn({ data }: TokenEvent, before: Holder): Holder {
  return 'contract' in data ? data : before
}

// Decide

function decide(state: SnapshotFrom<typeof chart>, message: TokenMessage): Decision<TokenEvent> {
  const { generation } = state.context
  switch (message.type) {
    case 'token.request':
      return decideRequest(state, message.data)
    case 'token.reject':
      // A late 401 about an older token says nothing about the current one.
      if (!state.matches('valid') || message.data.generation !== generation) return record()
      return record({ type: 'token.rejected', data: countRejection(state.context, message.data) })
    case 'tokenService.issued':
      return record({ type: 'token.renewed', data: message.data, ...anomalyIfLate(state, message.data) })
    case 'tokenService.repeated': {
      const { code } = state.context
      const data = { ...message.data, ...(code !== '' && { code }) }
      return record({ type: 'token.repeated', data, ...anomalyIfLate(state, message.data) })
    }
    case 'tokenService.credentialsRefused':
      return record({ type: 'token.locked', data: message.data, ...anomalyIfLate(state, message.data) })
    case 'tokenService.requestLost':
      // No process has it or can find it out: another one is requested.
      return record({
        type: 'token.requestFailed',
        data: message.data,
        resolves: { effect: 'tokenService.requestToken', as: 'declined' },
        ...anomalyIfLate(state, message.data),
      })
  }
}

/**
 * How long the gateway is left alone when it gives tokens that are refused soon. The first is replaced at once, as the
 * contract says. After that each wait is twice the one before, where the tokens never served; where they did, such as
 * while something else on the contract has them ended, some more are replaced, and then one a minute.
 */
const rejectionPolicy = { name: 'rejection-1', baseMs: 60_000, maxMs: 3_600_000, servedMax: 10 }

/** A token is tried as soon as it is there: what refuses every token has refused it by then. */
const freshMs = 60_000

/**
 * How long the gateway is still left alone. A wait beyond the longest came from a clock that was ahead, and does not
 * count.
 */
export function remainingMs(until: Instant, now: Instant): number {
  const ms = until === '' ? 0 : fromInstant(until) - fromInstant(now)
  return ms > 0 && ms <= rejectionPolicy.maxMs + clocksDifferMaxMs ? ms : 0
}

function countRejection(
  { rejections, servedRejections, issuedAt, expiresAt, contract, credential }: TokenContext,
  { generation, at, hasServed, code }: TokenRejected,
): RejectionCounts {
  // One that lived longer has served, maybe in another process, or was ended by something else.
  const ageMs = tokenAgeMs(issuedAt, at)
  const isEnded = at >= expiresAt
  const isEarly = ageMs < freshMs && !(isEnded && hasServed)
  // Whether it would have served is not known: the gateway gives none for longer, or it is the rest of an older one.
  const isOver = isEarly && isEnded
  const isAtOnce = hasServed || isOver
  const times = isEarly ? (isAtOnce ? servedRejections : rejections) + 1 : 1
  const told = {
    ...(hasServed && { hasServed }),
    ...(isOver && { isOver }),
    ...(code !== undefined && { code }),
  }
  const rejected = { generation, contract, credential, times, ...told }
  const { name, baseMs, maxMs, servedMax } = rejectionPolicy
  if (times <= (isAtOnce ? servedMax : 1)) return rejected
  const waitMs = isAtOnce ? baseMs : Math.min(baseMs * 2 ** (times - 2), maxMs)
  return { ...rejected, until: toInstant(fromInstant(at) + waitMs), policy: name }
}

/**
 * For how long a token has lived. None is refused before it is given: the clocks of two processes differ, or one was
 * put back by far, of which nobody knows when.
 */
function tokenAgeMs(issuedAt: Instant, at: Instant): number {
  const ms = fromInstant(at) - fromInstant(issuedAt)
  return ms < -clocksDifferMaxMs ? -ms : Math.max(0, ms)
}

/** An answer to a request that is over says nothing about the token in use: it was late, or two processes had asked. */
function anomalyIfLate(
  state: SnapshotFrom<typeof chart>,
  { generation }: { generation: number },
): Pick<Event, 'anomaly'> {
  const isAwaited = state.matches('requesting') && generation === state.context.asked
  return isAwaited ? {} : { anomaly: 'another process had asked as well' }
}

function decideRequest(
  state: SnapshotFrom<typeof chart>,
  { need, contract, credential, at }: TokenRequest,
): Decision<TokenEvent> {
  const { asked, until } = state.context
  const isOther = contract !== state.context.contract
  const isEarly = !isOther && remainingMs(until, at) > 0
  if (state.matches('requesting')) return refuse('a token request has not been answered yet')
  if (state.matches('locked') && credential === state.context.credential) {
    return refuse('the gateway refused this consumer key and secret: correct them first')
  }
  if (state.matches('repeated') && isEarly) {
    return refuse('the gateway gave the rejected token again: it is asked when that one has ended')
  }
  if (state.matches('rejected') && isEarly) {
    return refuse('the tokens that the gateway gives are refused: it is asked later')
  }
  if (state.matches('valid') && need !== 'lost' && !(need === 'changed' && isOther))
    return refuse('the current token has not been rejected')
  const effects = [requestTokenEffect({ generation: asked + 1, need })]
  return record({ type: 'token.requested', data: { need, contract, credential }, effects })
}

/** The bearer token of one credential (document 2, sections 4.1 and 5). */
export const tokenMachine: Machine = defineMachine({ name: 'token', version: 1, chart, decide })
