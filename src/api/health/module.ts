import { runSequentially } from '../../runtime/event-loop.ts'
import type { ApiContext } from '../api-context.ts'
import { daily, type Module } from '../module.ts'
import { certificatesIn, watchCertificate } from './certificate-checks.ts'
import { checkHealth, type Health, type HealthOptions } from './health.ts'

/** How averba is. */
export interface HealthMethods {
  /**
   * How averba is: store, keyring, views, parked calls, followers and notifications, certificates, token,
   * subscriptions, receiver, each with what to do. Asks no service unless it is told to `reach` for them. Never throws.
   */
  health(options?: HealthOptions): Promise<Health>
}

/** Makes the module that looks at the others, and watches certificates. */
export function createHealthModule(context: ApiContext, others: readonly Module[]): Module<HealthMethods> {
  const watches = certificatesIn(context.options).map(used => () => watchCertificate(context, used))
  return {
    methods: { health: options => checkHealth(context, others, options) },
    jobs: [{ name: 'certificates', look: daily(context.clock, () => runSequentially(...watches)) }],
  }
}
