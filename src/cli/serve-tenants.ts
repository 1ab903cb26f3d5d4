import { isDeepStrictEqual } from 'node:util'
import {
  type Averba,
  AverbaError,
  type AverbaOptions,
  type LogLine,
  type ReceiverServer,
  type ServeReceiversOptions,
  serveReceivers,
} from '../index.ts'
import { errorName } from '../vocabulary/error-words.ts'

/** A log that `averba run` has open, with its configuration. */
export interface Tenant {
  /** The file of its configuration, as it was named. */
  readonly config: string
  readonly options: AverbaOptions
  readonly averba: Averba
  readonly logger: (line: LogLine) => void
}

/** A tenant whose receiver is served by this process. */
interface ServedTenant extends Tenant {
  readonly receiver: NonNullable<AverbaOptions['receiver']>
  readonly on: Omit<ServeReceiversOptions, 'receivers' | 'onTrouble' | 'clock'>
}

/**
 * Serves the receivers of all tenants over HTTPS: one server for those that name the same host and port, which tells
 * them apart by path, and shows each name the certificate of its tenant.
 *
 * @throws {AverbaError} `MISCONFIGURED` as `serveReceivers` does, and when two tenants have one path, or one name and
 * two certificates
 */
export async function serveTenants(tenants: readonly Tenant[]): Promise<ReceiverServer[]> {
  const together = new Map<string, ServedTenant[]>()
  for (const tenant of tenants) {
    const { receiver, run: { receiver: on } = {} } = tenant.options
    if (receiver && !on) warnUnserved(tenant)
    if (!receiver || !on) continue
    const address = `${on.host ?? ''}:${on.port ?? ''}`
    together.set(address, [...(together.get(address) ?? []), { ...tenant, receiver, on }])
  }
  const servers: ReceiverServer[] = []
  try {
    for (const served of together.values()) {
      const server = await serveGroup(served)
      servers.push(server)
      for (const { logger } of served) logger({ message: 'receiving', port: server.port })
    }
    return servers
  } catch (error) {
    await Promise.all(servers.map(server => server.close()))
    throw error
  }
}

/** The bounds are those of the first tenant: there is one server. */
async function serveGroup(served: readonly ServedTenant[]): Promise<ReceiverServer> {
  const [first] = served
  if (!first) throw new TypeError('Cannot serve no tenant')
  const { clock } = first.options
  return serveReceivers({
    ...first.on,
    receivers: receiversByPath(served),
    certificates: certificatesByName(served),
    onTrouble: error =>
      first.logger({
        message: 'the certificate of the receiver could not be renewed',
        error: errorName(error),
      }),
    ...(clock && { clock }),
  })
}

/** The certificate that each name is shown. */
function certificatesByName(
  served: readonly ServedTenant[],
): NonNullable<ServeReceiversOptions['certificates']> {
  const byName: Record<string, ServeReceiversOptions['certificate']> = {}
  for (const { config, receiver, on } of served) {
    const own = { [new URL(receiver.publicUrl).hostname]: on.certificate, ...on.certificates }
    for (const [name, certificate] of Object.entries(own)) {
      if (byName[name] !== undefined && !isDeepStrictEqual(byName[name], certificate))
        throw new AverbaError(
          'MISCONFIGURED',
          `Cannot serve the receiver of ${config}: another one shows "${name}" another certificate`,
          {
            hint: 'Give the receivers of one name one certificate, or each run.receiver a port',
          },
        )
      byName[name] = certificate
    }
  }
  return byName
}

function receiversByPath(served: readonly ServedTenant[]): ServeReceiversOptions['receivers'] {
  const byPath = new Map<string, ServedTenant>()
  for (const tenant of served) {
    for (const path of receiverPaths(tenant)) {
      const other = byPath.get(path)
      if (other && other !== tenant) throw pathConflict(path, other, tenant)
      byPath.set(path, tenant)
    }
  }
  return Object.fromEntries([...byPath].map(([path, { averba }]) => [path, averba.receiver]))
}

/**
 * The paths that the portal sends to: that of the receiver, and those of subscriptions with an endpoint on the same
 * host.
 */
function receiverPaths({ receiver, options: { subscriptions = [] } }: ServedTenant): Set<string> {
  const { origin, pathname } = new URL(receiver.publicUrl)
  const own = subscriptions.flatMap(({ endpoint }) => (endpoint === undefined ? [] : [new URL(endpoint)]))
  return new Set([pathname, ...own.filter(url => url.origin === origin).map(url => url.pathname)])
}

function pathConflict(path: string, one: Tenant, other: Tenant): AverbaError {
  const message = `Cannot serve the receivers of ${one.config} and ${other.config}: both have the path "${path}"`
  return new AverbaError('MISCONFIGURED', message, {
    hint: 'Give each receiver.publicUrl a path of its own, or each run.receiver a port',
  })
}

function warnUnserved({ logger }: Tenant): void {
  logger({
    message: 'the receiver is not served by this process: run.receiver is not set',
    detail: 'set run.receiver, unless averba.receiver is served elsewhere',
  })
}
