import { inWords } from '../../vocabulary/error-words.ts'
import type { ApiContext } from '../api-context.ts'
import type { HealthCheck } from '../check.ts'
import { certificates, own } from '../check.ts'
import type { Module } from '../module.ts'
import { checkCertificates } from './certificate-checks.ts'
import { reachServices } from './reach-services.ts'

/** How averba is. */
export interface Health {
  /**
   * It can take work: the store can be read and written, keyring and views are well, and no certificate has expired or
   * is missing. Whatever else is wrong needs a person; another process would not help.
   */
  readonly ready: boolean
  /** Why it is not ready, in words. */
  readonly reasons: readonly string[]
  readonly checks: readonly HealthCheck[]
}

/** What to look at. */
export interface HealthOptions {
  /** These alone; all that ask nobody when absent. */
  readonly only?: readonly HealthCheck['name'][]
  /** Asks the services too: a connection and a `HEAD /` each, never one of their operations. */
  readonly reach?: boolean
}

/** Without these nothing can be done. */
const vital: ReadonlySet<string> = new Set(['store', 'writing', 'keyring', 'views'])

function isCertificate(name: string): boolean {
  return certificates.some(each => each === name)
}

/** A certificate that ends soon is no obstacle yet; one that cannot be used has no days left. */
function standsInTheWay({ name, ok, daysLeft }: HealthCheck): boolean {
  return !ok && (vital.has(name) || (isCertificate(name) && daysLeft === undefined))
}

/** Looks at everything that a host or an operator has to know of. Never throws. */
export async function checkHealth(
  { options, clock }: Pick<ApiContext, 'options' | 'clock'>,
  modules: readonly Module[],
  { only, reach = false }: HealthOptions = {},
): Promise<Health> {
  const checks: HealthCheck[] = []
  for (const name of own) {
    if (only && !only.includes(name)) continue
    const look = modules.find(each => each.checks?.[name])?.checks?.[name]
    const found = await look?.().catch((error: unknown) => ({ ok: false, detail: inWords(error) }))
    if (found) checks.push({ name, ...found })
  }
  if (!only || only.some(isCertificate)) checks.push(...(await checkCertificates(options, clock)))
  if (reach) checks.push(...(await reachServices(options, clock)))
  const inTheWay = checks.filter(standsInTheWay)
  return {
    ready: inTheWay.length === 0,
    reasons: inTheWay.map(each => `${each.name}: ${each.detail}`),
    checks,
  }
}
