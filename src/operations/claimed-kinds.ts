import type { ClaimedKind } from '../store/checks/check-claims.ts'

/** Where the value of each kind of keyed digest is found: a deep check looks there. */
export const claimedKinds: readonly ClaimedKind[] = [
  { kind: 'cpf', stream: 'subject-', isOfEach: true },
  { kind: 'consent', stream: 'consent-' },
  { kind: 'subscription', stream: 'subscription-', isOfEach: true },
  { kind: 'recovery', stream: 'notification-' },
  { kind: 'validated', stream: '' },
  { kind: 'awareness', view: 'awareness' },
  { kind: 'failure', view: 'failures' },
]
