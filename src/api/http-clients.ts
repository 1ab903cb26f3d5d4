import type { Certificate } from '../adapters/credentials/certificate.ts'
import type { Source } from '../adapters/credentials/secret.ts'
import { type HttpSocket, openSocket } from '../adapters/http/transport.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Fetch } from '../vocabulary/fetch.ts'
import type { LogLine } from '../vocabulary/log-line.ts'
import type { ServiceName } from '../vocabulary/names.ts'
import type { Tracing } from '../vocabulary/tracing.ts'
import type { HostOptions } from './options.ts'

/** The HTTP client of each service: with its own sockets, or the host's `fetch`. */
export interface HttpClients {
  open(service: ServiceName, options: TlsOptions): Fetch
  close(): Promise<void>
}

interface TlsOptions {
  readonly ca?: string | undefined
  readonly certificate?: Source<Certificate> | undefined
}

/** Creates the HTTP clients, and logs certificates that expire or cannot be renewed. */
export function createHttpClients(
  { fetch, tracing: { traceparentTo = [] } = {} }: HostOptions,
  { clock, tracing, log }: { clock: Clock; tracing: Tracing; log: (line: LogLine) => void },
): HttpClients {
  const sockets: HttpSocket[] = []
  const openTracked = ({ ca, certificate }: TlsOptions): Fetch => {
    const socket = openSocket({
      clock,
      onExpiring: daysLeft => log({ message: 'the client certificate expires soon: renew it', daysLeft }),
      onTrouble: ({ code }) =>
        log({
          message: 'a client certificate could not be renewed: the previous one stays in use',
          error: code,
        }),
      ...(ca !== undefined && { ca }),
      ...(certificate !== undefined && { certificate }),
    })
    sockets.push(socket)
    return socket.fetch
  }
  return {
    open(service, options) {
      const send = fetch ?? openTracked(options)
      const sendsTraceparent = traceparentTo.includes(service)
      return request => {
        const traceparent = sendsTraceparent ? tracing.traceparent() : undefined
        if (traceparent !== undefined) request.headers.set('traceparent', traceparent)
        return tracing.suppressed(() => send(request))
      }
    },
    close: async () => void (await Promise.all(sockets.map(socket => socket.close()))),
  }
}
