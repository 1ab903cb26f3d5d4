import type { View } from '../vocabulary/view.ts'
import { type AwarenessRow, awareness } from './awareness.ts'
import { type ConsentRow, consents } from './consents.ts'
import { type FailureRow, failures } from './failures.ts'
import { type LoginRow, logins } from './logins.ts'
import { type NotificationRow, notifications } from './notifications.ts'
import { type SubjectRow, subjects } from './subjects.ts'
import { type SubscriptionRow, subscriptions } from './subscriptions.ts'
import { type TokenRow, tokens } from './tokens.ts'
import { type ValidationRow, validations } from './validations.ts'

/** The tables that a host can query. */
export interface Views {
  consents: ConsentRow
  awareness: AwarenessRow
  logins: LoginRow
  tokens: TokenRow
  validations: ValidationRow
  subscriptions: SubscriptionRow
  notifications: NotificationRow
  failures: FailureRow
  subjects: SubjectRow
}

/** Every view. */
export const views: readonly View[] = [
  consents,
  awareness,
  logins,
  tokens,
  validations,
  subscriptions,
  notifications,
  failures,
  subjects,
]
