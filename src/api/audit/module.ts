import type { ApiContext } from '../api-context.ts'
import type { Module } from '../module.ts'
import { type Audit, createAudit } from './audit.ts'

/** What is shown to others of the log. */
export interface AuditMethods {
  readonly audit: Audit
}

/** Makes the module of proofs and reports. */
export function createAuditModule(context: ApiContext): Module<AuditMethods> {
  return { methods: { audit: createAudit(context) } }
}
