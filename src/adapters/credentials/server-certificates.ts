import type { Server } from 'node:https'
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'
import type { Clock } from '../../runtime/clock.ts'
import type { Certificate, UsableCertificate } from './certificate.ts'
import { RenewedCertificate } from './renewed-certificate.ts'
import type { Source } from './secret.ts'

/** The oldest version of TLS that the portal speaks and that is still safe (document 3, section 6). */
const minVersion = 'TLSv1.2'

/** The certificates of a server, by the server name that clients ask for. The empty name is the default. */
export function createServerCertificates(
  sources: ReadonlyMap<string, Source<Certificate>>,
  clock: Clock,
  onTrouble: (error: unknown) => void,
) {
  const options = { whose: 'server', clock, onTrouble } as const
  const byName = new Map([...sources].map(([name, source]) => [name, new RenewedCertificate(source, options)]))
  const contexts = new WeakMap<UsableCertificate, SecureContext>()
  const findDefault = (): SecureContextOptions => {
    const current = byName.get('')?.current
    return current ? toContextOptions(current) : {}
  }

  /** Fetches all certificates and returns the default one. Throws `MISCONFIGURED`. */
  async function load(): Promise<SecureContextOptions> {
    for (const certificate of byName.values()) await certificate.renew()
    return findDefault()
  }

  /** Serves a renewed default certificate to clients that name no server, from the connection after its renewal. */
  function serveNewest(server: Server): void {
    let served = findDefault()
    server.on('connection', () => {
      find('')
      const newest = findDefault()
      if (newest.cert !== served.cert) server.setSecureContext(newest)
      served = newest
    })
  }

  /** Returns the certificate for a server name, and renews it in the background: no client waits for a vault. */
  function find(servername: string): SecureContext | undefined {
    const parent = servername.replace(/^[^.]+/, '*')
    const certificate = byName.get(servername) ?? byName.get(parent) ?? byName.get('')
    if (certificate?.isOld) certificate.renew().catch(onTrouble)
    const current = certificate?.current
    if (!current) return undefined
    const context = contexts.get(current) ?? createSecureContext(toContextOptions(current))
    contexts.set(current, context)
    return context
  }

  return { find, load, serveNewest }
}

function toContextOptions({ cert, key }: UsableCertificate): SecureContextOptions {
  return { cert, key, minVersion }
}
