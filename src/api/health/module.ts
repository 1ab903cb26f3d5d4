import { runSequentially } from '../../runtime/event-loop.ts'
import type { ApiContext } from '../api-context.ts'
import { daily, type Module } from '../module.ts'
import { certificatesIn, watchCertificate } from './certificate-checks.ts'
import { checkHealth, type Health, type HealthOptions } from './health.ts'

/** The health method. */
export interface HealthMethods {
  /** Runs the health checks; each failed one says what to do. Contacts the services only with `reach`. Never throws. */
  health(options?: HealthOptions): Promise<Health>
}

/** Creates the module that runs the checks of the other modules and watches certificates. */
export function createHealthModule(context: ApiContext, others: readonly Module[]): Module<HealthMethods> {
  const watches = certificatesIn(context.options).map(used => () => watchCertificate(context, used))
  return {
    methods: { health: options => checkHealth(context, others, options) },
    jobs: [{ name: 'certificates', runDue: daily(context.clock, () => runSequentially(...watches)) }],
  }
}
