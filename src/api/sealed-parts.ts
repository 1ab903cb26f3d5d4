import type { CienciaDetalhada, ConsentimentoDetalhado } from '../adapters/consent/wire.ts'
import type { ListedFailure } from '../adapters/portal/protocol.ts'
import type { Falha } from '../adapters/portal/wire.ts'
import type { ValidationResult } from '../adapters/validation/protocol.ts'
import type { SubscriptionReading } from '../machines/subscription/messages.ts'
import type { Problem } from '../vocabulary/message.ts'

/** The sealed part of a notification. */
export type SealedBody = {
  /** The bytes as received, in base64. */
  readonly bytes: string
  /** The recipient as the portal named it, and the event, whose clear copy is redacted if it contains a CPF. */
  readonly recipient?: { readonly tipo: string | null; readonly id: string; readonly evento: string }
}

/** A subscription as listed by the portal, with a keyed digest instead of its secrets. */
export type ListedAtPortal = Omit<SubscriptionReading, 'deletedAt' | 'readAt'> & { readonly secrets: string }

/** The id and the time of one failure record of an answer. */
export type AnsweredFailure = Pick<ListedFailure, 'remoteId' | 'failedAt'>

/** What the parts hold that the API opens, as they were sealed. */
export interface SealedParts {
  /** A consent or a record of awareness, as the service listed it. */
  readonly record: { readonly id: string; readonly cnpjUsuario?: unknown }
  readonly consent: Partial<ConsentimentoDetalhado>
  readonly awareness: Partial<CienciaDetalhada>
  readonly result: Partial<ValidationResult>
  readonly problem: Problem
  readonly body: SealedBody
  /** The portal's record without its content. */
  readonly failure: Omit<Falha, 'conteudo'>
  readonly list: readonly ListedAtPortal[]
  readonly answered: readonly AnsweredFailure[]
}
