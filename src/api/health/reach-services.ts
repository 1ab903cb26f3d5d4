import { type ReachResult, tryReach } from '../../adapters/http/try-reach.ts'
import type { Clock } from '../../runtime/clock.ts'
import { clockSkewMaxMs } from '../../vocabulary/instant.ts'
import { type ServiceName, serviceNames } from '../../vocabulary/names.ts'
import type { HealthCheck } from '../health-check.ts'
import { connectionOf, fetchOf } from '../http-clients.ts'
import type { HostOptions } from '../options.ts'

/** Tries to reach each configured service, and compares our clock with theirs. Never throws. */
export async function reachServices(options: HostOptions, clock: Clock): Promise<HealthCheck[]> {
  const { consentService, tokenService, validationService, portal } = options
  const fetch = fetchOf(options)
  const addresses: Readonly<Record<ServiceName, string | undefined>> = {
    consentService: consentService?.baseUrl,
    tokenService: tokenService?.url,
    validationService: validationService?.baseUrl,
    portal: portal?.baseUrl,
  }
  const reaching = serviceNames.map(async name => {
    const address = addresses[name]
    if (address === undefined) return []
    const { answers } = options[name] ?? {}
    const how = { clock, service: name, answers, ...connectionOf(options, name), ...(fetch && { fetch }) }
    return [{ name, ...(await tryReach(address, how)) }]
  })
  const reached = (await Promise.all(reaching)).flat()
  const checks = reached.map(({ name, isReached, detail }): HealthCheck => ({ name, ok: isReached, detail }))
  const compared = compareClock(reached)
  return compared ? [...checks, compared] : checks
}

/** Compares our clock with the services'. Ours is wrong when most of theirs disagree with it. */
function compareClock(reached: readonly (ReachResult & { readonly name: ServiceName })[]): HealthCheck | undefined {
  const measured = reached.flatMap(({ name, skewMs }) => (skewMs === undefined ? [] : [{ name, skewMs }]))
  if (measured.length === 0) return undefined
  const within = `within ${clockSkewMaxMs / 1_000} s`
  const off = measured.filter(({ skewMs }) => Math.abs(skewMs) > clockSkewMaxMs)
  if (off.length === 0) return { name: 'clock', ok: true, detail: `it agrees with the services ${within}` }
  const apart = off.map(({ name, skewMs }) => {
    return `${Math.round(Math.abs(skewMs) / 1_000)} s ${skewMs > 0 ? 'behind' : 'ahead of'} the ${name}`
  })
  const isOurs = off.length * 2 > measured.length
  const advice = isOurs ? 'set it by NTP' : 'the others agree: report it to that service'
  return { name: 'clock', ok: !isOurs, detail: `it is ${apart.join(', ')}: ${advice}` }
}
