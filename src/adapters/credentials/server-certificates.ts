import type { Server } from 'node:https'
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'
import type { Clock } from '../../runtime/clock.ts'
import { isWithin } from '../../vocabulary/instant.ts'
import { type Certificate, loadCertificate, loadNextCertificate } from './certificate.ts'
import { type Source, valueFrom } from './secret.ts'

/** The oldest version of TLS that the portal speaks and that is still safe (document 3, section 6). */
const minVersion = 'TLSv1.2'

/** How long a certificate from a function is used before the function is called again. */
const certificateAgeMaxMs = 60_000

interface FetchedCertificate {
  readonly context: SecureContext
  readonly pem: SecureContextOptions
  readonly fetchedAt: number
}

/** The certificates of a server, by the server name that clients ask for. The empty name is the default. */
export class ServerCertificates {
  readonly #sources: ReadonlyMap<string, Source<Certificate>>
  readonly #clock: Clock
  readonly #onTrouble: (error: unknown) => void
  readonly #current = new Map<string, FetchedCertificate>()
  /** Names whose certificate is being renewed. */
  readonly #renewing = new Set<string>()

  constructor(sources: ReadonlyMap<string, Source<Certificate>>, clock: Clock, onTrouble: (error: unknown) => void) {
    this.#sources = sources
    this.#clock = clock
    this.#onTrouble = onTrouble
  }

  /**
   * Fetches all certificates and returns the default one.
   * @throws {AverbaError} `MISCONFIGURED`
   */
  async load(): Promise<SecureContextOptions> {
    for (const name of this.#sources.keys()) await this.#fetch(name)
    return this.#current.get('')?.pem ?? {}
  }

  /** Serves a renewed default certificate to clients that name no server, from the connection after its renewal. */
  serveNewest(server: Server): void {
    let pem = this.#current.get('')?.pem
    server.on('connection', () => {
      this.find('')
      const newest = this.#current.get('')?.pem
      if (newest && newest !== pem) server.setSecureContext(newest)
      pem = newest
    })
  }

  /** Returns the certificate for a server name, and renews it in the background: no client waits for a vault. */
  find(servername: string): SecureContext | undefined {
    const parent = servername.replace(/^[^.]+/, '*')
    const name = [servername, parent].find(each => this.#sources.has(each)) ?? ''
    const current = this.#current.get(name)
    if (!current || typeof this.#sources.get(name) !== 'function') return current?.context
    if (isWithin(certificateAgeMaxMs, current.fetchedAt, this.#clock.now())) return current.context
    if (!this.#renewing.has(name)) {
      this.#renewing.add(name)
      void this.#renew(name, current)
    }
    return current.context
  }

  async #renew(name: string, current: FetchedCertificate): Promise<void> {
    try {
      await this.#fetch(name)
    } catch (error) {
      this.#current.set(name, { ...current, fetchedAt: this.#clock.now() })
      this.#onTrouble(error)
    } finally {
      this.#renewing.delete(name)
    }
  }

  async #fetch(name: string): Promise<void> {
    const source = this.#sources.get(name)
    if (source === undefined) return
    const now = this.#clock.now()
    const given = await valueFrom(source, 'server certificate')
    const before = this.#current.get(name)
    const { cert, key } = await (before ? loadNextCertificate : loadCertificate)(given, now, 'server')
    const pem = before?.pem.cert === cert ? before.pem : ({ cert, key, minVersion } as const)
    const context = before && before.pem === pem ? before.context : createSecureContext(pem)
    this.#current.set(name, { context, pem, fetchedAt: now })
  }
}
