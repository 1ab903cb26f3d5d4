import type { ConsentPolicies } from '../adapters/consent/simulator.ts'
import type { PortalPolicies } from '../adapters/portal/portal-policies.ts'
import type { TokenPolicies } from '../adapters/token/simulator.ts'

/** What the simulated services do where the contracts are silent: docs/unspecified.md has every name. */
export interface Policies {
  readonly consentService?: ConsentPolicies
  readonly tokenService?: TokenPolicies
  readonly portal?: PortalPolicies
}
