import { createConsentClient } from '../../src/adapters/consent/client.ts'
import { openSocket, type SocketOptions } from '../../src/adapters/http/transport.ts'
import type { TokenSource } from '../../src/adapters/token/with-token.ts'
import { createValidationClient } from '../../src/adapters/validation/client.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { samples } from '../../src/simulation/index.ts'
import type { AttemptOutcome, PendingEffect } from '../../src/vocabulary/message.ts'
import type { Performers } from '../../src/vocabulary/performer.ts'

/** A read, a change that can be checked by a read, and a call that may cost money. */
export const kinds = ['read', 'change', 'paid'] as const
export type Kind = (typeof kinds)[number]

/** Where the calls go, and the source of their tokens. */
interface Target {
  readonly consentUrl: string
  readonly validationUrl: string
  readonly service: string
  readonly tokens: TokenSource
  /** The id of a consent that may become ATIVO. */
  readonly consent: string
}

const pending: PendingEffect = {
  ...{ type: 'x', id: 's/1/1', stream: 's', position: 1, state: 'pending', attempts: 0, reason: '' },
  ...{ dueAt: '2026-11-20T12:00:00.000Z', data: { status: 'ATIVO', validation: 'p1' } },
}

/** The clients over real sockets: one call of each kind, as the engine performs it. */
export function openThreeCalls(target: Target, options: Omit<SocketOptions, 'clock'>) {
  const socket = openSocket({ clock: systemClock, ...options })
  const common = { fetch: socket.fetch, clock: systemClock }
  const { consentUrl, validationUrl, service, tokens, consent } = target
  const performers: Performers = {
    ...createConsentClient(consentUrl, common),
    ...createValidationClient({ ...common, baseUrl: validationUrl, service, tokens }),
  }
  const opened = { cpf: samples.cpf, record: { id: consent }, claims: {} }
  const perform = async (type: string): Promise<AttemptOutcome> => {
    const performer = performers[type]
    if (!performer) throw new TypeError(`There is no performer of ${type}`)
    return performer.perform(pending, opened)
  }
  const calls: Record<Kind, () => Promise<AttemptOutcome>> = {
    read: () => perform('consentService.listConsents'),
    change: () => perform('consentService.changeStatus'),
    paid: () => perform('validationService.validatePerson'),
  }
  return { calls, close: () => socket.close() }
}
