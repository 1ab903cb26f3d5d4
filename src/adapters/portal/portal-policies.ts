import type { RecipientKind } from './wire.ts'

/** Whom a notification is for: a natural person, a legal person or a public body (document 3, section 6). */
export interface Recipient {
  readonly tipo: RecipientKind
  /** Eleven digits of a CPF, fourteen characters of a CNPJ, or the code of a public body. */
  readonly id: string
}

/** A user of the portal, with subscriptions and failure records of its own. */
export interface PortalUser {
  /** The headers that a call of this user carries. */
  readonly headers: Readonly<Record<string, string>>
  /** Who gives this user their notifications; everyone when absent. */
  readonly represents?: 'everyone' | readonly Recipient[]
}

/** What document 3 does not show, decided: the first of each is the default. */
export interface PortalPolicies {
  /** How callers are known: by headers that are fixed, not at all, or by the login that is publicly known. */
  readonly authentication?: 'headers' | 'none' | 'session'
  /** Whom the first user represents: everyone, or those named. */
  readonly represents?: 'everyone' | readonly Recipient[]
  /** Further users, where headers tell them apart. */
  readonly users?: readonly PortalUser[]
  /** A second active subscription for an event. */
  readonly duplicateEvent?: 'refuse' | 'accept'
  /** What leaving out an optional field means on a change. */
  readonly omittedFields?: 'clear' | 'keep'
  /** An id in the body of a change that is not the one in the path. */
  readonly differingId?: 'refuse' | 'path'
  /** Which answers make a delivery a success. */
  readonly success?: '2xx' | '200'
  /** A subscription that nothing was delivered to for thirty days. */
  readonly silence?: 'keep' | 'delete'
  /**
   * What the 3500 ms include: connecting, the request and the whole answer; the same up to the head of the
   * answer; or that without connecting.
   */
  readonly processingTime?: 'exchange' | 'answer' | 'processing'
  /** How often a delivery that fails is tried, at once, before it counts as failed: 1 by default. */
  readonly tries?: number
  /** An answer that leads elsewhere: a failure, or the same POST goes there. */
  readonly redirects?: 'fail' | 'follow'
}
