import { inTurn } from '../../runtime/event-loop.ts'
import type { Area } from '../area.ts'
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
export function createHealthModule(area: Area, others: readonly Module[]): Module<HealthMethods> {
  const watches = certificatesIn(area.options).map(used => () => watchCertificate(area, used))
  return {
    methods: { health: options => checkHealth(area, others, options) },
    jobs: [{ name: 'certificates', look: daily(area.clock, () => inTurn(...watches)) }],
  }
}
