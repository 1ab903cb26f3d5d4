import type { Checks } from './check.ts'
import { callChecks } from './checks/calls.ts'
import { consentChecks } from './checks/consents.ts'
import { logChecks } from './checks/log.ts'
import { notificationChecks } from './checks/notifications.ts'
import { personalDataChecks } from './checks/personal-data.ts'

const all: Checks = { ...callChecks, ...consentChecks, ...logChecks, ...notificationChecks, ...personalDataChecks }

/** All checks, in the order of their names: those that compare everything with the log or a service are last. */
export const checks: Checks = Object.fromEntries(Object.entries(all).sort())
