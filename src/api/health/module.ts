import { systemClock, withinTime } from '../../runtime/clock.ts'
import { runSequentially } from '../../runtime/event-loop.ts'
import { describeError } from '../../vocabulary/error-words.ts'
import { LateError } from '../../vocabulary/errors.ts'
import { checkKnownNames, serviceNames } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import { checkOneOf } from '../arguments.ts'
import { type HealthCheck, localChecks, tlsChecks } from '../health-check.ts'
import { daily, type Module } from '../module.ts'
import { certificatesIn, checkCertificates, watchCertificate } from './certificate-checks.ts'
import { reachServices } from './reach-services.ts'

/** The health method. */
export interface HealthMethods {
  /**
   * Runs the health checks; each failed one says what to do. Contacts the services only with `reach`. Throws nothing
   * but `INVALID_INPUT`, for an unknown option, or an unknown check in `only`.
   */
  health(options?: HealthOptions): Promise<Health>
}

export function createHealthModule(context: ApiContext, others: readonly Module[]): Module<HealthMethods> {
  const watches = certificatesIn(context.options).map(used => () => watchCertificate(context, used))
  return {
    methods: { health: (options = {}) => checkHealth(context, others, options) },
    jobs: [{ name: 'certificates', runDue: daily(context.clock, () => runSequentially(...watches)) }],
  }
}

/** The state of averba. */
export interface Health {
  /** Store, keyring and views are ok, and no certificate is missing or over. Nothing else would be better elsewhere. */
  readonly ready: boolean
  /** Why it is not ready. */
  readonly reasons: readonly string[]
  readonly checks: readonly HealthCheck[]
}

/** Which checks to run. */
export interface HealthOptions {
  /** Only these checks. Default: all checks that contact no service. */
  readonly only?: readonly HealthCheck['name'][]
  /** Also connects to each service and sends a `GET /`, none of its operations. */
  readonly reach?: boolean
}

const vital: ReadonlySet<string> = new Set(['store', 'writing', 'keyring', 'views'])

function isCertificate(name: string): boolean {
  return tlsChecks.some(each => each === name)
}

/** A certificate that ends soon still works; an unusable one has no `daysLeft`. */
function preventsWork({ name, ok, daysLeft }: HealthCheck): boolean {
  return !ok && (vital.has(name) || (isCertificate(name) && daysLeft === undefined))
}

const checkMaxMs = 5_000

/** Runs the checks. Throws only for a check that it does not know: what checks nothing would be ready. */
async function checkHealth(
  { options, clock }: Pick<ApiContext, 'options' | 'clock'>,
  modules: readonly Module[],
  asked: HealthOptions,
): Promise<Health> {
  checkKnownNames(asked, ['only', 'reach'], { noun: 'option' })
  const { only, reach = false } = asked
  const known = [...localChecks, ...tlsChecks, ...(reach ? [...serviceNames, 'clock'] : [])]
  for (const name of only ?? []) checkOneOf(name, known, 'name of a check')
  // At once, and each with a limit: probes do not wait for a server of the log that does not answer.
  const local = localChecks.map(async (name): Promise<HealthCheck[]> => {
    const check = modules.find(each => each.checks?.[name])?.checks?.[name]
    if (!check || (only && !only.includes(name))) return []
    const result = await withinTime(systemClock, checkMaxMs, check).catch((error: unknown) => {
      const detail = error instanceof LateError ? 'it did not answer in 5 seconds' : describeError(error)
      return { ok: false, detail }
    })
    return result ? [{ name, ...result }] : []
  })
  const checks = (await Promise.all(local)).flat()
  if (!only || only.some(isCertificate)) checks.push(...(await checkCertificates(options, clock)))
  if (reach) checks.push(...(await reachServices(options, clock)))
  const blocking = checks.filter(preventsWork)
  return { ready: blocking.length === 0, reasons: blocking.map(each => `${each.name}: ${each.detail}`), checks }
}
