import type { CienciaDetalhada, ConsentimentoDetalhado } from '../adapters/consent/wire.ts'
import type { Falha } from '../adapters/portal/wire.ts'
import type { ValidationResult } from '../adapters/validation/protocol.ts'
import type { Instant, Problem } from '../vocabulary/message.ts'

/** The sealed part of a notification. */
export type SealedBody = {
  /** The bytes as received, in base64. */
  readonly bytes: string
  /** The recipient as the portal named it, and the event, whose clear copy is redacted if it contains a CPF. */
  readonly recipient?: { readonly tipo: string | null; readonly id: string; readonly evento: string }
}

/** A subscription as listed by the portal, with a keyed digest instead of its secrets. */
export type ListedAtPortal = {
  readonly remoteId: number
  readonly evento: string
  readonly endpoint: string
  readonly secrets: string
  /** The generation of its secrets; null when they are not ours. */
  readonly generation: number | null
  readonly isDeleted: boolean
  readonly lastSuccessAt: Instant | null
  readonly registeredAt: Instant | null
}

/** The id and the time of one failure record of an answer. */
export interface AnsweredFailure {
  readonly remoteId: number
  readonly failedAt: Instant | null
}

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
