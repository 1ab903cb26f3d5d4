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

/** A log that `averba run` has opened, with its configuration. */
export interface Tenant {
  /** The path of its configuration, as given on the command line. */
  readonly config: string
  readonly options: AverbaOptions
  readonly averba: Averba
  readonly logger: (line: LogLine) => void
}

interface ServedTenant extends Tenant {
  readonly receiver: NonNullable<AverbaOptions['receiver']>
  readonly serverOptions: Omit<ServeReceiversOptions, 'receivers' | 'onTrouble' | 'clock'>
}

const unservedLine: LogLine = {
  level: 'warn',
  message: 'the receiver is not served by this process: run.receiver is not set',
  detail: 'set run.receiver, unless averba.receiver is served elsewhere',
}

/**
 * Serves the receivers of all tenants over HTTPS. Tenants with the same host and port share one server, which
 * distinguishes them by path, and presents for each host name the certificate of its tenant.
 *
 * @throws {AverbaError} `MISCONFIGURED` as `serveReceivers` does, and when two tenants of one server have the same
 * path, or the same host name with different certificates
 */
export async function serveTenants(tenants: readonly Tenant[]): Promise<ReceiverServer[]> {
  const served = tenants.flatMap((tenant): ServedTenant[] => {
    const { receiver, run: { receiver: serverOptions } = {} } = tenant.options
    if (receiver && !serverOptions) tenant.logger(unservedLine)
    return receiver && serverOptions ? [{ ...tenant, receiver, serverOptions }] : []
  })
  const groups = Map.groupBy(served, ({ serverOptions: { host, port } }) => `${host}:${port}`)
  const servers: ReceiverServer[] = []
  try {
    for (const group of groups.values()) {
      const server = await serveGroup(group)
      servers.push(server)
      for (const { logger } of group) logger({ message: 'receiving', level: 'info', port: server.port })
    }
    return servers
  } catch (error) {
    await Promise.all(servers.map(server => server.close()))
    throw error
  }
}

async function serveGroup(group: readonly ServedTenant[]): Promise<ReceiverServer> {
  const [first] = group
  if (!first) throw new TypeError('Cannot serve receivers: the group is empty')
  const { clock } = first.options
  return serveReceivers({
    ...first.serverOptions,
    receivers: receiversByPath(group),
    certificates: certificatesByName(group),
    onTrouble: error =>
      first.logger({
        level: 'error',
        message: 'the certificate of the receiver could not be renewed',
        error: errorName(error),
      }),
    ...(clock && { clock }),
  })
}

function certificatesByName(group: readonly ServedTenant[]): NonNullable<ServeReceiversOptions['certificates']> {
  const byName: Record<string, ServeReceiversOptions['certificate']> = {}
  for (const { config, receiver, serverOptions } of group) {
    const own = { [new URL(receiver.publicUrl).hostname]: serverOptions.certificate, ...serverOptions.certificates }
    for (const [name, certificate] of Object.entries(own)) {
      byName[name] ??= certificate
      if (isDeepStrictEqual(byName[name], certificate)) continue
      const message = `Cannot serve the receiver of ${config}: another receiver has another certificate for "${name}"`
      throw new AverbaError('MISCONFIGURED', message, {
        hint: 'Give receivers with the same host name the same certificate, or different ports',
      })
    }
  }
  return byName
}

/** The receivers by the paths that the portal sends to: their own, and those of endpoints on the same host. */
function receiversByPath(group: readonly ServedTenant[]): ServeReceiversOptions['receivers'] {
  const byPath = new Map<string, ServedTenant>()
  for (const tenant of group) {
    const { origin, pathname } = new URL(tenant.receiver.publicUrl)
    const endpoints = (tenant.options.subscriptions ?? []).flatMap(({ endpoint }) => endpoint ?? [])
    const ofHost = endpoints.map(endpoint => new URL(endpoint)).filter(url => url.origin === origin)
    for (const path of [pathname, ...ofHost.map(url => url.pathname)]) {
      const other = byPath.get(path) ?? tenant
      byPath.set(path, tenant)
      if (other === tenant) continue
      const both = `${other.config} and ${tenant.config}`
      throw new AverbaError('MISCONFIGURED', `Cannot serve the receivers of ${both}: both have the path "${path}"`, {
        hint: 'Give each receiver.publicUrl its own path, or each run.receiver its own port',
      })
    }
  }
  return Object.fromEntries([...byPath].map(([path, { averba }]) => [path, averba.receiver]))
}
