import type { SocketOptions } from '../../adapters/http/transport.ts'
import { type ReachResult, tryReach } from '../../adapters/http/try-reach.ts'
import type { Clock } from '../../runtime/clock.ts'
import { clockSkewMaxMs } from '../../vocabulary/instant.ts'
import type { ServiceName } from '../../vocabulary/names.ts'
import type { HealthCheck } from '../health-check.ts'
import type { HostOptions } from '../options.ts'
import { portalCertificateOf } from './certificate-checks.ts'

/** Tries to reach each configured service, and compares our clock with theirs. Never throws. */
export async function reachServices(options: HostOptions, clock: Clock): Promise<HealthCheck[]> {
  const targets = listTargets(options)
  const fetch = options.fetch && { fetch: options.fetch }
  const reached = await Promise.all(
    targets.map(async ({ name, address, ...socket }) => ({
      name,
      ...(await tryReach(address, { clock, ...socket, ...fetch })),
    })),
  )
  const checks = reached.map(({ name, isReached, detail }): HealthCheck => ({ name, ok: isReached, detail }))
  const compared = compareClock(reached)
  return compared ? [...checks, compared] : checks
}

interface ServiceTarget extends Omit<SocketOptions, 'clock'> {
  readonly name: ServiceName
  readonly address: string
}

function listTargets(options: HostOptions): ServiceTarget[] {
  const { consentService, tokenService, validationService, portal } = options
  const portalCertificate = portalCertificateOf(options)
  const ca = (service: { readonly ca?: string | undefined }) => service.ca !== undefined && { ca: service.ca }
  const targets: ServiceTarget[] = []
  if (consentService) {
    const { baseUrl: address, certificate } = consentService
    targets.push({ name: 'consentService', address, certificate, ...ca(consentService) })
  }
  if (tokenService) targets.push({ name: 'tokenService', address: tokenService.url, ...ca(tokenService) })
  if (validationService) {
    targets.push({ name: 'validationService', address: validationService.baseUrl, ...ca(validationService) })
  }
  if (portal) {
    const certificate = portalCertificate && { certificate: portalCertificate }
    targets.push({ name: 'portal', address: portal.baseUrl, ...ca(portal), ...certificate })
  }
  return targets
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
