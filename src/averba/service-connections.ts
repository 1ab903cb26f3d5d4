import { openSocket, type Socket, type SocketOptions } from '../adapters/http/transport.ts'
import type { Options } from '../api/options.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Fetch } from '../vocabulary/fetch.ts'
import type { LogLine } from '../vocabulary/log-line.ts'
import type { ServiceName } from '../vocabulary/service-name.ts'
import type { Tracing } from '../vocabulary/tracing.ts'

/** How each service is reached: over sockets of its own, or by the host's way. */
export interface WaysOut {
  open(service: ServiceName, options: Omit<SocketOptions, 'clock'>): Fetch
  close(): Promise<void>
}

/** Opens ways out as the options say, and tells of what an operator should know. */
export function createWaysOut(
  { fetch, tracing: { traceparentTo = [] } = {} }: Options,
  { clock, tracing, log }: { clock: Clock; tracing: Tracing; log: (line: LogLine) => void },
): WaysOut {
  const sockets: Socket[] = []
  const openOne = (options: Omit<SocketOptions, 'clock'>): Fetch => {
    const socket = openSocket({
      clock,
      onExpiring: daysLeft => log({ message: 'the client certificate ends soon: renew it', daysLeft }),
      onTrouble: ({ code }) =>
        log({
          message: 'a client certificate could not be renewed: the one before is used on',
          error: code,
        }),
      ...options,
    })
    sockets.push(socket)
    return socket.fetch
  }
  return {
    open(service, options) {
      const send = fetch ?? openOne(options)
      const isTold = traceparentTo.includes(service)
      return request => {
        const traceparent = isTold ? tracing.traceparent() : undefined
        if (traceparent !== undefined) request.headers.set('traceparent', traceparent)
        return tracing.unseen(() => send(request))
      }
    },
    close: async () => void (await Promise.all(sockets.map(socket => socket.close()))),
  }
}
