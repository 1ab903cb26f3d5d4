import type { Instant } from '../vocabulary/message.ts'

/** Something that will happen by itself if nothing else does. */
export interface Due {
  /**
   * - `call`: a call that is owed, or put off, goes.
   * - `sync`: the consents of a person are read again.
   * - `harvest`: the portal's failures and list are read.
   * - `expiry`: a consent's `dataExpiracao` comes.
   * - `deletion`: the portal deletes a subscription that has had nothing but errors (document 3, section 7).
   */
  readonly what: 'call' | 'sync' | 'harvest' | 'expiry' | 'deletion'
  readonly at: Instant
  /** The call's id, or the stream of the consent or the subscription. */
  readonly id: string
}
