import type { ApiContext } from '../api-context.ts'
import type { Module } from '../module.ts'
import { type Audit, createAudit } from './audit.ts'

/** The area of proofs and reports. */
export interface AuditMethods {
  readonly audit: Audit
}

/** Creates the module of proofs and reports. */
export function createAuditModule(context: ApiContext): Module<AuditMethods> {
  return { methods: { audit: createAudit(context) } }
}
