import type { Server } from 'node:https'
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'
import { type Clock, isWithin } from '../clock.ts'
import { type Certificate, useCertificate } from './certificate.ts'
import { type Source, valueFrom } from './source.ts'

/** The oldest version of TLS that the portal speaks and that is still safe (document 3, section 6). */
const minVersion = 'TLSv1.2'

/** How long a certificate from a function is shown before the function is asked again. */
const certificateAgeMaxMs = 60_000

interface Shown {
  readonly context: SecureContext
  readonly pem: SecureContextOptions
  readonly askedAt: number
}

/** The certificates of a server, by the names that clients ask for; the one under the empty name is for all others. */
export class ServerCertificates {
  readonly #sources: ReadonlyMap<string, Source<Certificate>>
  readonly #clock: Clock
  readonly #onTrouble: (error: unknown) => void
  readonly #shown = new Map<string, Shown>()
  /** One renewal at a time, however many connections come. */
  readonly #renewing = new Map<string, Promise<SecureContext | undefined>>()

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
   * Lets clients that name no server be shown the newest certificate, from the connection after the one that asks for
   * it.
   */
  showTo(server: Server): void {
    let pem = this.#shown.get('')?.pem
    server.on('connection', async () => {
      await this.find('')
      const newest = this.#shown.get('')?.pem
      if (newest && newest !== pem) server.setSecureContext(newest)
      pem = newest
    })
  }

  /** The certificate for a name. One that cannot be renewed is shown until there is another. */
  async find(servername: string): Promise<SecureContext | undefined> {
    const parent = servername.replace(/^[^.]+/, '*')
    const name = [servername, parent].find(each => this.#sources.has(each)) ?? ''
    const shown = this.#shown.get(name)
    if (!shown || typeof this.#sources.get(name) !== 'function') return shown?.context
    if (isWithin(certificateAgeMaxMs, shown.askedAt, this.#clock.now())) return shown.context
    const renewing = this.#renewing.get(name) ?? this.#renew(name, shown)
    this.#renewing.set(name, renewing)
    return renewing
  }

  async #renew(name: string, shown: Shown): Promise<SecureContext | undefined> {
    try {
      return await this.#ask(name)
    } catch (error) {
      this.#shown.set(name, { ...shown, askedAt: this.#clock.now() })
      this.#onTrouble(error)
      return shown.context
    } finally {
      this.#renewing.delete(name)
    }
  }

  async #ask(name: string): Promise<SecureContext | undefined> {
    const source = this.#sources.get(name)
    const askedAt = this.#clock.now()
    const given = source && (await valueFrom(source, 'server certificate'))
    if (!given) return undefined
    const { cert, key } = await useCertificate(given, askedAt, 'server')
    const before = this.#shown.get(name)
    const pem = before?.pem.cert === cert ? before.pem : ({ cert, key, minVersion } as const)
    const context = before && before.pem === pem ? before.context : createSecureContext(pem)
    this.#shown.set(name, { context, pem, askedAt })
    return context
  }
}
