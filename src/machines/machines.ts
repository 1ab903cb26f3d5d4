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
export const machines = [
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
] as const satisfies readonly Machine[]

/** Every event that a machine records. */
export type MachineEvent = NonNullable<(typeof machines)[number]['event']>
