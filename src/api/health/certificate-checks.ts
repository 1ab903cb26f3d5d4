import { type Certificate, useCertificate } from '../../adapters/credentials/certificate.ts'
import { type Source, valueFrom } from '../../adapters/credentials/source.ts'
import type { Clock } from '../../runtime/clock.ts'
import { nameOf } from '../../vocabulary/error-words.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { streamOf } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import type { CheckResult, HealthCheck } from '../check.ts'
import type { HostOptions } from '../options.ts'

/** How many days before its end a certificate no longer counts as well. */
const daysMin = 7

/**
 * Looks at one certificate: whether it can be fetched and read, belongs to its key, and has not ended. One that cannot
 * be used has no `daysLeft`.
 */
async function checkCertificate(
  source: Source<Certificate>,
  clock: Clock,
  whose: 'client' | 'server' = 'client',
): Promise<CheckResult> {
  try {
    const certificate = await valueFrom(source, `${whose} certificate`)
    const { daysLeft, notBefore } = await useCertificate(certificate, clock.now(), whose)
    if (notBefore !== undefined)
      return {
        ok: false,
        detail: `it is not valid before ${notBefore}: nobody takes it until then`,
        daysLeft,
      }
    if (daysLeft >= daysMin) return { ok: true, detail: `it ends in ${daysLeft} days`, daysLeft }
    const detail = `it ends in ${daysLeft} days: renew it, and put the new one where it is read from`
    return { ok: false, detail, daysLeft }
  } catch (error) {
    if (!(error instanceof AverbaError)) return { ok: false, detail: 'it cannot be looked at' }
    return { ok: false, detail: [error.message, error.hint].filter(Boolean).join(': ') }
  }
}

/** A certificate that the options give, and what it is for. */
export interface UsedCertificate {
  readonly name: Extract<HealthCheck['name'], `${string}ertificate`>
  readonly service: 'consentService' | 'portal' | 'receiver'
  readonly whose: 'client' | 'server'
  readonly source: Source<Certificate>
}

/** Every certificate that the options give. With a way out of the host's own, clients' are the host's business. */
export function certificatesIn(options: HostOptions): UsedCertificate[] {
  const client = options.fetch ? undefined : options.consentService?.certificate
  const login = options.fetch ? undefined : portalCertificateOf(options)
  const server = options.run?.receiver?.certificate
  return [
    ...(client ? [used('certificate', 'consentService', 'client', client)] : []),
    ...(login ? [used('portalCertificate', 'portal', 'client', login)] : []),
    ...(server ? [used('receiverCertificate', 'receiver', 'server', server)] : []),
  ]
}

function used(
  name: UsedCertificate['name'],
  service: UsedCertificate['service'],
  whose: UsedCertificate['whose'],
  source: UsedCertificate['source'],
): UsedCertificate {
  return { name, service, whose, source }
}

/** Looks at every certificate that the options give. */
export async function checkCertificates(options: HostOptions, clock: Clock): Promise<HealthCheck[]> {
  const checks: HealthCheck[] = []
  for (const { name, source, whose } of certificatesIn(options))
    checks.push({ name, ...(await checkCertificate(source, clock, whose)) })
  return checks
}

/** Lets the machine decide which counts of days left are worth an event. */
export async function watchCertificate(
  { engine, clock, log }: ApiContext,
  { service, source, whose }: UsedCertificate,
): Promise<void> {
  try {
    const certificate = await valueFrom(source, `${whose} certificate`)
    const { daysLeft } = await useCertificate(certificate, clock.now(), whose)
    const message = { type: 'certificate.observe', data: { service, daysLeft } }
    await engine.record(async () => ({ targets: [{ stream: streamOf('certificate', service), message }] }))
  } catch (error) {
    if (!(error instanceof AverbaError)) throw error
    log({ message: error.message, error: nameOf(error) })
  }
}

/** The client certificate of the portal's login, where it has one. */
export function portalCertificateOf({ portal }: HostOptions): Source<Certificate> | undefined {
  return typeof portal?.authenticate === 'object' ? portal.authenticate.certificate : undefined
}
