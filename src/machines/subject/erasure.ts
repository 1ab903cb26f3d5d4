import type { Instant } from '../../vocabulary/message.ts'

/**
 * Who asked for an erasure, on what basis, and which kinds of parts the law requires to be kept, such as
 * `validation.result`.
 */
export interface ErasureRequest {
  readonly requester: string
  readonly legalBasis: string
  readonly keeps: readonly string[]
}

/** What an erasure destroyed. */
export interface ErasureSummary {
  readonly subject: string
  readonly keeps: readonly string[]
  /** Whether something was kept, which may be erased later. */
  readonly isPartial: boolean
  /**
   * The parts that it left, each as `<position>/<name>`: it explains the absence of none of them.
   */
  readonly kept: readonly string[]
  readonly parts: number
  /** SHA-256 over a line for each destroyed part: its position, its name and its hash. */
  readonly list: string
  /** Rows of the keyed index. */
  readonly indexRows: number
  /** The ends of sealed bytes, in hexadecimal, that the file is searched for in the end. */
  readonly endings: readonly string[]
}

/** How an erasure was completed. Backups of the keyring open backups of the store until `copiesOpenUntil`. */
export interface ErasureCompleted {
  readonly epoch: number
  readonly previous: readonly number[]
  readonly rewrapped: number
  readonly searchedBytes: number
  readonly searchedFor: number
  readonly found: number
  /** Parts that were destroyed but not searched for, in a file too large to be rewritten for them. */
  readonly unsearched: number
  readonly copiesOpenUntil: Instant
}
