import type { Certificate } from '../adapters/credentials/certificate.ts'
import type { Source } from '../adapters/credentials/secret.ts'
import { withinBudget } from '../adapters/http/answer-body.ts'
import { proxyFromEnvironment } from '../adapters/http/outbound-proxy.ts'
import { type HttpSocket, openSocket, type SocketOptions } from '../adapters/http/transport.ts'
import { type Clock, systemClock } from '../runtime/clock.ts'
import type { Fetch } from '../vocabulary/fetch.ts'
import type { LogLine } from '../vocabulary/log-line.ts'
import type { ServiceName } from '../vocabulary/names.ts'
import type { Tracing } from '../vocabulary/tracing.ts'
import type { HostOptions } from './options.ts'

/** The client certificate of a service: that of the consent service, or of the portal's login if it uses one. */
export function clientCertificateOf(
  { consentService, portal }: HostOptions,
  service: ServiceName,
): Source<Certificate> | undefined {
  if (service === 'consentService') return consentService?.certificate
  if (service !== 'portal' || typeof portal?.authenticate !== 'object') return undefined
  return portal.authenticate.certificate
}

/** With which authority and client certificate, and through which proxy, a service is connected to. */
export function connectionOf(
  options: HostOptions,
  service: ServiceName,
): Pick<SocketOptions, 'ca' | 'certificate' | 'proxyFor'> {
  const { ca, proxy } = options[service] ?? {}
  const certificate = clientCertificateOf(options, service)
  const proxyFor = proxy === 'environment' ? proxyFromEnvironment() : proxy === undefined ? undefined : () => proxy
  return { ...(ca !== undefined && { ca }), ...(certificate && { certificate }), ...(proxyFor && { proxyFor }) }
}

/**
 * The host's own `fetch`, with the time and size limits of averba's sockets: one that never ends must not keep a place.
 * Its signal aborts at closing too. Under a clock of the host, which may stand still, it has to end by itself.
 */
export function fetchOf({ fetch, clock }: HostOptions, closing?: AbortSignal): Fetch | undefined {
  if (!fetch || clock) return fetch
  return withinBudget(systemClock, (request, late) => {
    const signal = closing ? AbortSignal.any([late, closing]) : late
    return fetch(new Request(request, { signal }))
  })
}

/** The HTTP client of each service: with its own sockets, or the host's `fetch`. */
export interface HttpClients {
  open(service: ServiceName): Fetch
  close(): Promise<void>
}

/** Creates the HTTP clients, and logs certificates that expire or cannot be renewed. */
export function createHttpClients(
  options: HostOptions,
  { clock, tracing, log }: { clock: Clock; tracing: Tracing; log: (line: LogLine) => void },
): HttpClients {
  const { tracing: { traceparentTo = [] } = {} } = options
  const closing = new AbortController()
  const fetch = fetchOf(options, closing.signal)
  const sockets: HttpSocket[] = []
  const openTracked = (service: ServiceName): Fetch => {
    const socket = openSocket({
      clock,
      onExpiring: daysLeft =>
        log({ level: 'warn', message: 'the client certificate expires soon: renew it', daysLeft }),
      onTrouble: ({ code }) =>
        log({
          level: 'error',
          message: 'a client certificate could not be renewed: the previous one stays in use',
          error: code,
        }),
      ...connectionOf(options, service),
    })
    sockets.push(socket)
    return socket.fetch
  }
  return {
    open(service) {
      const send = fetch ?? openTracked(service)
      const sendsTraceparent = traceparentTo.includes(service)
      return request => {
        const traceparent = sendsTraceparent ? tracing.traceparent() : undefined
        if (traceparent !== undefined) request.headers.set('traceparent', traceparent)
        return tracing.suppressed(() => send(request))
      }
    },
    async close() {
      closing.abort()
      await Promise.all(sockets.map(socket => socket.close()))
    },
  }
}
