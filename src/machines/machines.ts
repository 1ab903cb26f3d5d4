import { budgetMachine } from './budget.ts'
import { certificateMachine } from './certificate.ts'
import { consentMachine } from './consent/consent.ts'
import type { Machine } from './definition/machine.ts'
import { effectMachine } from './effect.ts'
import { followerMachine } from './follower.ts'
import { notificationMachine } from './notification.ts'
import { portalMachine } from './portal.ts'
import { retentionMachine } from './retention.ts'
import { revealMachine } from './reveal.ts'
import { subjectMachine } from './subject/subject.ts'
import { subscriptionMachine } from './subscription/subscription.ts'
import { tokenMachine } from './token.ts'
import { validationMachine } from './validation.ts'

/** Every machine. */
export const machines: readonly Machine[] = [
  budgetMachine,
  certificateMachine,
  consentMachine,
  effectMachine,
  followerMachine,
  notificationMachine,
  portalMachine,
  retentionMachine,
  revealMachine,
  subjectMachine,
  subscriptionMachine,
  tokenMachine,
  validationMachine,
]
