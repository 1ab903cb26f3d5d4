import type { Server } from 'node:https'
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'
import type { Clock } from '../../runtime/clock.ts'
import type { Certificate, UsableCertificate } from './certificate.ts'
import { RenewedCertificate } from './renewed-certificate.ts'
import type { Source } from './secret.ts'

/** The oldest version of TLS that the portal speaks and that is still safe (document 3, section 6). */
const minVersion = 'TLSv1.2'

/** The certificates of a server, by the server name that clients ask for. The empty name is the default. */
export class ServerCertificates {
  readonly #byName: ReadonlyMap<string, RenewedCertificate>
  readonly #contexts = new WeakMap<UsableCertificate, SecureContext>()
  readonly #onTrouble: (error: unknown) => void

  constructor(sources: ReadonlyMap<string, Source<Certificate>>, clock: Clock, onTrouble: (error: unknown) => void) {
    const options = { whose: 'server', clock, onTrouble } as const
    this.#byName = new Map([...sources].map(([name, source]) => [name, new RenewedCertificate(source, options)]))
    this.#onTrouble = onTrouble
  }

  /**
   * Fetches all certificates and returns the default one.
   * @throws {AverbaError} `MISCONFIGURED`
   */
  async load(): Promise<SecureContextOptions> {
    for (const certificate of this.#byName.values()) await certificate.renew()
    return this.#default
  }

  /** Serves a renewed default certificate to clients that name no server, from the connection after its renewal. */
  serveNewest(server: Server): void {
    let served = this.#default
    server.on('connection', () => {
      this.find('')
      const newest = this.#default
      if (newest.cert !== served.cert) server.setSecureContext(newest)
      served = newest
    })
  }

  /** Returns the certificate for a server name, and renews it in the background: no client waits for a vault. */
  find(servername: string): SecureContext | undefined {
    const parent = servername.replace(/^[^.]+/, '*')
    const name = [servername, parent].find(each => this.#byName.has(each)) ?? ''
    const certificate = this.#byName.get(name)
    if (certificate?.isOld) certificate.renew().catch(this.#onTrouble)
    const current = certificate?.current
    if (!current) return undefined
    const context = this.#contexts.get(current) ?? createSecureContext(toContextOptions(current))
    this.#contexts.set(current, context)
    return context
  }

  get #default(): SecureContextOptions {
    const current = this.#byName.get('')?.current
    return current ? toContextOptions(current) : {}
  }
}

function toContextOptions({ cert, key }: UsableCertificate): SecureContextOptions {
  return { cert, key, minVersion }
}
