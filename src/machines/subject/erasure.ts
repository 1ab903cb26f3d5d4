import type { Instant } from '../../vocabulary/message.ts'

/** Who requested an erasure, its legal basis, and the kinds of parts that the law requires to keep. */
export interface ErasureRequest {
  readonly requester: string
  readonly legalBasis: string
  readonly keeps: readonly string[]
}

/** What an erasure destroyed. */
export interface ErasureSummary {
  readonly subject: string
  readonly keeps: readonly string[]
  /** Whether something was kept and may be erased later. */
  readonly isPartial: boolean
  /** The parts that it kept, each as `<position>/<name>`. If one is missing later, something else destroyed it. */
  readonly kept: readonly string[]
  readonly parts: number
  /** SHA-256 over a line for each destroyed part: position, name and hash. */
  readonly list: string
  readonly indexRows: number
  /** The last bytes of destroyed parts, in hexadecimal; the file is searched for them afterwards. */
  readonly endings: readonly string[]
}

/** How an erasure was completed. Until `copiesOpenUntil`, backups of the keyring still decrypt backups of the store. */
export interface ErasureCompleted {
  readonly epoch: number
  readonly previous: readonly number[]
  readonly rewrapped: number
  readonly searchedBytes: number
  readonly searchedFor: number
  readonly found: number
  /** Destroyed parts that were not searched for, because the file is too large to be rewritten. */
  readonly unsearched: number
  readonly copiesOpenUntil: Instant
}
