import { assign, type SnapshotFrom, setup } from 'xstate'
import type { Event, Instant, Message } from '../message.ts'
import { defineMachine } from './define-machine.ts'
import { type Decision, type Machine, record, refuse } from './machine.ts'

// Events

/** Why a token is asked for: there is none, this process does not hold it, or an operation refused it. */
export type TokenNeed = 'absent' | 'lost' | 'rejected'

export type TokenEvent =
  /** `credential` is a keyed digest of the key and secret in use: it tells when they were changed. */
  | Event<'token.requested', { need: TokenNeed; credential: string }>
  /** The token itself is nowhere in the log: a generation numbers it. */
  | Event<'token.renewed', { generation: number; expiresAt: Instant | null }>
  | Event<'token.rejected', { generation: number }>
  | Event<'token.locked', { httpStatus: number; credential: string }>
  | Event<'token.requestFailed', unknown>

// Commands, and facts from outside

export type TokenMessage =
  | Message<'token.request', { need: TokenNeed; credential: string }>
  | Message<'token.reject', { generation: number }>
  | Message<'tokenService.issued', { expiresAt: Instant | null }>
  | Message<'tokenService.credentialsRefused', { httpStatus: number }>
  | Message<'tokenService.requestLost', unknown>

// Effects

const requestToken = { type: 'tokenService.requestToken', data: {} }

// Chart

interface Context {
  readonly generation: number
  readonly credential: string
}

const chart = setup({
  types: { context: {} as Context, events: {} as TokenEvent },
  guards: {
    isCurrent: ({ context, event }) =>
      event.type === 'token.rejected' && event.data.generation === context.generation,
  },
  actions: {
    keepCredential: assign({
      credential: ({ context, event }) =>
        event.type === 'token.requested' ? event.data.credential : context.credential,
    }),
    keepGeneration: assign({
      generation: ({ context, event }) =>
        event.type === 'token.renewed' ? event.data.generation : context.generation,
    }),
  },
}).createMachine({
  id: 'token',
  context: { generation: 0, credential: '' },
  initial: 'absent',
  states: {
    absent: { on: { 'token.requested': { target: 'requesting', actions: 'keepCredential' } } },
    requesting: {
      on: {
        'token.renewed': { target: 'valid', actions: 'keepGeneration' },
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
    locked: { on: { 'token.requested': { target: 'requesting', actions: 'keepCredential' } } },
  },
})

// Decide

function decide(state: SnapshotFrom<typeof chart>, message: TokenMessage): Decision<TokenEvent> {
  const { generation, credential } = state.context
  switch (message.type) {
    case 'token.request':
      return request(state, message.data)
    case 'token.reject':
      // A late 401 about an older token says nothing about the current one.
      if (!state.matches('valid') || message.data.generation !== generation) return record()
      return record({ type: 'token.rejected', data: message.data })
    case 'tokenService.issued':
      return record({ type: 'token.renewed', data: { generation: generation + 1, ...message.data } })
    case 'tokenService.credentialsRefused':
      return record({ type: 'token.locked', data: { ...message.data, credential } })
    case 'tokenService.requestLost':
      return record({ type: 'token.requestFailed', data: {} })
  }
}

function request(
  state: SnapshotFrom<typeof chart>,
  { need, credential }: { need: TokenNeed; credential: string },
): Decision<TokenEvent> {
  if (state.matches('requesting')) return refuse('a token request has not been answered yet')
  if (state.matches('locked') && credential === state.context.credential) {
    return refuse('the gateway refused this consumer key and secret: correct them first')
  }
  if (state.matches('valid') && need !== 'lost') return refuse('the current token has not been rejected')
  return record({ type: 'token.requested', data: { need, credential }, effects: [requestToken] })
}

/** The bearer token of one credential (document 2, sections 4.1 and 5). */
export const tokenMachine: Machine = defineMachine({ name: 'token', version: 1, chart, decide })
