import type { Server } from 'node:https'
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'
import type { Clock } from '../../runtime/clock.ts'
import { isWithin } from '../../vocabulary/instant.ts'
import { type Certificate, useCertificate, useNextCertificate } from './certificate.ts'
import { type Source, valueFrom } from './source.ts'

/** The oldest version of TLS that the portal speaks and that is still safe (document 3, section 6). */
const minVersion = 'TLSv1.2'

/** How long a certificate from a function is shown before the function is asked again. */
const certificateAgeMaxMs = 60_000

interface FetchedCertificate {
  readonly context: SecureContext
  readonly pem: SecureContextOptions
  readonly askedAt: number
}

/** The certificates of a server, by the names that clients ask for; the one under the empty name is for all others. */
export class ServerCertificates {
  readonly #sources: ReadonlyMap<string, Source<Certificate>>
  readonly #clock: Clock
  readonly #onTrouble: (error: unknown) => void
  readonly #shown = new Map<string, FetchedCertificate>()
  /** One renewal at a time, however many connections come. */
  readonly #renewing = new Set<string>()

  constructor(
    sources: ReadonlyMap<string, Source<Certificate>>,
    clock: Clock,
    onTrouble: (error: unknown) => void,
  ) {
    this.#sources = sources
    this.#clock = clock
    this.#onTrouble = onTrouble
  }

  /**
   * Asks for all of them, and gives the one for all other names.
   *
   * @throws {AverbaError} `MISCONFIGURED`
   */
  async load(): Promise<SecureContextOptions> {
    for (const name of this.#sources.keys()) await this.#ask(name)
    return this.#shown.get('')?.pem ?? {}
  }

  /**
   * Lets clients that name no server be shown the newest certificate, from a connection after the one that asks for it.
   */
  showTo(server: Server): void {
    let pem = this.#shown.get('')?.pem
    server.on('connection', () => {
      this.find('')
      const newest = this.#shown.get('')?.pem
      if (newest && newest !== pem) server.setSecureContext(newest)
      pem = newest
    })
  }

  /**
   * The certificate for a name. A function that gives it is asked for it again beside that: no client waits for a
   * vault, and one that cannot be renewed is shown until there is another.
   */
  find(servername: string): SecureContext | undefined {
    const parent = servername.replace(/^[^.]+/, '*')
    const name = [servername, parent].find(each => this.#sources.has(each)) ?? ''
    const shown = this.#shown.get(name)
    if (!shown || typeof this.#sources.get(name) !== 'function') return shown?.context
    if (isWithin(certificateAgeMaxMs, shown.askedAt, this.#clock.now())) return shown.context
    if (!this.#renewing.has(name)) {
      this.#renewing.add(name)
      void this.#renew(name, shown)
    }
    return shown.context
  }

  async #renew(name: string, shown: FetchedCertificate): Promise<void> {
    try {
      await this.#ask(name)
    } catch (error) {
      this.#shown.set(name, { ...shown, askedAt: this.#clock.now() })
      this.#onTrouble(error)
    } finally {
      this.#renewing.delete(name)
    }
  }

  async #ask(name: string): Promise<void> {
    const source = this.#sources.get(name)
    if (source === undefined) return
    const askedAt = this.#clock.now()
    const given = await valueFrom(source, 'server certificate')
    const before = this.#shown.get(name)
    const { cert, key } = await (before ? useNextCertificate : useCertificate)(given, askedAt, 'server')
    const pem = before?.pem.cert === cert ? before.pem : ({ cert, key, minVersion } as const)
    const context = before && before.pem === pem ? before.context : createSecureContext(pem)
    this.#shown.set(name, { context, pem, askedAt })
  }
}
