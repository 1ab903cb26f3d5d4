import { type Certificate, loadCertificate } from '../../adapters/credentials/certificate.ts'
import { type Source, valueFrom } from '../../adapters/credentials/secret.ts'
import type { Clock } from '../../runtime/clock.ts'
import { describeError, errorName } from '../../vocabulary/error-words.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { streamOf } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import type { CheckResult, HealthCheck } from '../health-check.ts'
import { clientCertificateOf } from '../http-clients.ts'
import type { HostOptions } from '../options.ts'

/** From how many days before its end a certificate is reported. */
const daysMin = 7

/** Checks that a certificate can be read, matches its key and is valid. An unusable one has no `daysLeft`. */
async function checkCertificate(
  source: Source<Certificate>,
  clock: Clock,
  whose: 'client' | 'server' = 'client',
): Promise<CheckResult> {
  try {
    const certificate = await valueFrom(source, `${whose} certificate`)
    const { daysLeft, notBefore } = await loadCertificate(certificate, clock.now(), whose)
    if (notBefore !== undefined) return { ok: false, detail: `it is not valid before ${notBefore}`, daysLeft }
    if (daysLeft >= daysMin) return { ok: true, detail: `it ends in ${daysLeft} days`, daysLeft }
    const detail = `it ends in ${daysLeft} days: renew it and replace it at its source`
    return { ok: false, detail, daysLeft }
  } catch (error) {
    if (!(error instanceof AverbaError)) return { ok: false, detail: 'it cannot be checked' }
    return { ok: false, detail: describeError(error) }
  }
}

export interface UsedCertificate {
  readonly name: Extract<HealthCheck['name'], `${string}ertificate`>
  readonly service: 'consentService' | 'portal' | 'receiver'
  readonly whose: 'client' | 'server'
  readonly source: Source<Certificate>
}

/** Every certificate in the options. With the option `fetch`, the host is responsible for client certificates. */
export function certificatesIn(options: HostOptions): UsedCertificate[] {
  const client = options.fetch ? undefined : clientCertificateOf(options, 'consentService')
  const login = options.fetch ? undefined : clientCertificateOf(options, 'portal')
  const server = options.run?.receiver?.certificate
  const all = [
    { name: 'certificate', service: 'consentService', whose: 'client', source: client },
    { name: 'portalCertificate', service: 'portal', whose: 'client', source: login },
    { name: 'receiverCertificate', service: 'receiver', whose: 'server', source: server },
  ] as const
  return all.flatMap(({ source, ...purpose }) => (source ? [{ ...purpose, source }] : []))
}

export async function checkCertificates(options: HostOptions, clock: Clock): Promise<HealthCheck[]> {
  const checks: HealthCheck[] = []
  for (const { name, source, whose } of certificatesIn(options))
    checks.push({ name, ...(await checkCertificate(source, clock, whose)) })
  return checks
}

/** Observes the days left of a certificate. The machine decides which counts become an event. */
export async function watchCertificate(
  { engine, clock, log }: ApiContext,
  { service, source, whose }: UsedCertificate,
): Promise<void> {
  try {
    const certificate = await valueFrom(source, `${whose} certificate`)
    const { daysLeft } = await loadCertificate(certificate, clock.now(), whose)
    const message = { type: 'certificate.observe', data: { service, daysLeft } }
    await engine.record(async () => ({ targets: [{ stream: streamOf('certificate', service), message }] }))
  } catch (error) {
    if (!(error instanceof AverbaError)) throw error
    log({ level: 'error', message: error.message, error: errorName(error) })
  }
}
