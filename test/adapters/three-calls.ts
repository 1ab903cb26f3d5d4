import { openSocket, type SocketOptions } from '../../src/adapters/http/transport.ts'
import type { TokenSource } from '../../src/adapters/token/with-token.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { samples } from '../../src/simulation/index.ts'
import type { AttemptOutcome } from '../../src/vocabulary/message.ts'
import { createPerformers, performOnce } from '../support/performers.ts'

/** A read, a change that can be checked by a read, and a call that may cost money. */
export const kinds = ['read', 'change', 'paid'] as const
export type Kind = (typeof kinds)[number]

/** How each call ends. */
export type Expected = Readonly<Record<Kind, string>>
export const all = (status: string): Expected => ({ read: status, change: status, paid: status })
/** The calls may have been done: only the read can be sent again. */
export const inDoubt: Expected = { read: 'deferred', change: 'unknown', paid: 'unknown' }

/** Where the calls go, and the source of their tokens. */
interface Target {
  readonly consentUrl: string
  readonly validationUrl: string
  readonly service: string
  readonly tokens: TokenSource
  /** The id of a consent that may become ATIVO. */
  readonly consent: string
}

/** The clients over real sockets: one call of each kind, as the engine performs it. */
export function openThreeCalls(target: Target, options: Partial<SocketOptions>) {
  const socket = openSocket({ clock: systemClock, ...options })
  const { consentUrl, validationUrl: baseUrl, service, tokens, consent } = target
  const performers = createPerformers(socket.fetch, { consentUrl, validation: { baseUrl, service, tokens } })
  const parts = { cpf: samples.cpf, record: { id: consent }, claims: {} }
  const calls: Record<Kind, () => Promise<AttemptOutcome>> = {
    read: () => performOnce(performers, 'consentService.listConsents', { parts }),
    change: () => performOnce(performers, 'consentService.changeStatus', { parts }),
    paid: () => performOnce(performers, 'validationService.validatePerson', { parts }),
  }
  return { calls, close: () => socket.close() }
}
