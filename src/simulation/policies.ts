import type { ConsentPolicies } from '../adapters/consent/simulator.ts'
import type { PortalPolicies } from '../adapters/portal/portal-policies.ts'
import type { TokenPolicies } from '../adapters/token/simulator.ts'
import type { ValidationPolicies } from '../adapters/validation/simulator.ts'

/** What the simulated services do where the contracts are silent: docs/unspecified.md has every name. */
export interface Policies {
  readonly consentService?: ConsentPolicies
  readonly tokenService?: TokenPolicies
  readonly validationService?: ValidationPolicies
  readonly portal?: PortalPolicies
}
