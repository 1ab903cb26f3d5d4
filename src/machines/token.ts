import { assign, type SnapshotFrom, setup } from 'xstate'
import type { Event, Instant, Message } from '../message.ts'
import { defineMachine } from './define-machine.ts'
import { type Decision, type Machine, record, refuse } from './machine.ts'

// Events

/** Why a token is asked for: there is none, nobody holds it any more, or an operation refused it. */
export type TokenNeed = 'absent' | 'lost' | 'rejected'

export type TokenEvent =
  /** `credential` is a keyed digest of the key and secret in use: it tells when they were changed. */
  | Event<'token.requested', { need: TokenNeed; credential: string }>
  /** The token itself is nowhere in the log: a generation numbers it. */
  | Event<'token.renewed', { generation: number; expiresAt: Instant | null }>
  | Event<'token.rejected', { generation: number }>
  /** The gateway gave the rejected token again, for the `times`-th time: it is not asked before `until`. */
  | Event<'token.repeated', { generation: number; until: Instant; times: number }>
  | Event<'token.locked', { httpStatus: number; credential: string }>
  | Event<'token.requestFailed', unknown>

// Commands, and facts from outside

export type TokenMessage =
  /** `at` is the time of the asking. */
  | Message<'token.request', TokenRequest>
  | Message<'token.reject', { generation: number }>
  | Message<'tokenService.issued', { generation: number; expiresAt: Instant | null }>
  | Message<'tokenService.repeated', { until: Instant }>
  | Message<'tokenService.credentialsRefused', { httpStatus: number }>
  | Message<'tokenService.requestLost', unknown>

interface TokenRequest {
  readonly need: TokenNeed
  readonly credential: string
  readonly at: Instant
}

// Effects

/** What a token request is for: the generation that it makes, and how often it gave the rejected one again. */
export interface RequestToken {
  readonly generation: number
  readonly need: TokenNeed
  readonly repeated: number
}

const requestToken = (data: RequestToken) => ({ type: 'tokenService.requestToken', data })

// Chart

interface Context {
  readonly generation: number
  readonly credential: string
  /** How often in a row the gateway gave a rejected token again, and until when it is not asked. */
  readonly repeated: number
  readonly until: Instant
}

const chart = setup({
  types: { context: {} as Context, events: {} as TokenEvent },
  guards: {
    isCurrent: ({ context, event }) =>
      event.type === 'token.rejected' && event.data.generation === context.generation,
    isNext: ({ context, event }) =>
      event.type === 'token.renewed' && event.data.generation === context.generation + 1,
  },
  actions: {
    keepCredential: assign({
      credential: ({ context, event }) =>
        event.type === 'token.requested' ? event.data.credential : context.credential,
    }),
    keepGeneration: assign({
      generation: ({ context, event }) =>
        event.type === 'token.renewed' ? event.data.generation : context.generation,
      repeated: 0,
    }),
    keepRepetition: assign({
      repeated: ({ context, event }) =>
        event.type === 'token.repeated' ? event.data.times : context.repeated,
      until: ({ context, event }) => (event.type === 'token.repeated' ? event.data.until : context.until),
    }),
  },
}).createMachine({
  id: 'token',
  context: { generation: 0, credential: '', repeated: 0, until: '' },
  initial: 'absent',
  states: {
    absent: { on: { 'token.requested': { target: 'requesting', actions: 'keepCredential' } } },
    requesting: {
      on: {
        'token.renewed': { guard: 'isNext', target: 'valid', actions: 'keepGeneration' },
        'token.repeated': { target: 'repeated', actions: 'keepRepetition' },
        'token.locked': 'locked',
        'token.requestFailed': 'absent',
      },
    },
    valid: {
      on: {
        'token.rejected': { guard: 'isCurrent', target: 'rejected' },
        'token.requested': { target: 'requesting', actions: 'keepCredential' },
      },
    },
    rejected: { on: { 'token.requested': { target: 'requesting', actions: 'keepCredential' } } },
    repeated: { on: { 'token.requested': { target: 'requesting', actions: 'keepCredential' } } },
    locked: { on: { 'token.requested': { target: 'requesting', actions: 'keepCredential' } } },
  },
})

// Decide

function decide(state: SnapshotFrom<typeof chart>, message: TokenMessage): Decision<TokenEvent> {
  const { generation, credential, repeated } = state.context
  switch (message.type) {
    case 'token.request':
      return request(state, message.data)
    case 'token.reject':
      // A late 401 about an older token says nothing about the current one.
      if (!state.matches('valid') || message.data.generation !== generation) return record()
      return record({ type: 'token.rejected', data: message.data })
    case 'tokenService.issued': {
      const isAwaited = state.matches('requesting') && message.data.generation === generation + 1
      const late = isAwaited ? {} : { anomaly: 'another process had asked as well' }
      return record({ type: 'token.renewed', data: message.data, ...late })
    }
    case 'tokenService.repeated': {
      const data = { generation, ...message.data, times: repeated + 1 }
      const late = state.matches('requesting') ? {} : { anomaly: 'another process had asked as well' }
      return record({ type: 'token.repeated', data, ...late })
    }
    case 'tokenService.credentialsRefused':
      return record({ type: 'token.locked', data: { ...message.data, credential } })
    case 'tokenService.requestLost':
      // Nobody has it and nobody can find it out: another one is asked for.
      return record({
        type: 'token.requestFailed',
        data: {},
        resolves: { effect: 'tokenService.requestToken', as: 'declined' },
      })
  }
}

function request(
  state: SnapshotFrom<typeof chart>,
  { need, credential, at }: TokenRequest,
): Decision<TokenEvent> {
  const { generation, repeated, until } = state.context
  if (state.matches('requesting')) return refuse('a token request has not been answered yet')
  if (state.matches('locked') && credential === state.context.credential) {
    return refuse('the gateway refused this consumer key and secret: correct them first')
  }
  if (state.matches('repeated') && at < until) {
    return refuse('the gateway gave the rejected token again: it is asked when that one has ended')
  }
  if (state.matches('valid') && need !== 'lost') return refuse('the current token has not been rejected')
  const effects = [requestToken({ generation: generation + 1, need, repeated })]
  return record({ type: 'token.requested', data: { need, credential }, effects })
}

/** The bearer token of one credential (document 2, sections 4.1 and 5). */
export const tokenMachine: Machine = defineMachine({ name: 'token', version: 1, chart, decide })
