import type { CreateCheck } from './check.ts'
import { deletionsAnnounced } from './checks/deletions-announced.ts'
import { erasedForGood } from './checks/erased-for-good.ts'
import { followerOrder } from './checks/follower-order.ts'
import { inTheInbox } from './checks/in-the-inbox.ts'
import { noLeak } from './checks/no-leak.ts'
import { noUseAfterTheEnd } from './checks/no-use-after-the-end.ts'
import { nothingLost } from './checks/nothing-lost.ts'
import { nothingPending } from './checks/nothing-pending.ts'
import { oneToken } from './checks/one-token.ts'
import { orderlyLog } from './checks/orderly-log.ts'
import { paidOnce } from './checks/paid-once.ts'
import { readsPaused } from './checks/reads-paused.ts'
import { secretsCompared } from './checks/secrets-compared.ts'
import { transitionsWalked } from './checks/transitions-walked.ts'
import { unknownAfterRestore } from './checks/unknown-after-restore.ts'
import { usedWhileEffective } from './checks/used-while-effective.ts'
import { viewsEqualReplay } from './checks/views-equal-replay.ts'
import { viewsEqualServices } from './checks/views-equal-services.ts'

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
