import type { CreateCheck } from './check.ts'
import { nothingPending, oneToken, paidOnce, readsPaused } from './checks/calls.ts'
import { noUseAfterTheEnd, usedWhileEffective, viewsEqualServices } from './checks/consents.ts'
import {
  followerOrder,
  nothingLost,
  orderlyLog,
  transitionsWalked,
  unknownAfterRestore,
  viewsEqualReplay,
} from './checks/log.ts'
import { deletionsAnnounced, inTheInbox, secretsCompared } from './checks/notifications.ts'
import { erasedForGood, noLeak } from './checks/personal-data.ts'

/** All checks, by name. */
export const checks: Readonly<Record<string, CreateCheck>> = {
  'deletions-announced': deletionsAnnounced,
  'erased-for-good': erasedForGood,
  'follower-order': followerOrder,
  'in-the-inbox': inTheInbox,
  'no-leak': noLeak,
  'reads-paused': readsPaused,
  'no-use-after-the-end': noUseAfterTheEnd,
  'nothing-lost': nothingLost,
  'nothing-pending': nothingPending,
  'one-token': oneToken,
  'orderly-log': orderlyLog,
  'paid-once': paidOnce,
  'views-equal-services': viewsEqualServices,
  'secrets-compared': secretsCompared,
  'transitions-walked': transitionsWalked,
  'unknown-after-restore': unknownAfterRestore,
  'used-while-effective': usedWhileEffective,
  'views-equal-replay': viewsEqualReplay,
}
